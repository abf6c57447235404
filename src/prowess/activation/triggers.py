"""Find the skills whose triggers a message holds: keywords, verbs in their usual forms, and patterns."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from prowess.activation.pattern_sets import PatternSet
from prowess.skill.problems import Problem
from prowess.skill.skill import Skill
from prowess.skill.trigger_words import find_words, inflect_verb
from prowess.skill.triggers import MAX_PHRASE_WORDS, judge_triggers, parse_phrase, usable_patterns

__all__ = ["MAX_FOUND_LENGTH", "MAX_MESSAGE_LENGTH", "TriggerIndex", "TriggerKind", "Triggered"]

MAX_MESSAGE_LENGTH = 8_192
"""Characters of a message that are looked at."""
MAX_FOUND_LENGTH = 120

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
        problems: dict[str, tuple[Problem, ...]] = {}
        for number, skill in enumerate(skills):
            additions = skill.manifest.additions
            if additions is None:
                continue
            triggers = additions.triggers
            for keyword in triggers.keywords:
                self._add_phrase(_Trigger(number, TriggerKind.KEYWORD, keyword))
            for verb in triggers.verbs:
                self._add_phrase(_Trigger(number, TriggerKind.VERB, verb))
            self._patterns += [_Trigger(number, TriggerKind.PATTERN, each) for each in usable_patterns(triggers)]
            if found := tuple(judge_triggers(triggers)):
                problems[skill.id] = found
        self.problems: Mapping[str, tuple[Problem, ...]] = problems
        """From the id of a skill to what is wrong with its triggers."""
        self._pattern_set = PatternSet([trigger.what for trigger in self._patterns])

    def match(self, message: str) -> tuple[Triggered, ...]:
        """Return the skills that the message speaks for, in their order, each once.

        Of several triggers of a skill, a keyword is reported before a verb and a verb before a pattern, and else the
        one that comes first in the message.
        """
        text = message[:MAX_MESSAGE_LENGTH]
        best: dict[int, tuple[_Trigger, str]] = {}
        for trigger, found in self._match_phrases(unicodedata.normalize("NFC", text)):
            known = best.get(trigger.skill)
            if known is None or (trigger.kind is TriggerKind.KEYWORD and known[0].kind is TriggerKind.VERB):
                best[trigger.skill] = (trigger, found)
        matches = self._pattern_set.search(text, unless=lambda place: self._patterns[place].skill in best)
        for place, found in matches:
            best[self._patterns[place].skill] = (self._patterns[place], found)
        return tuple(self._report(*best[number]) for number in sorted(best))

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


def _add_signs(phrase: str, before: str, after: str) -> str:
    """Return the key of a phrase with these signs around it; folded words hold none of them, nor two blanks."""
    return f"{before}  {phrase}  {after}" if before or after else phrase
