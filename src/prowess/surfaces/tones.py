"""Lines for a person, each with a tone: how it should look where there are colours."""

import os
from dataclasses import dataclass
from enum import StrEnum
from typing import TextIO

__all__ = ["Line", "Row", "Tone", "has_colours", "paint"]


class Tone(StrEnum):
    """How something is meant."""

    PLAIN = "plain"
    DIM = "dim"
    """Beside the matter."""
    STRONG = "strong"
    GOOD = "good"
    BAD = "bad"
    DOUBTFUL = "doubtful"


_CODES = {
    Tone.PLAIN: "",
    Tone.DIM: "\x1b[2m",
    Tone.STRONG: "\x1b[1m",
    Tone.GOOD: "\x1b[32m",
    Tone.BAD: "\x1b[31m",
    Tone.DOUBTFUL: "\x1b[33m",
}
_END = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Row(Line):
    """A line whose beginning says enough: where there is no room for all of it, the rest is cut off."""


def has_colours(stream: TextIO) -> bool:
    """Whether colours are shown there, and wanted."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, tone: Tone) -> str:
    """Return a text with the codes by which a terminal shows a tone."""
    return f"{_CODES[tone]}{text}{_END}" if text and _CODES[tone] else text
