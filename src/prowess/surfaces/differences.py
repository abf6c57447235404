"""What has changed in a file since a person agreed to it, line by line, for every surface that shows it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from prowess.runtime.changed_texts import TextChange

__all__ = ["DiffLine", "Difference", "LineKind", "compare_texts"]

_MAX_COMPARED_LINES = 2_000
"""A longer text is not compared: that may take very long."""
_MAX_LINE = 400
_NO_BREAK = "\\ no line break at the end"


class LineKind(StrEnum):
    """What became of a line."""

    CONTEXT = "context"
    ADDED = "added"
    REMOVED = "removed"
    GAP = "gap"
    """It says where the next lines stand."""


_KINDS = {" ": LineKind.CONTEXT, "+": LineKind.ADDED, "-": LineKind.REMOVED}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a unified diff, without its mark."""

    kind: LineKind
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """How a file differs from what it was."""

    lines: tuple[DiffLine, ...] = ()
    more: int = 0
    """Lines of difference beyond these."""
    remark: str = ""
    """What there is to say instead, if there are no lines."""


def compare_texts(change: TextChange, *, most_lines: int) -> Difference:
    """Return what has changed in a file as a unified diff; the cut shows if it is long."""
    if not change.before and not change.after:
        return Difference(remark="an empty file")
    if change.before == change.after:
        return Difference(remark="the same text; whether it is executable has changed")
    before, after = _split(change.before), _split(change.after)
    if max(len(before), len(after)) > _MAX_COMPARED_LINES:
        return Difference(remark=f"{len(before):,} lines became {len(after):,}: too many to compare")
    lines = list(_compare(before, after))
    shown = tuple(_make_line(line) for line in lines[:most_lines])
    return Difference(shown, more=len(lines) - len(shown))


def _compare(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    import difflib

    found = difflib.unified_diff(before, after, n=3, lineterm="")
    for index, line in enumerate(found):
        if index > 1:  # The first two name the files, which was done.
            yield line


def _make_line(line: str) -> DiffLine:
    kind = _KINDS.get(line[:1], LineKind.GAP)
    shown = _shorten(line)
    return DiffLine(kind, shown if kind is LineKind.GAP else shown[1:])


def _split(text: str) -> list[str]:
    """Return the lines of a text; nothing but a line feed ends one, whatever else a line may hold."""
    if not text:
        return []
    lines = text.split("\n")
    return [*lines, _NO_BREAK] if lines[-1] else lines[:-1]


def _shorten(line: str) -> str:
    line = line.expandtabs(4)
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]} … and {len(line) - _MAX_LINE:,} more characters"
