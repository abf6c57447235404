"""The schemas of the tools that a skill brings: the part of JSON Schema that is supported.

Providers refuse a whole request for one schema that they do not know, so none of a skill's gets through that is not of
this small part. Patterns and references are not in it: either can keep a reader busy without end.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from prowess.errors import ToolInputError
from prowess.skill.deception import clean_text, make_printable, strip_invisible

__all__ = [
    "CUT",
    "MAX_BRANCHES",
    "MAX_CHOICES",
    "MAX_DESCRIPTION_CHARACTERS",
    "MAX_PROPERTIES",
    "MAX_SCHEMA_BYTES",
    "MAX_SCHEMA_DEPTH",
    "MAX_VALUE_DEPTH",
    "Schema",
    "ToolsetFault",
    "check_schema",
    "clean_description",
    "find_flaw",
    "show",
]

Schema = dict[str, Any]

MAX_SCHEMA_DEPTH = 8
"""Of schemas in schemas, the outermost counted."""
MAX_PROPERTIES = 64
"""Of one object."""
MAX_CHOICES = 250
MAX_BRANCHES = 16
MAX_SCHEMA_BYTES = 32 * 1024
MAX_VALUE_DEPTH = 64
"""Of any JSON that comes from a skill or goes to it."""
MAX_DESCRIPTION_CHARACTERS = 1_024
CUT = "… (cut)"
"""Stands at the end of a text that was longer."""

_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_HINT = "the author of the skill must correct its toolset"
_MAX_SHOWN_CHARACTERS = 64
_PROPERTY_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""What the strictest provider takes."""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class ToolsetFault(ToolInputError):
    """A toolset, or what came out of it, is not as it must be; the author of the skill can correct it."""

    default_code = "toolset-fault"


# Any JSON


def find_flaw(value: object) -> tuple[str, str] | None:
    """Return where a value holds what no JSON text has, and what that is; None for a good one."""
    flaw = _find_own_flaw(value)
    if flaw:
        return "", flaw
    path: list[str | int] = []
    opened = [_iterate(value)]
    while opened:
        for key, item in opened[-1]:
            flaw = _find_own_flaw(item)
            if flaw or len(opened) > MAX_VALUE_DEPTH:
                return _render_path([*path, key]), flaw or "is nested too deeply"
            if isinstance(item, list | dict):
                path.append(key)
                opened.append(_iterate(cast("object", item)))
                break
        else:
            opened.pop()
            del path[-1:]
    return None


def _iterate(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, dict):
        return iter(cast("dict[str, object]", value).items())
    return enumerate(cast("list[object]", value)) if isinstance(value, list) else iter(())


