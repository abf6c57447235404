"""Values on their way between a snippet and its functions: plain data in, text out, all of it bounded."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from prowess.execution.inline.outcomes import cut_middle
from prowess.execution.stopping import check_stopped
from prowess.skill.deception import make_encodable

__all__ = ["MAX_CHARACTERS", "MAX_VALUES", "bind_arguments", "show_value"]

MAX_VALUES = 100_000
"""In the arguments of one call, one within another; one that stands in many places counts in each."""
MAX_CHARACTERS = 1_000_000
"""Of all texts in the arguments of one call, and of one text as part of a value that is shown."""
_LOOK_UP = 1_000
"""Values after which it is asked whether the call is still wanted."""
_MAX_DEPTH = 32
_MAX_INTEGER_BITS = 1_024
_MAX_SHOWN_BITS = 10_000
"""Python itself refuses to write much longer numbers."""


# Into functions


def bind_arguments(parameters: Sequence[str], args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of a call by name, as JSON has them, tuples as lists. Raise `TypeError` with what is wrong.

    A list that stands in a value many times is copied as often, so that a small value may be a very large copy.
    Whether all are there, and are what they should be, is checked by the function itself.
    """
    if len(args) > len(parameters):
        raise TypeError(f"takes {len(parameters)} positional arguments but {len(args)} were given")
    bound = dict(zip(parameters, args, strict=False))
    for name, value in kwargs.items():
        if name in bound:
            raise TypeError(f"got multiple values for argument '{name}'")
        bound[name] = value
    room = _Room()
    for name in bound:
        room.take_text(name)
    return {name: _make_plain(value, name=name, room=room, depth=0) for name, value in bound.items()}


@dataclass(slots=True)
class _Room:
    """What the arguments of one call may still take."""

    values: int = MAX_VALUES
    characters: int = MAX_CHARACTERS

    def take_value(self) -> None:
        self.values -= 1
        if self.values < 0:
            raise TypeError(f"the arguments hold more than {MAX_VALUES:,} values: give less in one call")
        if self.values % _LOOK_UP == 0:
            check_stopped()

    def take_text(self, text: str) -> None:
        self.characters -= len(text)
        if self.characters < 0:
            raise TypeError(f"the arguments hold more than {MAX_CHARACTERS:,} characters: give less in one call")


def _make_plain(value: object, *, name: str, room: _Room, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise TypeError(f"argument '{name}' is nested too deeply")
    room.take_value()
    match value:
        case None | bool():
            return value
        case int():
            if value.bit_length() > _MAX_INTEGER_BITS:
                raise TypeError(f"argument '{name}' holds a number that is too long")
            return value
        case float():
            if not math.isfinite(value):
                raise TypeError(f"argument '{name}' holds a number that is not finite")
            return value
        case str():
            room.take_text(value)
            return make_encodable(value)
        case list() | tuple():
            items = cast("Sequence[object]", value)
            return [_make_plain(item, name=name, room=room, depth=depth + 1) for item in items]
        case dict():
            return _make_plain_members(cast("dict[object, object]", value), name=name, room=room, depth=depth)
        case _:
            raise TypeError(f"argument '{name}' must be of texts, numbers, True, False, None, lists and dicts")


def _make_plain_members(members: Mapping[object, object], *, name: str, room: _Room, depth: int) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, item in members.items():
        if not isinstance(key, str):
            raise TypeError(f"argument '{name}' holds a dict with keys that are no texts")
        room.take_text(key)
        plain[make_encodable(key)] = _make_plain(item, name=name, room=room, depth=depth + 1)
    return plain


# Out of a snippet


def show_value(value: object, *, limit: int) -> tuple[str, bool]:
    """Return a value as text, and whether it had to be cut: a text is as it is, all else as Python writes it."""
    if isinstance(value, str):
        return make_encodable(cut_middle(value, limit=limit)), len(value) > limit
    parts: list[str] = []
    room = limit
    for part in _write(value, 0):
        parts.append(part)
        room -= len(part)
        if room < 0:
            return make_encodable("".join(parts)[:limit] + "\n[… the rest is cut …]"), True
    return make_encodable("".join(parts)), False


def _write(value: object, depth: int) -> Iterator[str]:
    """Write a value piece by piece, so that whoever has enough can stop."""
    match value:
        case list() | tuple() | set() | frozenset() | dict() if depth > _MAX_DEPTH:
            yield "…"
        case list():
            yield from _write_items("[", cast("list[object]", value), "]", depth)
        case tuple():
            items = cast("tuple[object, ...]", value)
            yield from _write_items("(", items, ",)" if len(items) == 1 else ")", depth)
        case set() | frozenset() if value:
            yield from _write_items("{", list(cast("set[object]", value)), "}", depth)
        case dict():
            yield from _write_members(cast("dict[object, object]", value), depth)
        case int() if not isinstance(value, bool) and value.bit_length() > _MAX_SHOWN_BITS:
            yield f"<a whole number of about {int(value.bit_length() * math.log10(2)):,} digits>"
        case str() | bytes() if len(value) > MAX_CHARACTERS:
            yield f"{value[:MAX_CHARACTERS]!r}…"
        case _:
            yield _name_object(value) or _repr(value)


def _name_object(value: object) -> str:
    """Return what stands for a thing that only the interpreter has; empty for a value that came whole."""
    match type(value).__name__:
        case "MontyClassProxy":
            return f"<{getattr(value, 'name', '')} object>"
        case "MontyClassTypeProxy":
            return f"<class {getattr(value, 'name', '')}>"
        case "MontyStdTypeProxy":
            return f"<{getattr(value, 'kind', '')} {getattr(value, 'name', '')}>"
        case _:
            return ""


def _repr(value: object) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError):  # A number of thousands of digits somewhere in it, or too many levels.
        return f"<{type(value).__name__}>"


def _write_items(start: str, items: Sequence[object], end: str, depth: int) -> Iterator[str]:
    yield start
    for index, item in enumerate(items):
        yield ", " if index else ""
        yield from _write(item, depth + 1)
    yield end


def _write_members(members: Mapping[object, object], depth: int) -> Iterator[str]:
    yield "{"
    for index, (key, item) in enumerate(members.items()):
        yield ", " if index else ""
        yield from _write(key, depth + 1)
        yield ": "
        yield from _write(item, depth + 1)
    yield "}"
