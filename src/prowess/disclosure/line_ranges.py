"""Cut a text to the lines that were asked for and to a limit, and say what is missing."""

import re
from dataclasses import dataclass

from prowess.errors import ToolInputError

__all__ = ["ALL_LINES", "Excerpt", "LineRange", "cut_text", "parse_lines"]

_RANGE = re.compile(r"(?P<first>[0-9]{1,9})?\s*(?P<dash>-)?\s*(?P<last>[0-9]{1,9})?", re.ASCII)
_BLOCK = 1 << 16
_LINE_BREAK = 0x0A


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a text, counted from 1, both ends included."""

    first: int = 1
    last: int | None = None
    """None: to the end."""


ALL_LINES = LineRange()


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a text, with where it stands."""

    text: str
    first_line: int
    last_line: int
    """One less than the first if there is no line at all."""
    total_lines: int | None
    """None if the text goes on beyond what was read."""
    notice: str = ""
    """What of the wanted lines is missing, and how to get it; empty if nothing is."""


def parse_lines(text: str) -> LineRange:
    """Return the lines that `10-20`, `10-`, `-20` or `7` mean."""
    found = _RANGE.fullmatch(text.strip())
    if found is None or not (found["first"] or found["last"]):
        raise _invalid(text)
    first = int(found["first"] or 1)
    if not found["dash"]:
        last = first if found["last"] is None else 0  # Two numbers without a hyphen are no range.
    else:
        last = int(found["last"]) if found["last"] else None
    if first < 1 or (last is not None and last < first):
        raise _invalid(text)
    return LineRange(first, last)


def _invalid(text: str) -> ToolInputError:
    return ToolInputError(
        f"Invalid lines: {text[:40]!r}",
        hint="lines count from 1: write '10-20', '10-', '-20' or '7'",
        code="invalid-lines",
    )


def cut_text(raw: bytes, *, size_bytes: int, lines: LineRange, limit_bytes: int) -> Excerpt:
    """Return the wanted lines of a text in UTF-8, as far as the limit and `raw` go.

    `raw` is the beginning of the text, and `size_bytes` how large all of it is.
    """
    whole = len(raw) >= size_bytes
    total = _count_lines(raw) if whole else None
    start = _find_line(raw, lines.first)
    if start is None:
        if lines != ALL_LINES:
            raise _no_such_line(lines.first, total, len(raw))
        return Excerpt("", 1, 0, total)
    after = None if lines.last is None else _find_line(raw, lines.last + 1)
    end = len(raw) if after is None else after
    stop = _character_start(raw, min(end, start + max(limit_bytes, 0)))
    shown = raw[start:stop]
    last = lines.first + shown.count(b"\n") - (shown.endswith(b"\n") or not shown)
    notice = ""
    if stop < end or (after is None and not whole):
        wanted = (end if whole or after is not None else size_bytes) - start
        way_on = _find_way_on(raw, stop, first=lines.first, last=last)
        notice = _render_notice(len(shown), wanted, lines.first, last, way_on)
    return Excerpt(shown.decode(), lines.first, last, total, notice)


def _count_lines(raw: bytes) -> int:
    return raw.count(b"\n") + (not raw.endswith(b"\n") and raw != b"")


def _find_line(raw: bytes, number: int) -> int | None:
    """Return where a line begins, or None if there is no such line. Counts by blocks: a text may be all line breaks."""
    breaks, start = number - 1, 0
    while breaks and (inside := raw.count(b"\n", start, start + _BLOCK)) < breaks:
        breaks -= inside
        start += _BLOCK
        if start >= len(raw):
            return None
    for _ in range(breaks):
        start = raw.find(b"\n", start) + 1
    return start if start < len(raw) else None


def _character_start(raw: bytes, index: int) -> int:
    """Return the last place up to `index` where a character begins."""
    while 0 < index < len(raw) and raw[index] & 0xC0 == 0x80:
        index -= 1
    return index


def _render_notice(shown: int, wanted: int, first: int, last: int, way_on: str) -> str:
    where = f"lines {first}-{last}" if last > first else f"line {first}"
    return f"Cut: {shown:,} of {wanted:,} bytes are shown, {where}. {way_on}"


def _find_way_on(raw: bytes, stop: int, *, first: int, last: int) -> str:
    """Return how to read on from `stop`: at the line that was cut there, or at the next one."""
    if stop == len(raw):
        return "A resource cannot be read further than this."
    further = last if stop and raw[stop - 1] != _LINE_BREAK else last + 1
    if further > first:
        return f"Read on with lines '{further}-'."
    line_break = raw.find(b"\n", stop)
    if line_break in (-1, len(raw) - 1):
        return "This line alone is longer than the limit, and the rest of it cannot be read."
    return f"This line alone is longer than the limit; read on after it with lines '{first + 1}-'."


def _no_such_line(number: int, total: int | None, read_bytes: int) -> ToolInputError:
    if total is None:
        message = f"line {number:,} is not within the first {read_bytes:,} bytes, and no more of a resource can be read"
        return ToolInputError(message, hint="ask for an earlier line", code="no-such-line")
    hint = f"ask for lines between 1 and {total}" if total else "it is empty; ask for it without lines"
    return ToolInputError(
        f"there is no line {number:,}; the resource has {total:,} lines", hint=hint, code="no-such-line"
    )
