"""Which triggers of a skill can be used, and what is wrong with the others.

Patterns run on RE2, whose time grows only with the text and with the pattern, and within caps, so that none of them can
stall.
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
    "MAX_PATTERNS_SIZE",
    "MAX_PATTERN_LENGTH",
    "MAX_PHRASE_WORDS",
    "JudgedPatterns",
    "Pattern",
    "Phrase",
    "judge_patterns",
    "judge_phrases",
    "judge_triggers",
    "make_pattern_options",
    "parse_phrase",
]

MAX_PATTERNS = 16
"""Of one skill."""
MAX_PATTERNS_SIZE = 10_000
"""Of one skill: instructions of its compiled patterns together. Sixteen ordinary patterns have some hundreds."""
MAX_PATTERN_LENGTH = 500
MAX_PHRASE_WORDS = 16
_MAX_PROGRAM = 3_000
"""Instructions of a compiled pattern: for each character of a message, RE2 takes at most all of them."""
_SMALL_PROGRAM = 128
_LITTLE_MEMORY = 1 << 17
"""Enough for a small pattern. One that wants more tables is faster without them."""
_MAX_MEMORY = 1 << 20
_SHOWN = 60
_KNOWN = 1 << 16
"""How many triggers are remembered: a view is made anew whenever a skill changes, with nearly the same triggers."""
_SIGNS_BEFORE = re.compile(r"[.@#$/-]{0,4}")
_SIGNS_AFTER = re.compile(r"[+#%*]{0,4}")


class Pattern(NamedTuple):
    """A pattern that can be used."""

    text: str
    size: int
    """Instructions when compiled, which is what a search may cost for each byte."""


class JudgedPatterns(NamedTuple):
    """The patterns of a skill, told apart."""

    usable: tuple[Pattern, ...] = ()
    problems: tuple[Problem, ...] = ()
    size: int = 0
    """Instructions of all that had to be compiled, the unusable ones too."""


class Phrase(NamedTuple):
    """A keyword or verb as it is compared."""

    words: tuple[str, ...]
    """Folded."""
    before: str = ""
    after: str = ""
    """Signs that belong to it: `.net`, `c++`, `c#`."""


def judge_triggers(triggers: Triggers) -> Iterator[Problem]:
    """Return a Problem for each trigger that cannot be used."""
    yield from judge_phrases(triggers)
    yield from judge_patterns(triggers).problems


def judge_phrases(triggers: Triggers) -> Iterator[Problem]:
    """Return a Problem for each keyword and verb that cannot be used."""
    for phrase in (*triggers.keywords, *triggers.verbs):
        if fault := _find_phrase_fault(parse_phrase(phrase)):
            yield make_problem("trigger-invalid", f"the trigger '{phrase[:_SHOWN]}' {fault}")


def judge_patterns(triggers: Triggers) -> JudgedPatterns:
    """Return the patterns that can be used, and a Problem for each of the others, in their order."""
    usable: list[Pattern] = []
    problems: list[Problem] = []
    size = 0
    for pattern in triggers.patterns[:MAX_PATTERNS]:
        examined = _examine(pattern) if size <= MAX_PATTERNS_SIZE else _LEFT_OUT
        size += examined.size
        if not examined.fault and size > MAX_PATTERNS_SIZE:
            examined = _LEFT_OUT
        if examined.fault:
            message = f"the trigger pattern '{pattern[:_SHOWN]}' {examined.fault}"
            problems.append(make_problem("trigger-invalid", message))
        else:
            usable.append(Pattern(pattern, examined.size))
    if len(triggers.patterns) > MAX_PATTERNS:
        message = f"there are {len(triggers.patterns)} trigger patterns; only the first {MAX_PATTERNS} count"
        problems.append(make_problem("trigger-invalid", message, remedy="join patterns with |, or remove some"))
    return JudgedPatterns(tuple(usable), tuple(problems), size)


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


class _Examined(NamedTuple):
    fault: str
    size: int = 0


_TOO_LARGE = _Examined("is too large when its repetitions are written out", _MAX_PROGRAM)
_LEFT_OUT = _Examined("is left out, since the patterns up to it are too large together")


@lru_cache(maxsize=_KNOWN)
def _examine(pattern: str) -> _Examined:
    if len(pattern) > MAX_PATTERN_LENGTH:
        return _Examined(f"is longer than {MAX_PATTERN_LENGTH} characters")
    re2: Any = importlib.import_module("re2")
    try:
        compiled = re2.compile(pattern.encode(), make_pattern_options(_SMALL_PROGRAM))
    except UnicodeEncodeError:
        return _Examined("is not text")
    except re2.error as error:
        reason: object = error.args[0] if error.args else ""
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        if "too large" in text:
            return _TOO_LARGE
        return _Examined(f"is refused by RE2: {text}")
    if compiled.programsize > _MAX_PROGRAM:
        return _TOO_LARGE
    return _Examined(
        "matches the empty text, and so every message" if compiled.search(b"") else "", compiled.programsize
    )


def make_pattern_options(size: int) -> Any:
    """Return how a pattern of this size is compiled: without regard to case, and within a bound of memory."""
    re2: Any = importlib.import_module("re2")
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _LITTLE_MEMORY if size <= _SMALL_PROGRAM else _MAX_MEMORY
    return options
