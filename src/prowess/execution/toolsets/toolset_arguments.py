"""The arguments of a call to a tool that a skill brings, checked, with complaints that a model can act on."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from prowess.errors import ToolInputError
from prowess.execution.toolsets.toolset_schemas import CUT, Schema, find_flaw, show

__all__ = ["check_arguments"]

_MAX_SHOWN_CHOICES = 32
_MAX_HINT_CHARACTERS = 4_000
_BOUNDS: tuple[tuple[str, str, Callable[[float, float], bool]], ...] = (
    ("minimum", "at least", operator.ge),
    ("exclusiveMinimum", "more than", operator.gt),
    ("maximum", "at most", operator.le),
    ("exclusiveMaximum", "less than", operator.lt),
)
_SPOKEN = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def check_arguments(schema: Schema, arguments: Mapping[str, object] | str, *, tool: str) -> dict[str, Any]:
    """Return the arguments of a call, checked by a schema that `check_schema` has passed.

    Some providers send them as JSON text. A null for an optional argument that takes none counts as left out. Raise a
    `ToolInputError` that says the first fault.
    """
    given = _decode(arguments) if isinstance(arguments, str) else dict(arguments)
    complaint = given if isinstance(given, str) else _find_complaint(schema, given)
    if isinstance(given, str) or complaint:
        raise ToolInputError(f"{tool}: {complaint}", hint=_describe_arguments(schema), code="bad-arguments")
    return given


def _decode(text: str) -> dict[str, Any] | str:
    import json

    try:
        value: object = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return "the arguments are not valid JSON"
    return cast("dict[str, Any]", value) if isinstance(value, dict) else "the arguments are not a JSON object"


def _find_complaint(schema: Schema, given: dict[str, Any]) -> str | None:
    flaw = find_flaw(given)
    if flaw:
        return f"'{flaw[0] or 'arguments'}' {flaw[1]}"
    for name in [name for name, value in given.items() if value is None and name not in schema["required"]]:
        if name in schema["properties"] and _find_fault(schema["properties"][name], None, name):
            del given[name]
    return _find_fault(schema, given, "")


def _find_fault(schema: Schema, value: object, where: str) -> str | None:
    """Return what is wrong with a value, as the end of a sentence to a model; None if nothing is."""
    if not _has_type(schema, value):
        return f"'{where}' must be {_speak(schema)}"
    if "enum" in schema and not any(_same(value, choice) for choice in schema["enum"]):
        return f"'{where}' must be one of: {_list_choices(schema['enum'])}"
    if "const" in schema and not _same(value, schema["const"]):
        return f"'{where}' must be {_list_choices([schema['const']])}"
    if "anyOf" in schema:
        fault = _find_branch_fault(schema["anyOf"], value, where)
        if fault:
            return fault
    match value:
        case bool() | None:
            return None
        case int() | float():
            return _find_bound(schema, value, where)
        case str():
            return _find_count(schema, len(value), where, ("minLength", "maxLength", "characters"))
        case list():
            return _find_item_fault(schema, cast("list[object]", value), where)
        case _:
            return _find_member_fault(schema, cast("dict[str, object]", value), where)


def _has_type(schema: Schema, value: object) -> bool:
    types = schema.get("type", list(_SPOKEN))
    return any(_is_of(name, value) for name in ([types] if isinstance(types, str) else types))


def _is_of(name: str, value: object) -> bool:
    match value:
        case None:
            return name == "null"
        case bool():
            return name == "boolean"
        case int():
            return name in ("integer", "number")
        case float():
            return name == "number" or (name == "integer" and value.is_integer())
        case str():
            return name == "string"
        case list():
            return name == "array"
        case _:
            return name == "object"


def _same(value: object, other: object) -> bool:
    """Whether two values are equal in JSON, where true is not 1, but 1.0 is."""
    return isinstance(value, bool) is isinstance(other, bool) and value == other


def _find_branch_fault(branches: Sequence[Schema], value: object, where: str) -> str | None:
    faults = [_find_fault(branch, value, where) for branch in branches]
    if None in faults:
        return None
    meant = [fault for branch, fault in zip(branches, faults, strict=True) if _has_type(branch, value)]
    return meant[0] if len(meant) == 1 else f"'{where}' must be {_join_with_or(map(_speak, branches))}"


def _find_bound(schema: Schema, value: float, where: str) -> str | None:
    for keyword, said, holds in _BOUNDS:
        if keyword in schema and not holds(value, schema[keyword]):
            return f"'{where}' must be {said} {schema[keyword]}"
    return None


def _find_count(schema: Schema, count: int, where: str, words: tuple[str, str, str]) -> str | None:
    least, most, what = words
    if count < schema.get(least, 0):
        return f"'{where}' must have at least {schema[least]} {what}"
    if most in schema and count > schema[most]:
        return f"'{where}' must have at most {schema[most]} {what}"
    return None


def _find_item_fault(schema: Schema, items: Sequence[object], where: str) -> str | None:
    fault = _find_count(schema, len(items), where, ("minItems", "maxItems", "items"))
    if fault or "items" not in schema:
        return fault
    faults = (_find_fault(schema["items"], item, f"{where}[{index}]") for index, item in enumerate(items))
    return next((fault for fault in faults if fault), None)


def _find_member_fault(schema: Schema, members: Mapping[str, object], where: str) -> str | None:
    properties: Schema = schema.get("properties", {})
    rest: Schema | bool = schema.get("additionalProperties", True)
    inside = f"{where}." if where else ""
    for name in members:
        if name not in properties and rest is False:
            return f"no argument '{inside}{show(name)}'"
    for name in schema.get("required", []):
        if name not in members:
            return f"'{inside}{name}' is missing" if where else f"the argument '{name}' is missing"
    for name, value in members.items():
        inner = properties.get(name, {} if isinstance(rest, bool) else rest)
        fault = _find_fault(inner, value, f"{inside}{show(name)}")
        if fault:
            return fault
    return None


# Words


def _speak(schema: Schema) -> str:
    """Return what a value must be, as a model reads it in a complaint."""
    if "enum" in schema:
        return f"one of: {_list_choices(schema['enum'])}"
    types = schema.get("type")
    if types is None:
        return _join_with_or(map(_speak, schema["anyOf"])) if "anyOf" in schema else "any value"
    return _join_with_or(_SPOKEN[name] for name in ([types] if isinstance(types, str) else types))


def _describe_arguments(schema: Schema) -> str:
    properties: dict[str, Schema] = schema["properties"]
    wants = [
        f"{name}{'' if name in schema['required'] else ' (optional)'}: {_name_type(inner)}"
        for name, inner in properties.items()
    ]
    hint = f"arguments: {', '.join(wants) or 'none'}"
    return hint if len(hint) <= _MAX_HINT_CHARACTERS else hint[: _MAX_HINT_CHARACTERS - len(CUT)] + CUT


def _name_type(schema: Schema) -> str:
    if "enum" in schema:
        return f"one of {_list_choices(schema['enum'])}"
    if "anyOf" in schema:
        return _join_with_or(map(_name_type, schema["anyOf"]))
    types = schema.get("type", "anything")
    said = types if isinstance(types, str) else _join_with_or(types)
    return f"{said} of {_name_type(schema['items'])}" if said == "array" and schema.get("items") else said


def _join_with_or(words: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(words))


def _list_choices(choices: Sequence[object]) -> str:
    import json

    shown = [show(json.dumps(choice, ensure_ascii=False)) for choice in choices[:_MAX_SHOWN_CHOICES]]
    return ", ".join(shown) + (f", … ({len(choices)} in all)" if len(choices) > len(shown) else "")
