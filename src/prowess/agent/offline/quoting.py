"""Quotations: the lines of a text that say most to somebody who asked with certain words. Always word for word."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prowess.agent.offline.content_words import find_words
from prowess.agent.offline.markdown_blocks import Kind, parse_blocks

__all__ = ["MAX_LINE", "Quotation", "quote", "quote_all", "render_quotation"]

MAX_LINE = 300
"""Characters of a line that are quoted."""
_MAX_LINES = 10_000
_MAX_UNIT = 5
"""Lines of a paragraph that is quoted whole."""
_MAX_CHARACTERS = 400_000
"""Of a text that are looked at."""
_LABEL = re.compile(r"\W{0,4}[A-Z][A-Z0-9_]{2,30}: +\S")
_CUT = " […]"
_LINE_BREAK = "  \n"
"""As Markdown has it; without the blanks, quoted lines would flow into one."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """Lines of a text, in their order."""

    lines: tuple[str, ...] = ()
    left_out: int = 0
    """Lines with something on them that are not quoted."""


@dataclass(frozen=True, slots=True)
class _Unit:
    lines: tuple[str, ...]
    text: str
    is_heading: bool = False


def quote(text: str, *, words: Sequence[str], hints: Sequence[str] = (), is_markdown: bool, most: int) -> Quotation:
    """Return about so many lines: labelled ones first, then those with what is looked for, headings before the rest.

    Where nothing of that is there, it is the beginning. `words` are stems.
    """
    units = list(_find_units(text[:_MAX_CHARACTERS], is_markdown=is_markdown))
    scores = [_score(unit, words, hints) for unit in units]
    ranked = sorted((at for at in range(len(units)) if scores[at]), key=lambda at: (-scores[at], at))
    chosen = _take(ranked or range(len(units)), units, most if ranked else min(most, _MAX_UNIT))
    lines = tuple(line for at in sorted(chosen) for line in units[at].lines)
    return Quotation(lines, sum(len(unit.lines) for unit in units) - len(lines))


def quote_all(text: str, *, most: int) -> Quotation:
    """Return the beginning of a text, and labelled lines from the rest of it."""
    lines = [line.rstrip() for line in text[:_MAX_CHARACTERS].split("\n", _MAX_LINES)[:_MAX_LINES] if line.strip()]
    labelled = [line for line in lines[most:] if _LABEL.match(line)][:most]
    kept = (*lines[:most], *labelled)
    return Quotation(kept, len(lines) - len(kept))


def render_quotation(quotation: Quotation) -> str:
    """Return the lines as Markdown quotes them, each cut where it is too long, and what was left out."""
    lines = [f"> {line if len(line) <= MAX_LINE else line[:MAX_LINE] + _CUT}" for line in quotation.lines]
    rest = f"({quotation.left_out:,} more lines are not quoted.)" if quotation.left_out > 1 else ""
    rest = "(1 more line is not quoted.)" if quotation.left_out == 1 else rest
    return _LINE_BREAK.join(lines) + (f"\n\n{rest}" if rest else "")


def _find_units(text: str, *, is_markdown: bool) -> Iterator[_Unit]:
    """Return what is quoted together: headings, short paragraphs and items, else single lines."""
    if not is_markdown:
        lines = text.split("\n", _MAX_LINES)[:_MAX_LINES]
        yield from (_Unit((line.rstrip(),), line) for line in lines if line.strip())
        return
    for block in parse_blocks(text):
        lines = tuple(line for line in block.lines if line.strip())
        if len(lines) <= _MAX_UNIT:
            yield from [_Unit(lines, block.text, block.kind is Kind.HEADING)] if lines else []
        else:
            yield from (_Unit((line,), line) for line in lines)


def _score(unit: _Unit, words: Sequence[str], hints: Sequence[str]) -> int:
    score = 100 if any(map(_LABEL.match, unit.lines)) else 0
    score += 20 * sum(_holds(unit.text, hint) for hint in hints)
    if words:
        found = frozenset(find_words(unit.text[:_MAX_CHARACTERS]))
        shared = sum(word in found for word in words)
        score += shared * (3 if unit.is_heading else 2)
    return score


def _holds(text: str, hint: str) -> bool:
    """Whether a text holds this, and not only as a part of a longer word."""
    at = text.find(hint)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(hint) : at + len(hint) + 1]
        if not (_is_word(hint[:1]) and _is_word(before)) and not (_is_word(hint[-1:]) and _is_word(after)):
            return True
        at = text.find(hint, at + 1)
    return False


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _take(order: Sequence[int], units: Sequence[_Unit], most: int) -> list[int]:
    """Return as many as there is room for, in the order given; the first in any case."""
    taken: list[int] = []
    room = most
    for at in order:
        size = len(units[at].lines)
        if size <= room or not taken:
            taken.append(at)
            room -= size
        if room <= 0:
            break
    return taken
