"""What a conversation is called in lists."""

import json
import string
from collections.abc import Iterable

from prowess.skill.deception import make_printable
from prowess.state.conversations import LoggedEvent

__all__ = ["MAX_TITLE", "is_turn", "lower_ascii", "make_title", "read_first_words", "read_words"]

MAX_TITLE = 80
"""Characters."""


def is_turn(event: LoggedEvent) -> bool:
    """Whether a turn of the conversation itself, and not of a fork, begins with this event."""
    return event.kind == "begun" and not event.within


def make_title(text: str) -> str:
    """Return the first line of a text, printable and short; a cut shows."""
    line = next(iter(text.strip().splitlines()), "")
    shown = make_printable(" ".join(line.split())[: MAX_TITLE + 1])
    return shown if len(shown) <= MAX_TITLE else shown[: MAX_TITLE - 1] + "…"


def read_first_words(events: Iterable[LoggedEvent]) -> str:
    """Return the title that the message of the first turn among these events makes; empty if there is none."""
    first = next(filter(is_turn, events), None)
    return "" if first is None else make_title(read_words(first.kind, first.data))


def read_words(kind: str, data: str) -> str:
    """Return what was said in an event: the message of a turn's beginning, the text of an answer; else nothing."""
    # Half a surrogate pair, which other readers of JSON refuse, is no reason to go without a title.
    try:
        event: object = json.loads(data, strict=False)
    except (ValueError, RecursionError):
        return ""
    match kind, event:
        case ("begun", {"message": str(said)}) | ("answer", {"text": str(said)}):
            return said
        case _:
            return ""


def lower_ascii(text: str) -> str:
    """Return a text with small ASCII letters, as databases make them."""
    return text.translate(_LOWER)


_LOWER = {ord(letter): letter.lower() for letter in string.ascii_uppercase}
