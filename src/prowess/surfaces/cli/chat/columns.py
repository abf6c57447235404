"""Lines and the columns of a terminal: how many a line takes, and what to do with one that takes too many."""

import unicodedata

__all__ = ["cut_to_width", "measure", "split_at_width", "wrap_to_width"]

_UNSEEN = ("Mn", "Me", "Cf")
_HANGING = 2
"""Columns that the second line of one stands further in than the first."""
_LEAST = 8
"""Columns that are left for text, however far it stands in."""


def measure(text: str) -> int:
    """Return how many columns a line takes."""
    return len(text) if text.isascii() else sum(map(_count_columns, text))


def cut_to_width(text: str, width: int) -> str:
    """Return a line that takes no more columns than there are; the cut shows."""
    if measure(text) <= width:
        return text
    return f"{split_at_width(text, width - 1)[0]}…" if width > 0 else ""


def wrap_to_width(text: str, width: int) -> list[str]:
    """Return a line as several that fit; the others stand further in, so that none looks like one of its own.

    A single blank may become a break. Of more in a row none is lost: they may be meant.
    """
    margin = " " * min(len(text) - len(text.lstrip(" ")) + _HANGING, max(width - _LEAST, 0))
    lines: list[str] = []
    while measure(text) > max(width, _LEAST):
        head, rest = split_at_width(text, max(width, _LEAST))
        blank = head.rfind(" ", len(margin) + 1)
        if blank > 0 and not rest.startswith(" "):
            head, rest = text[:blank], text[blank:]
        lines.append(head)
        text = margin + (rest[1:] if _is_single_blank(head, rest) else rest)
    return [*lines, text]


def _is_single_blank(before: str, after: str) -> bool:
    return after.startswith(" ") and not (before.endswith(" ") or after.startswith("  "))


def split_at_width(text: str, width: int) -> tuple[str, str]:
    """Return as much of a text as takes no more columns than these, and the rest."""
    taken = 0
    for index, char in enumerate(text):
        taken += _count_columns(char)
        if taken > width:
            return text[:index], text[index:]
    return text, ""


def _count_columns(char: str) -> int:
    if unicodedata.category(char) in _UNSEEN:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
