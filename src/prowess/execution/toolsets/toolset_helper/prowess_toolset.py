"""Tools that a skill brings: what their authors write with, and what serves them inside a sandbox.

    from prowess_toolset import Toolset, tool

    class MyToolset(Toolset):
        @tool
        def add(self, a: int, b: int = 1) -> int:
            '''Add two numbers.

            a: the first number
            b: the second number
            '''
            return a + b

A SKILL.md names it as `toolsets: ["toolsets/index:MyToolset"]`. A model is offered each marked method; what it may pass
is said by the type hints. Raise `ToolError` to tell the model what to do differently.

`python3 -m prowess_toolset`, in the folder of the skill, answers the request in the file that PROWESS_INPUT names with
`reply.json` in the folder that PROWESS_OUTPUT names. This file stands alone: it needs Python 3.8 and nothing else.
"""
# ruff: noqa: UP006, UP035 - Python 3.8 knows no newer spelling

from __future__ import annotations

import collections.abc
import contextlib
import dataclasses
import datetime as dt
import enum
import importlib.util
import inspect
import json
import math
import os
import re
import sys
import traceback
import types
import typing
from pathlib import Path, PurePath
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple, TypeVar, cast

__all__ = ["ToolError", "Toolset", "call_tool", "list_tools", "tool"]

PROTOCOL = 1
REPLY_FILE = "reply.json"
MAX_TOOLS = 64
MAX_DEPTH = 8
"""Of a schema; its outermost object is the first level."""
MAX_PROPERTIES = 64
MAX_CHOICES = 250
MAX_BRANCHES = 16
MAX_SCHEMA_BYTES = 32 * 1024
MAX_LISTING_BYTES = 256 * 1024
MAX_RESULT_BYTES = 1_000_000
MAX_RESULT_DEPTH = 60
MAX_MESSAGE_CHARACTERS = 2_000

_MARK = "__prowess_tool__"
_NOTHING: Any = object()
_REFERENCE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_-]*(?:/[A-Za-z0-9_][A-Za-z0-9_-]*)*):([A-Za-z_][A-Za-z0-9_]*)")
_TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
_PROPERTY_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_ARGUMENT_LINE = re.compile(r"\s*(?::param\s+)?(\w+)(?:\s*\([^)]*\))?\s*:\s+(\S.*)")
_HEADINGS = ("args:", "arguments:", "parameters:")

_T = TypeVar("_T")


class ToolError(Exception):
    """What the model is told: a sentence that lets it try something else."""


class Toolset:
    """A set of tools: the methods marked with `tool`. One is made, without arguments, for each call."""


def tool(method: _T) -> _T:
    """Mark a method as a tool."""
    setattr(method, _MARK, True)
    return method


def list_tools(toolset: type) -> List[Dict[str, Any]]:
    """Return name, description and schema of each tool, in the order in which they were written."""
    found = [_describe(name, member) for name, member in _find_methods(toolset).items()]
    if not found:
        raise _Fault(f"{toolset.__name__} has no method that is marked with @tool")
    if len(found) > MAX_TOOLS:
        raise _Fault(f"{toolset.__name__} has {len(found)} tools, more than {MAX_TOOLS}")
    return found


def call_tool(toolset: type, name: str, arguments: Any) -> Any:
    """Return what a tool returns, as JSON; raise whatever it raises."""
    methods = _find_methods(toolset)
    if name not in methods:
        raise _BadRequest(f"no tool {name!r}; there are: {', '.join(methods)}")
    form = _make_signature_form(name, methods[name])[0]
    try:
        values = form.convert(arguments, "")
    except _BadRequest as error:
        raise _BadRequest(f"{name}: {error}") from None
    result = getattr(toolset(), name)(**values)
    if inspect.isawaitable(result):
        import asyncio

        result = asyncio.run(_wait_for(result))
    return _to_json(result, "the result", 0)


async def _wait_for(result: Any) -> Any:
    return await result


class _Fault(Exception):
    """A toolset that cannot be served, said to its author."""

    kind = "crash"


class _BadRequest(_Fault):
    """A request that cannot be answered."""

    kind = "request"