def _render_path(path: Iterable[str | int]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{show(key)}" for key in path).removeprefix(".")


def _find_own_flaw(item: object) -> str:
    match item:
        case None | bool() | int() | list():
            return ""
        case float():
            return "" if math.isfinite(item) else "must be a finite number"
        case str():
            return "holds half of a character, which no text can" if _HALF_CHARACTER.search(item) else ""
        case dict():
            keys = cast("dict[object, object]", item)
            good = all(isinstance(key, str) and not _HALF_CHARACTER.search(key) for key in keys)
            return "" if good else "has a name that is no text"
        case _:
            return "is no JSON"


def show(text: object) -> str:
    return make_printable(str(text)[:_MAX_SHOWN_CHARACTERS])


# Schemas


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a schema, and how deep."""

    path: tuple[str | int, ...] = ()
    depth: int = 1

    def at(self, key: str | int) -> "_Place":
        return _Place((*self.path, key), self.depth)

    def below(self) -> "_Place":
        return _Place(self.path, self.depth + 1)

    def fault(self, what: str) -> ToolsetFault:
        return ToolsetFault(f"{_render_path(self.path) or 'schema'}: {what}", hint=_HINT)


def check_schema(schema: object) -> Schema:
    """Return a clean copy of the schema of a tool's arguments, in the shape of all our tools; else raise a fault.

    Texts lose what nobody sees, and a default that is not visible is left out.
    """
    flaw = find_flaw(schema)
    if flaw:
        raise ToolsetFault(f"{flaw[0] or 'schema'}: {flaw[1]}", hint=_HINT)
    checked = _check(schema, _Place())
    if checked.get("type") != "object":
        raise _Place().at("type").fault("must be 'object', since a tool takes named arguments")
    for keyword in ("anyOf", "enum", "const"):
        if keyword in checked:
            raise _Place().at(keyword).fault("is not supported for the arguments as a whole")
    whole: Schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    whole |= checked
    if _count_bytes(whole) > MAX_SCHEMA_BYTES:
        raise _Place().fault(f"has more than {MAX_SCHEMA_BYTES:,} bytes")
    return whole


def clean_description(text: str) -> str:
    """Return a text without characters that hide or imitate; the end of a long one is cut, and the cut shows."""
    lines = strip_invisible(text)[0].splitlines()
    visible = "\n".join(line[: len(line) - len(line.lstrip())] + clean_text(line).text for line in lines).strip()
    if len(visible) <= MAX_DESCRIPTION_CHARACTERS:
        return visible
    return visible[: MAX_DESCRIPTION_CHARACTERS - len(CUT)].rstrip() + CUT


def _count_bytes(schema: Schema) -> int:
    import json

    try:
        return len(json.dumps(schema, ensure_ascii=False).encode())
    except ValueError as error:  # A number of thousands of digits.
        raise _Place().fault("holds a number that is too long") from error


def _check(schema: object, place: _Place) -> Schema:
    if not isinstance(schema, dict):
        raise place.fault("must be an object")
    if place.depth > MAX_SCHEMA_DEPTH:
        raise place.fault(f"is nested deeper than {MAX_SCHEMA_DEPTH} levels")
    checked: Schema = {}
    for key, value in cast("dict[str, object]", schema).items():
        if key not in _CHECKS:
            raise place.at(key).fault("is not supported")
        if key != "default" or _is_visible(value):
            checked[key] = _CHECKS[key](value, place.at(key))
    for name in cast("list[str]", checked.get("required", [])):
        if name not in checked.get("properties", {}):
            raise place.at("required").fault(f"'{show(name)}' is none of the properties")
    return checked


def _check_type(value: object, place: _Place) -> object:
    names = [value] if isinstance(value, str) else _check_list(value, place, at_most=len(_TYPES))
    if not all(isinstance(name, str) and name in _TYPES for name in names):
        raise place.fault(f"must be of: {', '.join(_TYPES)}")
    if len(set(names)) < len(names):
        raise place.fault("names a type twice")
    return value if isinstance(value, str) else names


def _check_properties(value: object, place: _Place) -> object:
    if not isinstance(value, dict):
        raise place.fault("must be an object")
    properties = cast("dict[str, object]", value)
    if len(properties) > MAX_PROPERTIES:
        raise place.fault(f"has more than {MAX_PROPERTIES} members")
    for name in properties:
        if not _PROPERTY_NAME.fullmatch(name):
            raise place.at(name).fault("a name has up to 64 of the characters A-Z a-z 0-9 _ . -")
    return {name: _check(inner, place.at(name).below()) for name, inner in properties.items()}


def _check_required(value: object, place: _Place) -> object:
    names = _check_list(value, place, at_least=0, at_most=MAX_PROPERTIES)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise place.fault("must be a list of names, each once")
    return names


def _check_rest(value: object, place: _Place) -> object:
    return value if isinstance(value, bool) else _check_inner(value, place)


def _check_inner(value: object, place: _Place) -> object:
    return _check(value, place.below())


def _check_branches(value: object, place: _Place) -> object:
    branches = _check_list(value, place, at_most=MAX_BRANCHES)
    return [_check(branch, place.at(index).below()) for index, branch in enumerate(branches)]


def _check_choices(value: object, place: _Place) -> object:
    choices = _check_list(value, place, at_most=MAX_CHOICES)
    return [_check_choice(choice, place.at(index)) for index, choice in enumerate(choices)]


def _check_choice(value: object, place: _Place) -> object:
    if isinstance(value, list | dict):
        raise place.fault("must be a text, a number, true, false or null")
    if not _is_visible(value):
        raise place.fault("holds characters that nobody sees")
    return value


def _check_text(value: object, place: _Place) -> object:
    if not isinstance(value, str):
        raise place.fault("must be a text")
    return clean_description(value)


def _check_number(value: object, place: _Place) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise place.fault("must be a number")
    return value


def _check_count(value: object, place: _Place) -> object:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise place.fault("must be a whole number from 0 up")
    return value


def _keep(value: object, _place: _Place) -> object:
    return value


def _check_list(value: object, place: _Place, *, at_least: int = 1, at_most: int) -> list[object]:
    if not isinstance(value, list) or not at_least <= len(cast("list[object]", value)) <= at_most:
        raise place.fault(f"must be a list of {at_least} to {at_most} members")
    return list(cast("list[object]", value))


def _is_visible(value: object) -> bool:
    if isinstance(value, dict):
        return all(_is_visible(item) for pair in cast("dict[str, object]", value).items() for item in pair)
    if isinstance(value, list):
        return all(_is_visible(item) for item in cast("list[object]", value))
    return not isinstance(value, str) or not strip_invisible(value)[1]


_CHECKS: dict[str, Callable[[object, _Place], object]] = {
    "type": _check_type,
    "properties": _check_properties,
    "required": _check_required,
    "additionalProperties": _check_rest,
    "items": _check_inner,
    "anyOf": _check_branches,
    "enum": _check_choices,
    "const": _check_choice,
    "description": _check_text,
    "title": _check_text,
    "default": _keep,
    "minimum": _check_number,
    "maximum": _check_number,
    "exclusiveMinimum": _check_number,
    "exclusiveMaximum": _check_number,
    "minLength": _check_count,
    "maxLength": _check_count,
    "minItems": _check_count,
    "maxItems": _check_count,
}
