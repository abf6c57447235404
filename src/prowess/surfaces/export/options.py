"""How an export is wanted."""

from dataclasses import dataclass
from enum import Enum

__all__ = ["Doing", "ExportOptions", "Overwriting"]


class Overwriting(Enum):
    """What an export may put itself in the place of."""

    OWN = "own"
    """What it has written itself, and nobody has changed since."""
    ANYTHING = "anything"


class Doing(Enum):
    """How far an export goes."""

    WRITE = "write"
    TRY = "try"
    """Find out what it would do, and write nothing."""


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Where to, and what may happen there."""

    out: str
    """An absolute path."""
    overwriting: Overwriting = Overwriting.OWN
    doing: Doing = Doing.WRITE