# The methods of a toolset


def _find_methods(toolset: type) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for owner in reversed(toolset.__mro__):
        for name, member in vars(owner).items():
            if True in (getattr(member, _MARK, None), getattr(getattr(member, "__func__", None), _MARK, None)):
                found[name] = member
            else:
                found.pop(name, None)  # A subclass has written it anew, without the mark.
    return found


def _describe(name: str, member: Any) -> Dict[str, Any]:
    if not _TOOL_NAME.fullmatch(name):
        raise _Fault(f"{name}: a tool's name has up to 40 letters, digits and _, and begins with a letter")
    form, description = _make_signature_form(name, member)
    if len(_encode(form.schema)) > MAX_SCHEMA_BYTES:
        raise _Fault(f"{name}: the schema of its arguments has more than {MAX_SCHEMA_BYTES:,} bytes")
    return {"name": name, "description": description, "schema": form.schema}


def _make_signature_form(name: str, member: Any) -> Tuple[_Form, str]:
    """Return the form of a method's arguments, and what its docstring says besides them."""
    function = getattr(member, "__func__", member)
    if not callable(function):
        raise _Fault(f"{name}: only methods can be tools")
    hints = _read_hints(function, name)
    parameters = list(inspect.signature(function).parameters.values())
    if not isinstance(member, staticmethod):
        parameters = parameters[1:]
    description, abouts = _read_docstring(function.__doc__, [parameter.name for parameter in parameters])
    fields: List[_Field] = []
    for parameter in parameters:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise _Fault(f"{name}: {parameter} has no name to call it by; a tool takes named arguments only")
        default = _NOTHING if parameter.default is parameter.empty else parameter.default
        hint = hints.get(parameter.name, Any)
        fields.append(_Field(parameter.name, hint, default is _NOTHING, default, abouts.get(parameter.name, "")))
    return _make_object_form(fields, f"{name}: ", (), dict), description


def _read_hints(thing: Any, where: str) -> Dict[str, Any]:
    extras: Dict[str, Any] = {"include_extras": True} if sys.version_info >= (3, 9) else {}
    try:
        return typing.get_type_hints(thing, **extras)
    except Exception as error:
        raise _Fault(f"{where}: a type hint cannot be read: {_say(error)}") from error


def _read_docstring(text: Any, names: Sequence[str]) -> Tuple[str, Dict[str, str]]:
    """Return a docstring without its lines `name: text`, and these lines by their names."""
    kept: List[str] = []
    abouts: Dict[str, str] = {}
    current, current_indent = "", 0
    for line in inspect.cleandoc(text or "").splitlines():
        said, indent = line.strip(), len(line) - len(line.lstrip())
        found = _ARGUMENT_LINE.fullmatch(line)
        if found and found[1] in names:
            current, current_indent = found[1], indent
            abouts[current] = found[2].strip()
        elif current and said and indent > current_indent:
            abouts[current] += " " + said
        else:
            current = ""
            kept += [] if said.lower() in _HEADINGS else [line.rstrip()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), abouts


# What type hints say


class _Form(NamedTuple):
    """What a hint says: the schema of a value, and the way from JSON to what the method takes."""

    schema: Dict[str, Any]
    convert: Callable[[Any, str], Any]
    """Takes the value, and where it stands; raises `_BadRequest` for one that does not fit."""


class _Field(NamedTuple):
    """A member of an object, or an argument."""

    name: str
    hint: Any
    required: bool
    default: Any = _NOTHING
    about: str = ""


_SCALARS: Tuple[Tuple[type, str, str, Tuple[type, ...]], ...] = (
    (str, "string", "a text", (str,)),
    (int, "integer", "a whole number", (int,)),
    (float, "number", "a number", (int, float)),
    (bool, "boolean", "true or false", (bool,)),
    (type(None), "null", "null", (type(None),)),
)


