"""Tools of the application itself, which a session offers beside those of skills, under the same rules."""

import inspect
import json
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from prowess.activation.tool_dialects import DIALECTS, wire_name
from prowess.activation.tools import Role, Schema, Tool, make_python_tool, make_tools
from prowess.errors import Refused, SettingsError
from prowess.execution.rules.rights import Rights
from prowess.execution.rules.tool_rules import Uncovered, covers_all
from prowess.execution.toolsets.toolset_arguments import check_arguments
from prowess.execution.toolsets.toolset_schemas import ToolsetFault, check_schema
from prowess.policy import AllowedTools, ToolSet
from prowess.runtime.tool_checks import check_tool
from prowess.skill.deception import make_printable
from prowess.skill.skill import Skill

__all__ = ["HostOutcome", "HostTool", "HostTools", "check_call", "taken_names"]

MAX_CONTENT_CHARACTERS = 250_000
"""Of what a tool returns, as a model reads it."""
_MAX_MESSAGE_CHARACTERS = 2_000
"""Of an exception's."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
"""What the providers take, but for the dots, which are spelled otherwise for some."""
_GROUP = "host"


@dataclass(frozen=True, slots=True)
class HostTool:
    """A tool that an application lends to a session."""

    name: str
    description: str
    call: Callable[[dict[str, Any]], object]
    """Takes the arguments by name. A text that it returns is told as it is, all else as JSON; of an exception, the
    message is told, as an error."""
    schema: Schema = field(default_factory=dict[str, Any])
    """JSON Schema of an object with the arguments; without it, there are none."""
    title: str = ""
    subject: str = ""
    """The argument that rules such as `Bash(git:*)` or `Read(docs/**)` are about: a command, a path, an address."""


@dataclass(frozen=True, slots=True)
class HostOutcome:
    """What came of a call."""

    content: str
    is_error: bool = False
    value: Any = None
    notes: tuple[str, ...] = ()
    """What Prowess has to say of the call, for the model."""


class HostTools:
    """The tools of an application in one session."""

    def __init__(self, tools: Sequence[HostTool] = (), *, taken: Container[str] = ()) -> None:
        self.given = tuple(tools)
        self._known = {tool.name: tool for tool in tools}
        self._checked = {tool.name: _check_tool(tool, taken=taken) for tool in tools}
        if len(self._known) < len(self.given):
            names = [tool.name for tool in tools]
            twice = next(name for name in names if names.count(name) > 1)
            raise _wrong(twice, "there are two of this name")
        self.tools = tuple(_make_tool(tool) for tool in tools)

    def prepare(self, tool: Tool, arguments: Mapping[str, object] | str) -> tuple[dict[str, Any], str]:
        """Return the arguments of a call, checked as far as the schema can be, and what rules on it are about."""
        given = check_arguments(self._checked[tool.name], arguments, tool=tool.name)
        subject = given.get(self._known[tool.name].subject, "")
        return given, subject if isinstance(subject, str) else json.dumps(subject)

    def call(self, tool: Tool, given: dict[str, Any], *, notices: Iterable[str] = ()) -> HostOutcome:
        """Call a tool; what it raises is told to the model, without where in the application it happened."""
        notes = tuple(f"[{notice}]" for notice in notices)
        try:
            value = self._known[tool.name].call(given)
            content, plain = _render(value)
        except Refused:
            raise
        except Exception as error:  # noqa: BLE001 the application's code is not ours, and a conversation goes on after it
            message = make_printable(str(error)[:_MAX_MESSAGE_CHARACTERS]) or type(error).__name__
            return HostOutcome(message, is_error=True, notes=notes)
        return HostOutcome(content, value=plain, notes=notes)


def taken_names(tool_set: ToolSet) -> frozenset[str]:
    """Return the names that an application cannot give to its tools, as providers spell them too."""
    tools = (*make_tools(tool_set, names=("any",)), *((make_python_tool(),) if tool_set is ToolSet.PYTHON else ()))
    return frozenset(wire_name(tool.name, dialect) for tool in tools for dialect in DIALECTS)


def check_call(
    tool: str, subject: str, *, skills: Sequence[Skill], policy: AllowedTools, rights: Rights, workspace: str
) -> tuple[str, ...]:
    """Refuse a call that the host, the session or an active skill does not allow, or return what to say of it."""
    host = covers_all(rights.tools, tool, subject, workspace=workspace)
    if isinstance(host, Uncovered):
        raise Refused(
            f"the tool {tool} is not allowed here: {host.reason}",
            hint="the operator allows more with execution.tools",
            code="tool-not-allowed",
        )
    return tuple(
        f"skill '{skill.name}': {notice}"
        for skill in skills
        for notice in check_tool(skill, policy, rights, tool, subject, workspace=workspace)
    )


def _render(value: object) -> tuple[str, Any]:
    """Return what a tool has returned as a text, and as plain data."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)
    text = text.encode("utf-8", "replace").decode()
    if len(text) > MAX_CONTENT_CHARACTERS:
        rest = len(text) - MAX_CONTENT_CHARACTERS
        return f"{text[:MAX_CONTENT_CHARACTERS]}\n[… {rest:,} more characters cut …]", None
    return text, text if isinstance(value, str) else json.loads(text)


def _make_tool(tool: HostTool) -> Tool:
    empty: Schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    title = tool.title or tool.name.replace("_", " ").capitalize()
    return Tool(tool.name, Role.HOST, title, tool.description, empty | tool.schema, group=_GROUP)


# What an application may lend


def _check_tool(tool: HostTool, *, taken: Container[str]) -> Schema:
    """Return the part of a tool's schema by which its arguments can be checked; raise if it cannot be offered."""
    if not _NAME.fullmatch(tool.name):
        raise _wrong(make_printable(tool.name[:64]), "a name has up to 64 of the characters A-Z a-z 0-9 _ . -")
    if any(wire_name(tool.name, dialect) in taken for dialect in DIALECTS):
        raise _wrong(tool.name, "a tool for skills has this name")
    if inspect.iscoroutinefunction(tool.call):
        raise _wrong(tool.name, "its function is asynchronous; give one that waits")
    if tool.schema.get("type", "object") != "object":
        raise _wrong(tool.name, "its schema must be that of an object, since a tool takes named arguments")
    properties = tool.schema.get("properties", {})
    required = tool.schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise _wrong(tool.name, "its schema must have properties by name, and a list of those required")
    names = cast("dict[str, object]", properties)
    if tool.subject and tool.subject not in names:
        raise _wrong(tool.name, f"its subject '{tool.subject}' is none of its arguments")
    return {
        "type": "object",
        "properties": {name: _find_checkable(inner) for name, inner in names.items()},
        "required": required,
        "additionalProperties": tool.schema.get("additionalProperties", False) is not False,
    }


def _find_checkable(schema: object) -> Schema:
    """Return the schema of an argument, if all of it can be checked; else one that takes anything."""
    with suppress(ToolsetFault):
        return cast("Schema", check_schema({"type": "object", "properties": {"value": schema}})["properties"]["value"])
    return {}


def _wrong(name: str, what: str) -> SettingsError:
    return SettingsError(f"tool '{name}' of the application: {what}", hint="correct it where the session is opened")
