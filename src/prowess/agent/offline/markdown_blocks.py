"""Instructions as blocks of Markdown: headings, paragraphs, items of lists, rows of tables, lines of code."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

__all__ = ["CODE_SPAN", "Block", "Kind", "has_steps", "parse_blocks"]

CODE_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
"""What stands in backticks within a line."""

_MAX_LINES = 20_000
_MAX_LINE = 2_000
"""Characters of a line that are looked at."""
_MAX_BLOCK = 50
"""Lines of a block; what is longer becomes several."""
_MAX_INTRO = 1_000
"""Characters of a paragraph before a list, from its end."""
_FENCE = re.compile(r" {0,8}(`{3,}|~{3,})([^`\n]*)\Z")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)\Z")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,4}[.)])[ \t]+(.*)\Z")
_STEP = re.compile(r"\W*+(?:step|part|phase|stage)?\s*+(\d{1,2})(?:[.):\s\u2013\u2014-]|\Z)", re.IGNORECASE)


class Kind(Enum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    ROW = "row"
    CODE = "code"
    """One line of a fenced block."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block, and where it stands."""

    kind: Kind
    lines: tuple[str, ...]
    """As they are written."""
    text: str
    """Without the marks of the block, on one line."""
    step: int | None = None
    """The number of the step that it belongs to, by the last heading that has one."""
    intro: str = ""
    """Of an item: the paragraph before its list."""


def parse_blocks(text: str) -> tuple[Block, ...]:
    """Return the blocks of a text, in their order; of a very long one, those of the beginning."""
    return tuple(_place(_find_blocks(text.split("\n", _MAX_LINES)[:_MAX_LINES])))


def has_steps(blocks: Iterable[Block]) -> bool:
    """Whether the instructions number their parts."""
    return any(block.step is not None for block in blocks)


def _find_blocks(lines: Iterable[str]) -> Iterator[Block]:
    fence, kind = "", None
    held: list[str] = []

    def release() -> Iterator[Block]:
        if kind is not None and held:
            yield Block(kind, tuple(held), _join(held, kind))
        held.clear()

    for whole in lines:
        line = whole[:_MAX_LINE].rstrip()
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
            else:
                yield Block(Kind.CODE, (line,), line.strip())
            continue
        found = _classify(line, within=kind if held else None)
        if mark or found is not None or not line:
            yield from release()
            kind = found
        if mark:
            fence = mark[1]
        elif line:
            held.append(line)
            kind = kind or Kind.PARAGRAPH
            if kind in (Kind.HEADING, Kind.ROW) or len(held) == _MAX_BLOCK:
                yield from release()
    yield from release()


def _classify(line: str, *, within: Kind | None) -> Kind | None:
    """Return what begins with this line; None if it goes on with what is there, or with a paragraph."""
    if _HEADING.match(line):
        return Kind.HEADING
    if _ITEM.match(line):
        return Kind.ITEM
    if line.lstrip().startswith("|"):
        return Kind.ROW
    return None if within in (Kind.PARAGRAPH, Kind.ITEM) else Kind.PARAGRAPH


def _join(lines: list[str], kind: Kind) -> str:
    first = lines[0].strip()
    if kind is Kind.HEADING and (heading := _HEADING.match(lines[0])):
        first = heading[2].rstrip("#").rstrip()
    if kind is Kind.ITEM and (item := _ITEM.match(lines[0])):
        first = item[2]
    return " ".join([first, *(line.strip() for line in lines[1:])])


def _place(blocks: Iterator[Block]) -> Iterator[Block]:
    step: int | None = None
    level = 0
    intro = ""
    for block in blocks:
        if block.kind is Kind.HEADING:
            intro = ""
            depth = len(block.lines[0].lstrip().split(maxsplit=1)[0])
            found = _STEP.match(block.text)
            if found and (step is None or depth <= level):
                step, level = int(found[1]), depth
            elif depth <= level:
                step, level = None, 0
        elif block.kind is Kind.PARAGRAPH and not block.lines[0].startswith((" ", "\t")):
            intro = block.text[-_MAX_INTRO:]  # An indented one belongs to the item above it.
        yield replace(block, step=step, intro=intro if block.kind is Kind.ITEM else "")
