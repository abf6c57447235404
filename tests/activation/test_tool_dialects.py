"""The dialects in which tools are sent to providers."""

import json
import re
from typing import cast

import pytest

from prowess.activation.tool_dialects import DIALECTS, Dialect, find_tool, render_tools, wire_name
from prowess.activation.tool_outputs import OUTPUT_SCHEMAS
from prowess.activation.tools import Role, Schema, Tool, make_tools
from prowess.errors import SettingsError, ToolInputError
from prowess.policy import ToolSet

_ALLOWED = {
    "openai": re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    "anthropic": re.compile(r"[a-zA-Z0-9_-]{1,128}"),
    "mcp": re.compile(r"[a-zA-Z0-9_.-]{1,128}"),
}
"""What each provider lets a tool be called."""
_NAMES = ("pdf-fill",)
_REMCOCHAT = make_tools(ToolSet.REMCOCHAT, names=_NAMES)


def _name(row: Schema) -> str:
    return row["function"]["name"] if "function" in row else row["name"]


@pytest.mark.requirement("R56", "R57")
@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        ("openai", ["skillsActivate", "skillsReadResource"]),
        ("anthropic", ["skillsActivate", "skillsReadResource"]),
        ("mcp", ["skills.activate", "skills.readResource"]),
    ],
)
def test_name_has_no_dot_where_a_provider_allows_none(dialect: Dialect, names: list[str]) -> None:
    """RC30."""
    assert [_name(row) for row in render_tools(_REMCOCHAT, dialect)] == names


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("tool_set", ToolSet)
def test_names_are_such_as_the_provider_takes_and_differ(tool_set: ToolSet, dialect: Dialect) -> None:
    names = [_name(row) for row in render_tools(make_tools(tool_set, names=_NAMES), dialect)]
    assert all(_ALLOWED[dialect].fullmatch(name) for name in names)
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("tool_set", ToolSet)
def test_tool_is_found_by_the_name_that_was_sent(tool_set: ToolSet, dialect: Dialect) -> None:
    tools = make_tools(tool_set, names=_NAMES)
    for tool in tools:
        assert find_tool(tools, tool.name) is tool
        assert find_tool(tools, wire_name(tool.name, dialect)) is tool


def test_each_dialect_has_its_own_shape() -> None:
    tool = make_tools(ToolSet.WORKSPACE, names=_NAMES)[0]
    assert render_tools([tool], "openai") == [
        {
            "type": "function",
            "function": {"name": "activateSkill", "description": tool.description, "parameters": tool.schema},
        }
    ]
    assert render_tools([tool], "anthropic") == [
        {"name": "activateSkill", "description": tool.description, "input_schema": tool.schema}
    ]
    assert render_tools([tool], "mcp") == [
        {
            "name": "activateSkill",
            "title": "Activate a skill",
            "description": tool.description,
            "inputSchema": tool.schema,
            "outputSchema": OUTPUT_SCHEMAS[tool.role],
            "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        }
    ]


@pytest.mark.parametrize(
    ("role", "reads_only", "destroys", "is_open"),
    [
        pytest.param(Role.ACTIVATE, False, False, False, id="activate"),
        pytest.param(Role.READ, True, False, False, id="read"),
        pytest.param(Role.SEARCH, True, False, False, id="search"),
        pytest.param(Role.DEACTIVATE, False, False, False, id="deactivate"),
        pytest.param(Role.RUN, False, False, False, id="run"),
        pytest.param(Role.TOOLSET, False, False, True, id="what a skill brings may do anything in its sandbox"),
        pytest.param(Role.HOST, False, True, True, id="what an application does nobody knows"),
        pytest.param(Role.PYTHON, False, True, True, id="code may call what an application does"),
    ],
)
def test_annotations_say_what_a_role_does(role: Role, reads_only: bool, destroys: bool, is_open: bool) -> None:
    tool = Tool("do_it", role, "Do it", "Does it.", {"type": "object"})
    (row,) = render_tools([tool], "mcp")
    assert row["annotations"] == {"readOnlyHint": reads_only, "destructiveHint": destroys, "openWorldHint": is_open}


def test_table_of_these_tests_knows_every_role() -> None:
    assert list(Role) == [
        Role.ACTIVATE,
        Role.READ,
        Role.SEARCH,
        Role.DEACTIVATE,
        Role.RUN,
        Role.TOOLSET,
        Role.HOST,
        Role.PYTHON,
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("tool_set", ToolSet)
def test_tools_can_be_sent_as_json(tool_set: ToolSet, dialect: Dialect) -> None:
    rows = render_tools(make_tools(tool_set, names=['a"<&>', "技能"]), dialect)
    assert json.loads(json.dumps(rows)) == rows


def test_unknown_tool_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(ToolInputError) as caught:
        find_tool(_REMCOCHAT, "skills.delete")
    assert (caught.value.code, caught.value.message, caught.value.hint) == (
        "unknown-tool",
        "Unknown tool: skills.delete",
        "tools: skills.activate, skills.readResource",
    )


def test_name_that_cannot_be_sent_back_is_written_as_an_escape() -> None:
    with pytest.raises(ToolInputError) as caught:
        find_tool(_REMCOCHAT, "\ud800" + "a" * 1_000)
    assert caught.value.message == "Unknown tool: \\ud800" + "a" * 63


def test_call_where_there_are_no_tools_is_answered() -> None:
    none: tuple[Tool, ...] = ()
    with pytest.raises(ToolInputError) as caught:
        find_tool(none, "skill")
    assert caught.value.hint == "tools: none can be called here"


def test_unknown_dialect_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(SettingsError) as caught:
        render_tools(_REMCOCHAT, cast("Dialect", "gemini"))
    assert (caught.value.code, caught.value.hint) == ("bad-dialect", "dialects: openai, anthropic, mcp")
