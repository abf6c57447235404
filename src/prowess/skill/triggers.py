"""Which triggers of a skill can be used, and what is wrong with the others.

Patterns run on RE2, whose time grows only with the text, and within caps, so that none of them can stall.
"""

import importlib
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from prowess.skill.manifest import Triggers
from prowess.skill.problems import Problem, make_problem
from prowess.skill.trigger_words import find_words

__all__ = [
    "MAX_PATTERNS",
    "MAX_PATTERN_LENGTH",
    "MAX_PHRASE_WORDS",
    "Phrase",
    "find_pattern_fault",
    "judge_triggers",
    "make_pattern_options",
    "parse_phrase",
    "usable_patterns",
]

MAX_PATTERNS = 16
"""Of one skill."""
MAX_PATTERN_LENGTH = 500
MAX_PHRASE_WORDS = 16
_MAX_PROGRAM = 3_000
"""Instructions of a compiled pattern: a message takes a few milliseconds at the worst."""
_MAX_MEMORY = 1 << 20
_SHOWN = 60
_KNOWN = 1 << 16
"""How many triggers are remembered: a view is made anew whenever a skill changes, with nearly the same triggers."""
_SIGNS_BEFORE = re.compile(r"[.@#$/-]{0,4}")
_SIGNS_AFTER = re.compile(r"[+#%*]{0,4}")


class Phrase(NamedTuple):
    """A keyword or verb as it is compared."""

    words: tuple[str, ...]
    """Folded."""
    before: str = ""
    after: str = ""
    """Signs that belong to it: `.net`, `c++`, `c#`."""


def judge_triggers(triggers: Triggers) -> Iterator[Problem]:
    """Return a Problem for each trigger that cannot be used."""
    for phrase in (*triggers.keywords, *triggers.verbs):
        if fault := _find_phrase_fault(parse_phrase(phrase)):
            yield make_problem("trigger-invalid", f"the trigger '{phrase[:_SHOWN]}' {fault}")
    for pattern in triggers.patterns[:MAX_PATTERNS]:
        if fault := find_pattern_fault(pattern):
            yield make_problem("trigger-invalid", f"the trigger pattern '{pattern[:_SHOWN]}' {fault}")
    if len(triggers.patterns) > MAX_PATTERNS:
        message = f"there are {len(triggers.patterns)} trigger patterns; only the first {MAX_PATTERNS} count"
        yield make_problem("trigger-invalid", message, remedy="join patterns with |, or remove some")


def usable_patterns(triggers: Triggers) -> list[str]:
    """Return the patterns that can be used."""
    return [pattern for pattern in triggers.patterns[:MAX_PATTERNS] if not find_pattern_fault(pattern)]


@lru_cache(maxsize=_KNOWN)
def parse_phrase(phrase: str) -> Phrase:
    """Return the words to compare, and the signs around them; no words if there are none."""
    if phrase.isascii() and phrase.isalpha():
        return Phrase((phrase.lower(),))
    text = unicodedata.normalize("NFC", phrase)
    words = find_words(text)
    if not words:
        return Phrase(())
    before = _SIGNS_BEFORE.match(text[: words[0].start][::-1])
    after = _SIGNS_AFTER.match(text, words[-1].end)
    folded = tuple(word.folded for word in words)
    return Phrase(folded, before[0][::-1] if before else "", after[0] if after else "")


def _find_phrase_fault(phrase: Phrase) -> str:
    if len(phrase.words) > MAX_PHRASE_WORDS:
        return f"has {len(phrase.words)} words; at most {MAX_PHRASE_WORDS} are compared"
    return "" if phrase.words else "has no letters or digits"


@lru_cache(maxsize=_KNOWN)
def find_pattern_fault(pattern: str) -> str:
    """Return why a pattern cannot be used; empty if it can."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        return f"is longer than {MAX_PATTERN_LENGTH} characters"
    re2: Any = importlib.import_module("re2")
    try:
        compiled = re2.compile(pattern.encode(), make_pattern_options())
    except UnicodeEncodeError:
        return "is not text"
    except re2.error as error:
        reason: object = error.args[0] if error.args else ""
        return f"is refused by RE2: {reason.decode('utf-8', 'replace') if isinstance(reason, bytes) else reason}"
    if compiled.programsize > _MAX_PROGRAM:
        return "is too large when its repetitions are written out"
    return "matches the empty text, and so every message" if compiled.search(b"") else ""


def make_pattern_options() -> Any:
    """Return how all patterns are compiled: without regard to case, and within a bound of memory."""
    re2: Any = importlib.import_module("re2")
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MAX_MEMORY
    return options
