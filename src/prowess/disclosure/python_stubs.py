"""Stubs of Python functions, made from the JSON Schemas of tools: what a model that writes code is told of them."""

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from prowess.disclosure.instructions import defuse
from prowess.skill.deception import make_printable, strip_invisible

__all__ = ["MAX_STUBS", "Stub", "is_python_name", "order_parameters", "render_stub", "render_stubs"]

MAX_STUBS = 200
MAX_TEXT_CHARACTERS = 2_000
"""Of what a stub says of one function, and again of one parameter."""
MAX_CHOICES = 50
"""Values that a type lists."""
MAX_DEPTH = 8
"""Types within types."""
_CUT = "… (cut)"
_TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}
_ANYTHING = "object"
_ENDING_QUOTE = re.compile(r'"(?="|\Z)')

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stub:
    """A function as it is shown: a name that Python takes, what it is for, and the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Schema = field(default_factory=dict[str, Any])


def is_python_name(name: str) -> bool:
    """Whether code can call a function by this name, or give an argument by it."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def order_parameters(schema: Schema) -> tuple[str, ...]:
    """Return the names of the arguments in the order in which a stub has them: what must be given comes first.

    Names that Python does not take are not among them; such arguments are given as `**{"the-name": value}`.
    """
    named = [name for name in _properties(schema) if is_python_name(name)]
    required = _required(schema)
    return tuple(sorted(named, key=lambda name: name not in required))


def render_stubs(stubs: Sequence[Stub]) -> str:
    """Return the functions that code can call, one below the other; those whose names Python does not take are skipped.

    Where there are too many, the last line says how many are not shown.
    """
    named = [stub for stub in stubs if is_python_name(stub.name)]
    more = len(named) - MAX_STUBS
    shown = [render_stub(stub) for stub in named[:MAX_STUBS]]
    return "\n\n".join([*shown, *([f"# … and {more:,} more functions that are not shown"] if more > 0 else [])])


def render_stub(stub: Stub) -> str:
    """Return one function as Python that does nothing: how it is called, and what it is for."""
    names = order_parameters(stub.schema)
    others = [name for name in _properties(stub.schema) if name not in names]
    parameters = [_render_parameter(name, stub.schema) for name in names]
    if others:
        parameters.append(f"**{'others' if 'others' not in names else 'other_arguments'}: object")
    lines = [f"def {stub.name}({', '.join(parameters)}) -> str:", *_render_docstring(stub, names, others)]
    return "\n".join(lines)


def _render_parameter(name: str, schema: Schema) -> str:
    inner = _properties(schema)[name]
    said = _render_type(inner)
    if name in _required(schema):
        return f"{name}: {said}"
    default = inner.get("default")
    literal = _render_literal(default)
    if default is None or literal is None:
        return f"{name}: {said}{'' if 'None' in said.split(' | ') else ' | None'} = None"
    return f"{name}: {said} = {literal}"


# Types


def _render_type(schema: Schema, depth: int = 0) -> str:
    if depth > MAX_DEPTH:
        return _ANYTHING
    if "enum" in schema or "const" in schema:
        choices = _render_choices(schema)
        if choices:
            return choices
    if isinstance(schema.get("anyOf"), list):
        branches = cast("list[object]", schema["anyOf"])
        return _join(_render_type(_schema(branch), depth + 1) for branch in branches)
    types = schema.get("type")
    names = cast("list[object]", types) if isinstance(types, list) else [types]
    return _join(_render_plain(name, schema, depth) for name in names)


def _render_plain(name: object, schema: Schema, depth: int) -> str:
    match name:
        case "array" if isinstance(schema.get("items"), dict):
            return f"list[{_render_type(_schema(schema['items']), depth + 1)}]"
        case "object" if isinstance(schema.get("additionalProperties"), dict) and not _properties(schema):
            return f"dict[str, {_render_type(_schema(schema['additionalProperties']), depth + 1)}]"
        case str():
            return _TYPES.get(name, _ANYTHING)
        case _:
            return _ANYTHING


def _render_choices(schema: Schema) -> str:
    """Return the values that there are to choose from; empty if Python has no type for them."""
    choices = cast("object", schema.get("enum", [schema.get("const")]))
    if not isinstance(choices, list) or not choices:
        return ""
    values = [_render_literal(choice) for choice in cast("list[object]", choices)]
    if len(values) > MAX_CHOICES or None in values:
        return ""
    return f"Literal[{', '.join(dict.fromkeys(value for value in values if value))}]"


def _render_literal(value: object) -> str | None:
    """Return a value as Python writes it; None for what is too long, or cannot stand in a type."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 64 else None
    if isinstance(value, str) and len(value) <= MAX_TEXT_CHARACTERS:
        return _quote(value)
    return None


def _quote(text: str) -> str:
    """Return a text as Python writes it. What would end or forge a part of the prompt is escaped: the value stays."""
    escaped = make_printable(text.replace("\\", "\\\\").replace('"', '\\"')).replace("```", r"\x60\x60\x60")
    if defuse(escaped) != escaped:
        escaped = escaped.replace("<", r"\x3c")
    return f'"{escaped}"'


def _join(types: Iterable[str]) -> str:
    found = dict.fromkeys(types)
    return _ANYTHING if _ANYTHING in found or not found else " | ".join(found)


# Texts


def _render_docstring(stub: Stub, names: Sequence[str], others: Sequence[str]) -> list[str]:
    properties = _properties(stub.schema)
    about = [f"{name}: {said}" for name in names if (said := _clean(properties[name].get("description")))]
    required = _required(stub.schema)
    for name in others:
        kind = "" if name in required else ", may be left out"
        said = _clean(properties[name].get("description"))
        about.append(f"**{{{_quote(name)}: …}} ({_render_type(properties[name])}{kind}): {said}".rstrip(": "))
    lines = _escape(_clean(stub.description) or stub.name).split("\n")
    more = [line for text in about for line in _escape(text).split("\n")]
    if not more and len(lines) == 1:
        return [f'    """{lines[0]}"""']
    whole = [f'"""{lines[0]}', *lines[1:], *([""] if more else []), *more, '"""']
    return [f"    {line}".rstrip() for line in whole]


def _clean(text: object) -> str:
    visible = strip_invisible(text)[0].strip() if isinstance(text, str) else ""
    visible = "\n".join(line.strip() for line in visible.splitlines())
    return visible if len(visible) <= MAX_TEXT_CHARACTERS else visible[: MAX_TEXT_CHARACTERS - len(_CUT)] + _CUT


def _escape(text: str) -> str:
    """Return a text that ends no docstring: backslashes are doubled, and quotes that could end it are marked."""
    return _ENDING_QUOTE.sub('\\\\"', text.replace("\\", "\\\\"))


# Schemas


def _schema(value: object) -> Schema:
    return cast("Schema", value) if isinstance(value, dict) else {}


def _properties(schema: Schema) -> dict[str, Schema]:
    return {name: _schema(inner) for name, inner in _schema(schema.get("properties")).items()}


def _required(schema: Schema) -> Sequence[str]:
    names = schema.get("required")
    return cast("list[str]", names) if isinstance(names, list) else ()
