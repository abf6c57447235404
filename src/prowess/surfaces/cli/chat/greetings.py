"""What is said when a conversation begins, is gone on with, and is left."""

import shlex
from collections.abc import Iterator

from prowess.agent.providers.usability import OFFLINE
from prowess.surfaces.cli.chat.room import Room
from prowess.surfaces.tones import Line, Row, Tone

__all__ = ["render_greeting", "render_name", "render_return"]

_MAX_LINES = 12
"""Of the last answer."""


def render_greeting(room: Room) -> Iterator[Line]:
    """Return where one is, and what was said last."""
    count = len(room.chat.session.view().visible)
    skills = "1 skill" if count == 1 else f"{count:,} skills"
    yield Line(f"Prowess · {room.chat.model.name} answers · {skills} · /help says what can be typed", Tone.DIM)
    if room.chat.model.name == OFFLINE:
        yield Line("it follows fixed rules and is no language model; /model says what else there is", Tone.DIM)
    yield from render_name(room)
    turns, message, answer = room.last_turn()
    if turns:
        yield Line("one turn so far" if turns == 1 else f"{turns:,} turns so far", Tone.DIM)
    if answer:
        yield from _quote(f"> {message}")
        yield from _quote(answer)


def _quote(text: str) -> Iterator[Line]:
    lines = text.strip().split("\n")
    yield from (Row(f"  {line.expandtabs(4)}".rstrip(), Tone.DIM) for line in lines[:_MAX_LINES])
    if len(lines) > _MAX_LINES:
        yield Line(f"  … and {len(lines) - _MAX_LINES:,} more lines", Tone.DIM)


def render_name(room: Room) -> Iterator[Line]:
    """Return which conversation it is."""
    if room.is_kept:
        yield Line(f"conversation {room.chat.id}", Tone.DIM)
    else:
        yield Line('this conversation is not kept: activation.sessions is not "chat"', Tone.DIM)


def render_return(room: Room) -> Iterator[Line]:
    """Return how to come back, if there is something to come back to."""
    if room.can_return():
        yield Line(f"come back: prowess chat --session {shlex.quote(room.chat.id)}", Tone.DIM)
