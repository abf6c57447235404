"""The tools that a model is offered."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.activation.tools import MAX_ENUM_CHARACTERS, MAX_ENUM_NAMES, Role, make_python_tool, make_tools
from prowess.policy import ToolSet

_WITH_TOOLS = [tool_set for tool_set in ToolSet if tool_set is not ToolSet.NONE]
_NAMES = ("pdf-fill", "repo-survey")


@pytest.mark.requirement("R55", "R56", "R57", "R58")
@pytest.mark.parametrize(
    ("tool_set", "tools"),
    [
        (
            ToolSet.STANDARD,
            {
                "activate_skill": (Role.ACTIVATE, ["name", "arguments"], ["name"]),
                "read_skill_resource": (Role.READ, ["name", "path", "lines"], ["name", "path"]),
                "run_skill_script": (Role.RUN, ["name", "script", "arguments", "input"], ["name", "script"]),
                "search_skills": (Role.SEARCH, ["query", "limit"], ["query"]),
                "deactivate_skill": (Role.DEACTIVATE, ["name"], ["name"]),
            },
        ),
        (ToolSet.DAYCARE, {"skill": (Role.ACTIVATE, ["name"], ["name"])}),
        (ToolSet.WORKSPACE, {"activateSkill": (Role.ACTIVATE, ["name"], ["name"])}),
        (
            ToolSet.REMCOCHAT,
            {
                "skills.activate": (Role.ACTIVATE, ["name"], ["name"]),
                "skills.readResource": (Role.READ, ["name", "path"], ["name", "path"]),
            },
        ),
        (
            ToolSet.PYTHON,
            {
                "skill": (Role.ACTIVATE, ["name", "arguments"], ["name"]),
                "read_resource": (Role.READ, ["name", "path", "lines"], ["name", "path"]),
                "run_script": (Role.RUN, ["name", "script", "arguments", "input"], ["name", "script"]),
                "search_skills": (Role.SEARCH, ["query", "limit"], ["query"]),
                "end_skill": (Role.DEACTIVATE, ["name"], ["name"]),
            },
        ),
        (ToolSet.NONE, {}),
    ],
)
def test_set_has_these_tools(tool_set: ToolSet, tools: dict[str, tuple[Role, list[str], list[str]]]) -> None:
    made = make_tools(tool_set, names=_NAMES)
    assert {tool.name: (tool.role, list(tool.schema["properties"]), tool.schema["required"]) for tool in made} == tools
    assert {tool.group for tool in made} <= {"meta"}


@pytest.mark.requirement("J7")
@pytest.mark.parametrize("tool_set", _WITH_TOOLS)
@given(names=st.lists(st.text(st.sampled_from('abc-&<"技'), min_size=1), min_size=1, unique=True))
def test_name_is_an_enumeration_of_what_is_visible(tool_set: ToolSet, names: list[str]) -> None:
    tool = make_tools(tool_set, names=names)[0]
    assert tool.role is Role.ACTIVATE
    assert tool.schema["properties"]["name"]["enum"] == names


@pytest.mark.requirement("J7")
@pytest.mark.parametrize("tool_set", _WITH_TOOLS)
@pytest.mark.parametrize(
    ("names", "is_enumerated"),
    [
        ([f"skill-{number}" for number in range(MAX_ENUM_NAMES)], True),
        ([f"skill-{number}" for number in range(MAX_ENUM_NAMES + 1)], False),
        (["a" * (MAX_ENUM_CHARACTERS - 1), "b"], True),
        (["a" * MAX_ENUM_CHARACTERS, "b"], False),
    ],
)
def test_more_names_than_providers_take_are_not_enumerated(
    tool_set: ToolSet, names: list[str], is_enumerated: bool
) -> None:
    assert ("enum" in make_tools(tool_set, names=names)[0].schema["properties"]["name"]) == is_enumerated


@pytest.mark.requirement("J6", "R63")
@pytest.mark.parametrize("tool_set", ToolSet)
def test_no_visible_skill_is_no_tool(tool_set: ToolSet) -> None:
    assert make_tools(tool_set, names=()) == ()


@pytest.mark.parametrize("tool_set", ToolSet)
def test_tools_of_an_unwanted_role_are_left_out_and_the_rest_stays_as_it_is(tool_set: ToolSet) -> None:
    made = make_tools(tool_set, names=_NAMES)
    for role in Role:
        left = make_tools(tool_set, names=_NAMES, without=(role,))
        assert left == tuple(tool for tool in made if tool.role is not role)
    assert make_tools(tool_set, names=_NAMES, without=tuple(Role)) == ()


@pytest.mark.requirement("R70")
def test_functions_for_code_are_the_tools_under_other_names() -> None:
    tools, functions = (make_tools(tool_set, names=_NAMES) for tool_set in (ToolSet.STANDARD, ToolSet.PYTHON))
    assert [replace(tool, name="") for tool in tools] == [replace(function, name="") for function in functions]


@pytest.mark.requirement("R70")
def test_model_that_writes_code_is_offered_what_runs_it() -> None:
    tool = make_python_tool()
    assert (tool.name, tool.role, tool.group) == ("run_python", Role.PYTHON, "meta")
    assert tool.schema == {
        "type": "object",
        "properties": {"code": {"type": "string", "description": "The Python code."}},
        "required": ["code"],
        "additionalProperties": False,
    }


@pytest.mark.requirement("R96")
def test_script_is_given_texts_and_data() -> None:
    (tool,) = make_tools(ToolSet.STANDARD, names=_NAMES, without=set(Role) - {Role.RUN})
    assert tool.schema == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The skill's name."},
            "script": {"type": "string", "description": "The script, relative to the skill's folder."},
            "arguments": {
                "type": "array",
                "description": "Its arguments, one text each; none without it.",
                "items": {"type": "string"},
            },
            "input": {
                "type": "object",
                "description": "Data that it reads as JSON from the file in PROWESS_INPUT.",
            },
        },
        "required": ["name", "script"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("tool_set", _WITH_TOOLS)
def test_schema_says_all_that_a_provider_asks_of_it(tool_set: ToolSet) -> None:
    for tool in make_tools(tool_set, names=_NAMES):
        assert tool.schema["type"] == "object"
        assert tool.schema["additionalProperties"] is False
        assert set(tool.schema["required"]) <= set(tool.schema["properties"])
        for parameter in tool.schema["properties"].values():
            assert parameter["type"] in ("string", "integer", "array", "object")
            # Some providers refuse an array that does not say what it holds.
            assert parameter.get("items") == ({"type": "string"} if parameter["type"] == "array" else None)
            assert parameter["description"].endswith(".")
        assert tool.description.endswith(".")
        assert tool.title
