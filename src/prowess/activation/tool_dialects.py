"""The dialects in which tools are sent to providers."""

from collections.abc import Sequence
from typing import Literal

from prowess.activation.tool_outputs import OUTPUT_SCHEMAS
from prowess.activation.tools import Role, Schema, Tool
from prowess.errors import SettingsError, ToolInputError
from prowess.skill.deception import make_printable

__all__ = ["DIALECTS", "Dialect", "find_tool", "render_tools", "wire_name"]

Dialect = Literal["openai", "anthropic", "mcp"]
DIALECTS: tuple[Dialect, ...] = ("openai", "anthropic", "mcp")
_UNKNOWN = (Role.HOST, Role.PYTHON)
"""What the application's own tools do, and so the code that calls them, nobody here can say."""


def wire_name(name: str, dialect: Dialect) -> str:
    """Return a tool's name as a provider takes it: OpenAI and Anthropic allow no dots, so `a.b` becomes `aB`."""
    if dialect == "mcp":
        return name
    first, *rest = name.split(".")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def find_tool(tools: Sequence[Tool], name: str) -> Tool:
    """Return the tool of this name, as it is or as a provider sent it."""
    for tool in tools:
        if name == tool.name or any(name == wire_name(tool.name, dialect) for dialect in DIALECTS):
            return tool
    offered = ", ".join(tool.name for tool in tools) or "none can be called here"
    raise ToolInputError(
        f"Unknown tool: {make_printable(str(name)[:64])}", hint=f"tools: {offered}", code="unknown-tool"
    )


def render_tools(tools: Sequence[Tool], dialect: Dialect) -> list[Schema]:
    """Return the tools as a provider takes them."""
    if dialect not in DIALECTS:
        raise SettingsError(f"no dialect '{dialect}'", hint="dialects: " + ", ".join(DIALECTS), code="bad-dialect")
    return [_render(tool, wire_name(tool.name, dialect), dialect) for tool in tools]


def _render(tool: Tool, name: str, dialect: Dialect) -> Schema:
    match dialect:
        case "openai":
            function = {"name": name, "description": tool.description, "parameters": tool.schema}
            return {"type": "function", "function": function}
        case "anthropic":
            return {"name": name, "description": tool.description, "input_schema": tool.schema}
        case "mcp":
            return {
                "name": name,
                "title": tool.title,
                "description": tool.description,
                "inputSchema": tool.schema,
                **({"outputSchema": OUTPUT_SCHEMAS[tool.role]} if tool.role in OUTPUT_SCHEMAS else {}),
                "annotations": {
                    "readOnlyHint": tool.role in (Role.READ, Role.SEARCH),
                    "destructiveHint": tool.role in _UNKNOWN,
                    "openWorldHint": tool.role in (Role.TOOLSET, *_UNKNOWN),
                },
            }
