"""Find the skills whose triggers a message holds: keywords, verbs in their usual forms, and patterns.

Building and matching take bounded time, whatever the skills say. What is left out for it is a Problem of its skill.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from prowess.activation.pattern_sets import OwnedPattern, PatternSet
from prowess.skill.manifest import Triggers
from prowess.skill.problems import Problem, make_problem
from prowess.skill.skill import Skill
from prowess.skill.trigger_words import find_words, inflect_verb
from prowess.skill.triggers import MAX_PHRASE_WORDS, JudgedPatterns, judge_patterns, judge_phrases, parse_phrase

__all__ = [
    "MAX_ALL_PATTERNS_SIZE",
    "MAX_FOUND_LENGTH",
    "MAX_MESSAGE_LENGTH",
    "TriggerIndex",
    "TriggerKind",
    "Triggered",
]

MAX_MESSAGE_LENGTH = 8_192
"""Characters of a message that are looked at."""
MAX_FOUND_LENGTH = 120
MAX_ALL_PATTERNS_SIZE = 4_000_000
"""Of the patterns of all skills, by what it takes to prepare them: room for 20,000 ordinary ones."""

_SIZE_OF_ANY = 60
_SIZE_OF_A_BYTE = 3
_SHOWN = 60
_NO_SIGNS = ("", "")


class TriggerKind(StrEnum):
    """What sort of trigger it was."""

    KEYWORD = "keyword"
    VERB = "verb"
    PATTERN = "pattern"


@dataclass(frozen=True, slots=True)
class Triggered:
    """A skill that a message speaks for, and why."""

    skill_id: str
    kind: TriggerKind
    what: str
    """The trigger as its author wrote it."""
    found: str
    """What of the message it matched, shortened."""


class _Trigger(NamedTuple):
    skill: int
    kind: TriggerKind
    what: str


class TriggerIndex:
    """The triggers of all skills of a view; built once, asked for every message."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self._ids = tuple(skill.id for skill in skills)
        self._phrases: dict[str, list[_Trigger]] = {}
        self._lengths: dict[str, set[int]] = {}
        """From the first word of phrases to their lengths in words."""
        self._signs: dict[str, dict[tuple[str, str], None]] = {}
        """From phrases with signs around them to these signs."""
        self._patterns: list[_Trigger] = []
        patterns: list[OwnedPattern] = []
        problems: dict[str, tuple[Problem, ...]] = {}
        room = MAX_ALL_PATTERNS_SIZE
        for number, skill in enumerate(skills):
            additions = skill.manifest.additions
            if additions is None:
                continue
            triggers = additions.triggers
            for keyword in triggers.keywords:
                self._add_phrase(_Trigger(number, TriggerKind.KEYWORD, keyword))
            for verb in triggers.verbs:
                self._add_phrase(_Trigger(number, TriggerKind.VERB, verb))
            judged = judge_patterns(triggers) if room > 0 else _leave_out(triggers)
            room -= judged.size
            for text, size in judged.usable:
                room -= _SIZE_OF_ANY + _SIZE_OF_A_BYTE * len(text.encode())
                self._patterns.append(_Trigger(number, TriggerKind.PATTERN, text))
                patterns.append(OwnedPattern(number, text, size))
            if found := (*judge_phrases(triggers), *judged.problems):
                problems[skill.id] = found
        self._pattern_set = PatternSet(patterns)
        for place in sorted(self._pattern_set.left_out):
            trigger = self._patterns[place]
            skill_id = self._ids[trigger.skill]
            problems[skill_id] = (*problems.get(skill_id, ()), _too_vague(trigger.what))
        self.problems: Mapping[str, tuple[Problem, ...]] = problems
        """From the id of a skill to what is wrong with its triggers."""

    def match(self, message: str) -> tuple[Triggered, ...]:
        """Return the skills that the message speaks for, in their order, each once.

        Of several triggers of a skill, a keyword is reported before a verb and a verb before a pattern, and else the
        one that comes first in the message. Of a long message that many or large patterns could match, these see the
        beginning only.
        """
        text = message[:MAX_MESSAGE_LENGTH]
        best = self._find_phrases(text)
        matches = self._pattern_set.search(text, unless=lambda place: self._patterns[place].skill in best)
        for place, found in matches:
            best[self._patterns[place].skill] = (self._patterns[place], found)
        return tuple(self._report(*best[number]) for number in sorted(best))

    def cut_short(self, message: str) -> tuple[str, ...]:
        """Return the ids of the skills with patterns for which not all of this message is searched."""
        text = message[:MAX_MESSAGE_LENGTH]
        best = self._find_phrases(text)
        places = self._pattern_set.find_cut(text, unless=lambda place: self._patterns[place].skill in best)
        return tuple(dict.fromkeys(self._ids[self._patterns[place].skill] for place in places))

    def _find_phrases(self, text: str) -> dict[int, tuple[_Trigger, str]]:
        """Return for each skill of which the text holds phrases the one to report, and what it found."""
        best: dict[int, tuple[_Trigger, str]] = {}
        for trigger, found in self._match_phrases(unicodedata.normalize("NFC", text)):
            known = best.get(trigger.skill)
            if known is None or (trigger.kind is TriggerKind.KEYWORD and known[0].kind is TriggerKind.VERB):
                best[trigger.skill] = (trigger, found)
        return best

    def _report(self, trigger: _Trigger, found: str) -> Triggered:
        shown = " ".join(found.split())
        shown = shown if len(shown) <= MAX_FOUND_LENGTH else shown[: MAX_FOUND_LENGTH - 1] + "…"
        return Triggered(self._ids[trigger.skill], trigger.kind, trigger.what, shown)

    def _add_phrase(self, trigger: _Trigger) -> None:
        words, before, after = parse_phrase(trigger.what)
        if not 0 < len(words) <= MAX_PHRASE_WORDS:
            return
        forms = inflect_verb(words[0]) if trigger.kind is TriggerKind.VERB else words[:1]
        for form in forms:
            phrase = " ".join((form, *words[1:]))
            self._lengths.setdefault(form, set()).add(len(words))
            if before or after:
                self._signs.setdefault(phrase, {_NO_SIGNS: None})[before, after] = None
            self._phrases.setdefault(_add_signs(phrase, before, after), []).append(trigger)

    def _match_phrases(self, text: str) -> Iterator[tuple[_Trigger, str]]:
        """Return the triggers that are phrases, each once, with what they found."""
        words = find_words(text)
        folded = [word.folded for word in words]
        seen: set[str] = set()
        for index, word in enumerate(words):
            for length in self._lengths.get(word.folded, ()):
                phrase = " ".join(folded[index : index + length])
                end = words[min(index + length, len(words)) - 1].end
                for before, after in self._signs.get(phrase, (_NO_SIGNS,)):
                    key = _add_signs(phrase, before, after)
                    if key in seen or not text.startswith(after, end) or not text.endswith(before, 0, word.start):
                        continue
                    seen.add(key)
                    found = text[word.start - len(before) : end + len(after)]
                    yield from ((trigger, found) for trigger in self._phrases.get(key, ()))


def _leave_out(triggers: Triggers) -> JudgedPatterns:
    """Return what is said of a skill's patterns when those of the skills before it have taken all room."""
    if not triggers.patterns:
        return JudgedPatterns()
    message = f"its {len(triggers.patterns)} trigger patterns are left out: all skills together have too many of them"
    remedy = "give keywords instead, or switch skills off"
    return JudgedPatterns(problems=(make_problem("trigger-invalid", message, remedy=remedy),))


def _too_vague(pattern: str) -> Problem:
    message = f"the trigger pattern '{pattern[:_SHOWN]}' is left out: it has no word to look for, like too many others"
    remedy = "let it hold a word that every match has, or give keywords instead"
    return make_problem("trigger-invalid", message, remedy=remedy)


def _add_signs(phrase: str, before: str, after: str) -> str:
    """Return the key of a phrase with these signs around it; folded words hold none of them, nor two blanks."""
    return f"{before}  {phrase}  {after}" if before or after else phrase
