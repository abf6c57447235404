"""Which instructions a conversation is given again after it was compacted."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from prowess.disclosure.instructions import CLOSING_TAG, HEAD
from prowess.disclosure.tokens import TokenCounter

__all__ = ["Reattachment", "plan_reattachment"]

_T = TypeVar("_T")
_NOTICE = "\n\n[Cut after compaction; activate the skill again for all of it.]"
_LEAST_TOKENS = 50
"""Less than this of a skill's text is not worth giving."""
_LEAST_CHARACTERS = 60
"""Nor less than this of the instructions themselves, behind the lines that say whose they are."""


@dataclass(frozen=True, slots=True)
class Reattachment(Generic[_T]):
    """What is given again, and what is not."""

    text: str = ""
    kept: tuple[_T, ...] = ()
    """The newest first."""
    dropped: tuple[_T, ...] = ()
    """There was no room, or the files are not those that were agreed to."""


def plan_reattachment(
    texts: Iterable[tuple[_T, str | None]], *, budget: int, budget_each: int, counter: TokenCounter
) -> Reattachment[_T]:
    """Return as many of the texts as fit, in their order, each cut if it is too long. None is a text that is gone."""
    parts: list[str] = []
    kept: list[_T] = []
    dropped: list[_T] = []
    left = budget
    for item, text in texts:
        room = min(left - 1, budget_each)  # One for the blank line between two texts.
        shown = None if text is None or room < _LEAST_TOKENS else _cut(text, room, counter.count)
        if shown is None:
            dropped.append(item)
            continue
        left -= counter.count(shown) + 1
        parts.append(shown)
        kept.append(item)
    while counter.count(text := "\n\n".join(parts)) > budget:  # Some counters find a whole dearer than its parts.
        parts.pop()
        dropped.insert(0, kept.pop())
    return Reattachment(text, tuple(kept), tuple(dropped))


def _cut(text: str, tokens: int, count: Callable[[str], int]) -> str | None:
    """Return the text if it is no longer than that, else as much of it as a notice leaves room for."""
    total = count(text)
    if total <= tokens:
        return text
    wrapped = text.endswith(CLOSING_TAG)
    end = _NOTICE + (f"\n{CLOSING_TAG}" if wrapped else "")
    opening = text.find("\n") + 1 if wrapped else 0
    head = HEAD.match(text, opening)
    least = (head.end() if head else opening) + _LEAST_CHARACTERS
    keep = len(text) * (tokens - count(end)) // total
    while keep > least:
        shown = text[:keep].rstrip() + end
        if count(shown) <= tokens:
            return shown
        keep -= max(keep // 16, 1)
    return None
