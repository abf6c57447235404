"""Patterns with stars, matched in time that grows with pattern and text and no faster."""

import re
from functools import lru_cache
from typing import NamedTuple

__all__ = ["matches_glob"]

_GLOB_PIECE = re.compile(r"(?:(?<![^/])\*\*/)+|\*\*+|\*|[^*]", re.DOTALL)


class _Glob(NamedTuple):
    """A pattern as a machine whose states are the bits of a number, so that no pattern makes a match slow."""

    literals: dict[str, int]
    """The states in which a character leads to the next."""
    stars: int
    """The states that any character but a slash keeps."""
    deep_stars: int
    """The states that any character keeps."""
    entries: int
    """The states before a `**/`, which may also stand for nothing."""
    final: int


def matches_glob(pattern: str, text: str) -> bool:
    """Whether all of the text matches: `*` is any text without a slash, `**` any text, `**/` any folders or none."""
    literals, stars, deep_stars, entries, final = _compile_glob(pattern)
    every_star = stars | deep_stars
    states = _close(1, entries, every_star)
    for char in text:
        kept = deep_stars if char == "/" else every_star
        states = _close((states & literals.get(char, 0)) << 1 | states & kept, entries, every_star)
        if not states:
            return False
    return states & final != 0


def _close(states: int, entries: int, every_star: int) -> int:
    """Add the states that are reached without a character."""
    entered = states & entries
    states |= entered << 1 | entered << 3
    return states | (states & every_star) << 1


@lru_cache(maxsize=512)
def _compile_glob(pattern: str) -> _Glob:
    literals: dict[str, int] = {}
    stars = deep_stars = entries = 0
    state = 1
    for found in _GLOB_PIECE.finditer(pattern):
        piece = found[0]
        if piece == "*":
            stars |= state
        elif piece.endswith("*"):
            deep_stars |= state
        elif piece.startswith("*"):
            entries |= state
            deep_stars |= state << 1
            state <<= 2
            literals["/"] = literals.get("/", 0) | state
        else:
            literals[piece] = literals.get(piece, 0) | state
        state <<= 1
    return _Glob(literals, stars, deep_stars, entries, state)
