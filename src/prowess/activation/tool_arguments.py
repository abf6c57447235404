"""The arguments of a tool call, checked, with complaints that a model can act on."""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from prowess.activation.tools import Schema, Tool
from prowess.errors import ToolInputError
from prowess.skill.deception import make_printable

__all__ = ["parse_arguments"]

_MAX_CHARACTERS = 100_000
"""Of one argument."""
_MAX_ITEMS = 1_000
"""Of one argument that is a list."""
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
"""JSON can spell it by an escape, but it cannot be stored or sent on."""


def parse_arguments(tool: Tool, arguments: Mapping[str, object] | str) -> dict[str, Any]:
    """Return the arguments of a call, checked against the tool's schema; some providers send them as JSON text.

    A text may be none of those that the schema enumerates: who takes it knows which are meant by the time of the call,
    and answers with a list of those.
    """
    given = _decode(tool, arguments) if isinstance(arguments, str) else _check_object(tool, arguments)
    properties = cast("dict[str, Schema]", tool.schema["properties"])
    unknown = [key for key in given if key not in properties]
    if unknown:
        raise _wrong(tool, f"no argument '{make_printable(str(unknown[0])[:64])}'")
    for key in cast("list[str]", tool.schema["required"]):
        if given.get(key) is None:
            raise _wrong(tool, f"the argument '{key}' is missing")
    return {key: _check(tool, key, value, properties[key]) for key, value in given.items() if value is not None}


def _decode(tool: Tool, text: str) -> Mapping[str, object]:
    try:
        value: object = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise _wrong(tool, "the arguments are not valid JSON") from error
    return _check_object(tool, value)


def _check_object(tool: Tool, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise _wrong(tool, "the arguments are not a JSON object")
    return cast("Mapping[str, object]", value)


def _check(tool: Tool, key: str, value: object, schema: Schema) -> object:
    if schema["type"] == "integer":
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise _wrong(tool, f"'{key}' must be a whole number from 1 up")
        return value
    if schema["type"] == "object":
        if not isinstance(value, dict):
            raise _wrong(tool, f"'{key}' must be an object")
        return cast("dict[str, object]", value)
    if schema["type"] == "array":
        if not isinstance(value, list) or not all(isinstance(item, str) for item in cast("list[object]", value)):
            raise _wrong(tool, f"'{key}' must be a list of texts")
        items = cast("list[object]", value)
        if len(items) > _MAX_ITEMS:
            raise _wrong(tool, f"'{key}' has more than {_MAX_ITEMS:,} items")
        return [_check_text(tool, key, item) for item in items]
    return _check_text(tool, key, value)


def _check_text(tool: Tool, key: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(tool, f"'{key}' must be a text")
    if _HALF_CHARACTER.search(value):
        raise _wrong(tool, f"'{key}' holds half of a character, which no text can")
    if len(value) > _MAX_CHARACTERS:
        raise _wrong(tool, f"'{key}' has more than {_MAX_CHARACTERS:,} characters")
    return value


def _wrong(tool: Tool, what: str) -> ToolInputError:
    properties = cast("dict[str, Schema]", tool.schema["properties"])
    required = cast("list[str]", tool.schema["required"])
    wants = ", ".join(
        f"{key}{'' if key in required else ' (optional)'}: {properties[key]['type']}" for key in properties
    )
    return ToolInputError(f"{tool.name}: {what}", hint=f"arguments: {wants}", code="bad-arguments")