def _make_form(hint: Any, where: str, outer: Tuple[Any, ...]) -> _Form:
    """Return the form of a hint that stands inside these others."""
    while hasattr(hint, "__supertype__") or hasattr(hint, "__value__"):  # A NewType, or a name for another type.
        hint = hint.__supertype__ if hasattr(hint, "__supertype__") else hint.__value__
    if hasattr(hint, "__metadata__"):  # Annotated
        form = _make_form(hint.__origin__, where, outer)
        texts = [text for text in hint.__metadata__ if isinstance(text, str)]
        return form._replace(schema={**form.schema, "description": texts[0]}) if texts else form
    if len(outer) >= MAX_DEPTH - 1:
        raise _Fault(f"{where}: its type is nested deeper than {MAX_DEPTH} levels")
    if hint is Any or hint is object:
        return _Form({}, _keep)
    for scalar, name, said, accepted in _SCALARS:
        if hint is scalar or (hint is None and scalar is type(None)):
            return _make_scalar_form(name, said, accepted)
    origin = typing.get_origin(hint) or hint
    for known, make in _MAKERS:
        if origin is known:
            return make(hint, where, outer)
    return _make_class_form(hint, where, outer)


def _make_class_form(kind: Any, where: str, outer: Tuple[Any, ...]) -> _Form:
    if _is_kind_of(kind, enum.Enum):
        return _make_choice_form([(_enum_to_json(member), member) for member in kind], where)
    if any(kind is other for other in outer):
        raise _Fault(f"{where}: {kind.__name__} holds itself, which the schema of a tool cannot say")
    if _is_kind_of(kind, object) and hasattr(kind, "__dataclass_fields__"):
        return _make_object_form(_read_dataclass(kind, where), where, (*outer, kind), lambda values: kind(**values))
    if _is_kind_of(kind, dict) and hasattr(kind, "__total__"):
        return _make_object_form(_read_typed_dict(kind, where), where, (*outer, kind), dict)
    raise _unsupported(kind, where)


def _is_kind_of(hint: Any, base: type) -> bool:
    return isinstance(hint, type) and typing.get_origin(hint) is None and issubclass(hint, base)


def _unsupported(hint: Any, where: str) -> _Fault:
    return _Fault(
        f"{where}: the type {getattr(hint, '__name__', hint)} is not supported; use str, int, float, bool, None, Any, "
        "lists, dicts with keys of type str, Optional, Union, Literal, an Enum, a dataclass or a TypedDict"
    )


def _make_scalar_form(name: str, said: str, accepted: Tuple[type, ...]) -> _Form:
    def convert(value: Any, where: str) -> Any:
        if name == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)  # JSON knows one kind of number.
        if not isinstance(value, accepted) or (isinstance(value, bool) and bool not in accepted):
            raise _BadRequest(f"'{where}' must be {said}")
        return value

    return _Form({"type": name}, convert)


def _keep(value: Any, _where: str) -> Any:
    return value


def _make_list_form(hint: Any, where: str, outer: Tuple[Any, ...]) -> _Form:
    parts = typing.get_args(hint)
    inner = _make_form(parts[0] if parts else Any, where, (*outer, hint))

    def convert(value: Any, where: str) -> Any:
        if not isinstance(value, list):
            raise _BadRequest(f"'{where}' must be a list")
        items = cast("List[Any]", value)
        return [inner.convert(item, f"{where}[{index}]") for index, item in enumerate(items)]

    return _Form({"type": "array", "items": inner.schema} if parts else {"type": "array"}, convert)


def _make_dict_form(hint: Any, where: str, outer: Tuple[Any, ...]) -> _Form:
    parts = typing.get_args(hint)
    if parts and parts[0] is not str and parts[0] is not Any:
        raise _unsupported(hint, where)
    inner = _make_form(parts[1] if parts else Any, where, (*outer, hint))

    def convert(value: Any, where: str) -> Any:
        members = _need_object(value, where)
        return {key: inner.convert(item, f"{where}.{key}") for key, item in members.items()}

    return _Form({"type": "object", "additionalProperties": inner.schema or True}, convert)


