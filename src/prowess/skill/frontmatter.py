"""Where the frontmatter of a SKILL.md begins and ends.

This is the one place in the project that looks for fences. It works on bytes, so that the head of a file is enough
and a body in another encoding does no harm.
"""

import codecs
import re
from typing import NamedTuple

from prowess.skill.problems import Problem, make_problem

__all__ = [
    "HEAD_BYTES",
    "MAX_FRONTMATTER_BYTES",
    "Frontmatter",
    "is_closed",
    "split_frontmatter",
    "split_plain_frontmatter",
]

HEAD_BYTES = 2_048
"""What discovery reads at first: enough for nearly all; the rest is read further."""

MAX_FRONTMATTER_BYTES = 65_536

_FENCE = re.compile(rb"---([ \t]*)\r?(?:\n|\Z)")
_CLOSING = re.compile(rb"^---([ \t]*)\r?(?:\n|\Z)", re.MULTILINE)
_BLANK = re.compile(rb"(?:[ \t]*\r?\n)*")
_KEY_LINE = re.compile(rb"^(?:name|description)[ \t]*:", re.MULTILINE)
_LINE_BREAKS = re.compile(r"\r\n?")


class Frontmatter(NamedTuple):
    """The text between the fences, with what is needed to find it and the body again."""

    text: str
    first_line: int
    """The line of the file, counted from 1, on which `text` begins."""
    body_offset: int
    """How many bytes of the file come before the body."""
    problems: tuple[Problem, ...] = ()


def split_frontmatter(head: bytes, *, strict: bool = False) -> Frontmatter | Problem:
    """Return the frontmatter at the start of `head`, or the Problem that there is none to read."""
    end = _find_plain_end(head)
    if end >= 0:
        return _decode(head, 4, end + 1, end + 5, line=2)
    return _split_unusual(head, strict=strict)


def split_plain_frontmatter(head: bytes) -> bytes | None:
    """Return what is between plain fences, which is how most files begin; None for everything else."""
    end = _find_plain_end(head)
    return head[4 : end + 1] if 0 <= end <= MAX_FRONTMATTER_BYTES else None


def is_closed(head: bytes) -> bool:
    """Whether reading more of the file cannot change where its frontmatter ends."""
    if _find_plain_end(head) >= 0:
        return True
    if not head.strip():
        return False
    opening = _opening(head)
    if opening is None:
        return True
    closing = _CLOSING.search(head, opening.end())
    return closing is not None and closing[0].endswith(b"\n")


def _find_plain_end(head: bytes) -> int:
    """Return where the line break before the closing fence is, if both fences are plain; -1 for everything else.

    The first line that begins like a fence decides, so that no line further down is taken for what it is not.
    """
    if not head.startswith(b"---\n"):
        return -1
    end = head.find(b"\n---", 3)
    return end if end >= 0 and head[end + 4 : end + 5] == b"\n" else -1


def _opening(head: bytes) -> re.Match[bytes] | None:
    start = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
    blank = _BLANK.match(head, start)
    return _FENCE.match(head, blank.end() if blank else start)


def _split_unusual(head: bytes, *, strict: bool) -> Frontmatter | Problem:
    """Handle everything but the plain case: marks, CRLF, blank lines, inexact fences, and what is missing."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return make_problem("utf-16", "the file is UTF-16, not UTF-8", strict=strict, line=1, column=1)
    opening = _opening(head)
    if opening is None:
        return _without_frontmatter(head)
    line = head.count(b"\n", 0, opening.start()) + 1
    closing = _CLOSING.search(head, opening.end())
    if closing is None:
        return _unclosed(head, line)
    found: list[Problem] = []
    if line > 1:
        found.append(make_problem("blank-lines-first", "blank lines before the frontmatter", line=1, column=1))
    for fence in (opening, closing):
        if fence[1]:
            at = head.count(b"\n", 0, fence.start()) + 1
            found.append(
                make_problem("fence-not-exact", "blanks follow the fence ---", strict=strict, line=at, column=4)
            )
    result = _decode(head, opening.end(), closing.start(), closing.end(), line=line + 1)
    if isinstance(result, Problem) or not found:
        return result
    return result._replace(problems=tuple(found))


def _without_frontmatter(head: bytes) -> Problem:
    """Tell a file that has no frontmatter from one that has it in the wrong place."""
    first = _CLOSING.search(head)
    second = _CLOSING.search(head, first.end()) if first else None
    if first and second and _KEY_LINE.search(head, first.end(), second.start()):
        line = head.count(b"\n", 0, first.start()) + 1
        message = f"text before the frontmatter, which begins in line {line}"
        return make_problem("text-before-frontmatter", message, line=1, column=1)
    return make_problem("no-frontmatter", "the file does not begin with a line ---", line=1, column=1)


def _unclosed(head: bytes, line: int) -> Problem:
    if len(head) > MAX_FRONTMATTER_BYTES:
        message = f"no closing --- within {MAX_FRONTMATTER_BYTES:,} bytes"
        return make_problem("frontmatter-too-large", message, line=line, column=1)
    message = "the frontmatter is not properly closed: no line is exactly ---"
    return make_problem("frontmatter-unclosed", message, line=line, column=1)


def _decode(head: bytes, start: int, end: int, body: int, *, line: int) -> Frontmatter | Problem:
    raw = head[start:end]
    if len(raw) > MAX_FRONTMATTER_BYTES:
        message = f"the frontmatter has {len(raw):,} bytes, more than {MAX_FRONTMATTER_BYTES:,}"
        return make_problem("frontmatter-too-large", message, line=line, column=1)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        at_line, column = _place(raw, error.start, line)
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        return make_problem("not-utf-8", message, line=at_line, column=column)
    if "\0" in text:
        at_line, column = _place(raw, raw.index(0), line)
        return make_problem("nul-byte", "a NUL byte in the frontmatter", line=at_line, column=column)
    if "\r" in text:
        text = _LINE_BREAKS.sub("\n", text)
    return Frontmatter(text, line, body)


def _place(raw: bytes, offset: int, first_line: int) -> tuple[int, int]:
    before = raw[:offset]
    return first_line + before.count(b"\n"), offset - (before.rfind(b"\n") + 1) + 1
