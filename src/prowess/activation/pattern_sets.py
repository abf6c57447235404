"""Search a text for many patterns at once, by RE2.

A filter first finds which patterns could match at all, by the literal texts in them; only those are tried.
"""

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from prowess.skill.triggers import make_pattern_options

__all__ = ["PatternSet"]

_MAX_TOGETHER = 1_000
_MAX_CHARACTERS_TOGETHER = 32_000
"""So that the filter of one group stays within RE2's memory."""
_WITNESS = b"\nprowess-filter-witness"
"""Added to what the filter sees. If it does not find even this, it has failed, and everything is tried."""


class PatternSet:
    """Patterns that RE2 accepts, known by their place in the sequence."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._groups = [_Group(start, group) for start, group in _divide(patterns)]

    def search(self, text: str, *, unless: Callable[[int], bool]) -> Iterator[tuple[int, str]]:
        """Return the places of the patterns that match, in order, each with the text it found first.

        `unless` says of a place whether to pass it over, and is asked when its turn comes.
        """
        raw = text.encode("utf-8", "replace")
        for group in self._groups:
            yield from group.search(raw, unless)


class _Group:
    def __init__(self, start: int, patterns: Sequence[str]) -> None:
        re2: Any = importlib.import_module("re2")
        self._start = start
        self._count = len(patterns)
        self._filter: Any = re2.Filter()
        options = make_pattern_options()
        for pattern in patterns:
            self._filter.Add(pattern.encode(), options)
        self._filter.Add(_WITNESS, options)
        try:
            self._filter.Compile()
            self._works = True
        except re2.error:
            self._works = False

    def search(self, raw: bytes, unless: Callable[[int], bool]) -> Iterator[tuple[int, str]]:
        for index in self._possible(raw):
            place = self._start + index
            if not unless(place) and (found := self._filter.re(index).search(raw)):
                yield place, found.group().decode("utf-8", "replace")

    def _possible(self, raw: bytes) -> Sequence[int]:
        possible: list[int] = (self._filter.Match(raw + _WITNESS, potential=True) or []) if self._works else []
        if self._count not in possible:
            return range(self._count)
        return sorted(index for index in possible if index < self._count)


def _divide(patterns: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    start = characters = 0
    for place, pattern in enumerate(patterns):
        if place - start == _MAX_TOGETHER or characters > _MAX_CHARACTERS_TOGETHER:
            yield start, patterns[start:place]
            start, characters = place, 0
        characters += len(pattern)
    if start < len(patterns):
        yield start, patterns[start:]