def _make_union_form(hint: Any, where: str, outer: Tuple[Any, ...]) -> _Form:
    parts = typing.get_args(hint)
    members = [part for part in parts if part is not type(None)]
    if not 0 < len(members) < MAX_BRANCHES:
        raise _Fault(f"{where}: a type of {len(members)} others; there must be fewer than {MAX_BRANCHES}")
    forms = [_make_form(part, where, (*outer, hint)) for part in members]
    if len(forms) == 1:
        return _or_null(forms[0])

    def convert(value: Any, where: str) -> Any:
        for form in forms:
            with contextlib.suppress(_BadRequest):
                return form.convert(value, where)
        raise _BadRequest(f"'{where}' is of none of the types that it may have")

    either = _Form({"anyOf": [form.schema for form in forms]}, convert)
    return either if len(members) == len(parts) else _or_null(either)


def _or_null(form: _Form) -> _Form:
    """Return the form that takes null as well."""
    schema = dict(form.schema)
    if "type" in schema:
        names = cast("List[str]", schema["type"] if isinstance(schema["type"], list) else [schema["type"]])
        schema["type"] = [*(name for name in names if name != "null"), "null"] if names != ["null"] else "null"
        if "enum" in schema and None not in schema["enum"]:
            schema["enum"] = [*schema["enum"], None]
    elif "anyOf" in schema:
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]

    def convert(value: Any, where: str) -> Any:
        return None if value is None else form.convert(value, where)

    return _Form(schema, convert)


def _make_literal_form(hint: Any, where: str, _outer: Tuple[Any, ...]) -> _Form:
    pairs = [(_enum_to_json(part) if isinstance(part, enum.Enum) else part, part) for part in typing.get_args(hint)]
    if not all(value is None or _is_plain(value) for value, _ in pairs):
        raise _unsupported(hint, where)
    return _make_choice_form(pairs, where)


def _make_choice_form(pairs: Sequence[Tuple[Any, Any]], where: str) -> _Form:
    """Return the form for one of some values, each given as JSON and as what the method takes."""
    if not 0 < len(pairs) < MAX_CHOICES:  # Room is left for null.
        raise _Fault(
            f"{where}: {len(pairs)} values to choose from; there must be 1 at least, and fewer than {MAX_CHOICES}"
        )
    values = [value for value, _ in pairs]
    names = [next(name for scalar, name, _, _ in _SCALARS if type(value) is scalar) for value in values]
    types = list(dict.fromkeys(names))

    def convert(value: Any, where: str) -> Any:
        for known, meant in pairs:
            if isinstance(value, bool) is isinstance(known, bool) and value == known:
                return meant
        raise _BadRequest(f"'{where}' must be one of: {', '.join(map(json.dumps, values))}")

    return _Form({"type": types[0] if len(types) == 1 else types, "enum": values}, convert)


def _make_object_form(
    fields: Sequence[_Field], where: str, outer: Tuple[Any, ...], make: Callable[[Dict[str, Any]], Any]
) -> _Form:
    if len(fields) > MAX_PROPERTIES:
        raise _Fault(f"{where.rstrip(': ')}: {len(fields)} members; there may be {MAX_PROPERTIES}")
    forms = {field.name: _make_field_form(field, _join(where, field.name), outer) for field in fields}
    required = [field.name for field in fields if field.required]

    def convert(value: Any, where: str) -> Any:
        members = _need_object(value, where or "arguments")
        for name in members:
            if name not in forms:
                raise _BadRequest(f"no argument {_join(where, name)!r}")
        for name in required:
            if name not in members:
                raise _BadRequest(f"'{_join(where, name)}' is missing")
        return make({name: forms[name].convert(item, _join(where, name)) for name, item in members.items()})

    properties = {name: form.schema for name, form in forms.items()}
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return _Form(schema, convert)


def _make_field_form(field: _Field, where: str, outer: Tuple[Any, ...]) -> _Form:
    if not _PROPERTY_NAME.fullmatch(field.name):
        raise _Fault(f"{where}: a name has up to 64 of the characters A-Z a-z 0-9 _ . -")
    form = _make_form(field.hint, where, outer)
    if field.default is None:
        form = _or_null(form)
    schema = dict(form.schema)
    if field.about:
        schema.setdefault("description", field.about)
    default = _enum_to_json(field.default) if isinstance(field.default, enum.Enum) else field.default
    if _is_scalar(default):
        schema["default"] = default
    return form._replace(schema=schema)


def _read_dataclass(hint: Any, where: str) -> List[_Field]:
    hints = _read_hints(hint, where)
    if any(isinstance(found, dataclasses.InitVar) for found in hints.values()):
        raise _Fault(f"{where}: a dataclass with an InitVar is not supported")
    _, abouts = _read_docstring(hint.__dict__.get("__doc__"), list(hints))
    found: List[_Field] = []
    for field in dataclasses.fields(hint):
        if field.init:
            default = _NOTHING if field.default is dataclasses.MISSING else field.default
            required = default is _NOTHING and field.default_factory is dataclasses.MISSING
            about = str(field.metadata.get("description", "")) or abouts.get(field.name, "")
            found.append(_Field(field.name, hints[field.name], required, default, about))
    return found


def _read_typed_dict(hint: Any, where: str) -> List[_Field]:
    hints = _read_hints(hint, where)
    _, abouts = _read_docstring(hint.__doc__, list(hints))
    required = getattr(hint, "__required_keys__", hints if hint.__total__ else ())
    found: List[_Field] = []
    for name, given in hints.items():
        inner, needed = given, name in required
        while getattr(typing.get_origin(inner), "_name", "") in ("Required", "NotRequired", "ReadOnly"):
            marker: str = getattr(typing.get_origin(inner), "_name", "")
            needed = {"Required": True, "NotRequired": False}.get(marker, needed)  # Not yet known where hints are text.
            inner = typing.get_args(inner)[0]
        found.append(_Field(name, inner, needed, _NOTHING, abouts.get(name, "")))
    return found


_MAKERS: Tuple[Tuple[Any, Callable[[Any, str, Tuple[Any, ...]], _Form]], ...] = (
    (typing.Union, _make_union_form),
    (getattr(types, "UnionType", typing.Union), _make_union_form),
    (typing.Literal, _make_literal_form),
    (list, _make_list_form),
    (collections.abc.Sequence, _make_list_form),
    (dict, _make_dict_form),
    (collections.abc.Mapping, _make_dict_form),
)


def _need_object(value: Any, where: str) -> Dict[str, Any]:
    if not isinstance(value, dict):
        raise _BadRequest(f"'{where}' must be an object")
    return cast("Dict[str, Any]", value)


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where and not where.endswith(" ") else where + name


# What comes back


def _to_json(value: Any, where: str, level: int) -> Any:
    """Return a result in the types that JSON has."""
    if level > MAX_RESULT_DEPTH:
        raise _Fault(f"{where} is nested too deeply, or holds itself")
    if isinstance(value, enum.Enum):
        return _enum_to_json(value)
    if _is_scalar(value):
        return value
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        members = cast("Dict[Any, Any]", value)
        return {_to_key(key, where): _to_json(item, f"{where}.{key}", level + 1) for key, item in members.items()}
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[Any]", value)
        return [_to_json(item, f"{where}[{index}]", level + 1) for index, item in enumerate(items)]
    if isinstance(value, (set, frozenset)):
        return sorted((_to_json(item, where, level + 1) for item in cast("typing.Set[Any]", value)), key=json.dumps)
    if isinstance(value, float):
        raise _Fault(f"{where} is {value}, which JSON has no number for")
    raise _Fault(
        f"{where} is of the type {type(value).__name__}, which JSON cannot hold; return text, numbers or dicts"
    )


def _to_key(key: Any, where: str) -> str:
    plain = key if isinstance(key, str) else _to_json(key, f"a key in {where}", 0)
    if isinstance(plain, (bool, float)) or not isinstance(plain, (str, int)):
        raise _Fault(f"{where} has a key of the type {type(key).__name__}; keys must be text")
    return str(plain)


def _is_scalar(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, (bool, int, str))


def _enum_to_json(member: enum.Enum) -> Any:
    """Return the member's value; its name, if the values of its kind are no plain ones."""
    return member.value if all(_is_plain(other.value) for other in type(member)) else member.name


def _is_plain(value: Any) -> bool:
    return type(value) in (str, int, float, bool) and _is_scalar(value)


# Requests and replies


def main() -> int:
    """Answer the request; the status is 0 whenever a reply was written."""
    folder = os.environ.get("PROWESS_OUTPUT")
    if not folder:
        sys.stderr.write("prowess_toolset: PROWESS_OUTPUT names no folder for the reply\n")
        return 2
    place = Path(folder, REPLY_FILE)
    unfinished = place.with_name(f".{REPLY_FILE}.{os.getpid()}")
    unfinished.write_bytes(_make_reply())
    unfinished.replace(place)
    return 0


def _make_reply() -> bytes:
    try:
        with contextlib.redirect_stdout(sys.stderr):  # What an author prints is no reply.
            return _answer(_read_request())
    except ToolError as error:
        return _refuse("tool", _say(error))
    except _Fault as error:
        return _refuse(error.kind, _say(error))
    except BaseException as error:  # noqa: BLE001 - an author's code may raise anything, and call sys.exit
        traceback.print_exc()
        said = _say(error)
        return _refuse("crash", f"{type(error).__name__}: {said}" if said else type(error).__name__)


def _read_request() -> Dict[str, Any]:
    file = os.environ.get("PROWESS_INPUT", "")
    try:
        request: Any = json.loads(Path(file).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _BadRequest(f"PROWESS_INPUT names no file with a request: {_say(error)}") from error
    if not isinstance(request, dict):
        raise _BadRequest("the request is no object")
    return cast("Dict[str, Any]", request)


def _answer(request: Dict[str, Any]) -> bytes:
    if request.get("protocol") != PROTOCOL:
        raise _BadRequest(f"only protocol {PROTOCOL} is spoken here")
    if request.get("do") not in ("list", "call"):
        raise _BadRequest("'do' must be list or call")
    toolset = _load(request.get("toolset"))
    if request["do"] == "list":
        reply, limit = _encode({"protocol": PROTOCOL, "tools": list_tools(toolset)}), MAX_LISTING_BYTES
    else:
        result = call_tool(toolset, str(request.get("tool")), request.get("arguments", {}))
        reply, limit = _encode({"protocol": PROTOCOL, "result": result}), MAX_RESULT_BYTES
    if len(reply) > limit:
        raise _Fault(f"the reply has {len(reply):,} bytes, more than {limit:,}; return less, or write a file")
    return reply


def _load(reference: Any) -> type:
    """Return the class that a reference names, from a file below the working folder."""
    found = _REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
    if not found:
        raise _BadRequest(f"{reference!r} is no reference such as toolsets/index:MyToolset")
    path, name = found.groups()
    skill = Path.cwd()
    file = next((file for file in (skill / f"{path}.py", skill / path / "__init__.py") if file.is_file()), None)
    if file is None:
        raise _BadRequest(f"there is no {path}.py and no {path}/__init__.py")
    sys.path[:0] = [folder for folder in (str(skill), str(file.parent)) if folder not in sys.path]
    toolset = getattr(_import(path, file), name, None)
    if not isinstance(toolset, type):
        raise _BadRequest(f"{file.relative_to(skill)} has no class {name}")
    return toolset


def _import(path: str, file: Path) -> Any:
    name = path.replace("/", ".")
    if name in sys.modules:  # A file named like a module of Python's must not replace it.
        name = f"toolset_of_skill.{name}"
    folders = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folders)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Dataclasses and type hints look for their module there.
    spec.loader.exec_module(module)
    return module


def _refuse(kind: str, message: str) -> bytes:
    if len(message) > MAX_MESSAGE_CHARACTERS:
        message = message[: MAX_MESSAGE_CHARACTERS - 1] + "…"
    return _encode({"protocol": PROTOCOL, "error": {"kind": kind, "message": message}})


def _say(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as another:  # noqa: BLE001 - an author's exception may fail to say what it is
        return f"(it cannot be told: {type(another).__name__})"


def _encode(value: Any) -> bytes:
    """Return JSON in UTF-8, with a question mark for each half of a character."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")


if __name__ == "__main__":
    sys.modules["prowess_toolset"] = sys.modules["__main__"]  # Authors must import this ToolError, not a second one.
    sys.exit(main())
