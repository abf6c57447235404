"""Acts as calls of tools, and calls read back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.activation.tools import Role, Tool, make_python_tool, make_tools
from prowess.agent.messages import ToolCall
from prowess.agent.offline.acts import Act, Activate, Read, Run, Search, Toolbox, make_toolbox
from prowess.policy import ToolSet

_text = st.text(max_size=20)
_acts = st.one_of(
    st.builds(Search, _text),
    st.builds(Activate, _text, _text),
    st.builds(Read, _text, _text),
    st.builds(Run, _text, _text, st.lists(_text, max_size=3).map(tuple)),
)


def _toolbox(tool_set: ToolSet, *, forks: bool = False) -> Toolbox:
    if tool_set is ToolSet.PYTHON:
        return make_toolbox([make_python_tool()])
    return make_toolbox(make_tools(tool_set, names=["a", "b"], forks=forks))


@pytest.mark.parametrize("tool_set", [ToolSet.STANDARD, ToolSet.PYTHON])
@given(act=_acts)
def test_call_is_read_back_as_what_it_was_for(tool_set: ToolSet, act: Act) -> None:
    toolbox = _toolbox(tool_set)
    assert toolbox.read_call(toolbox.make_call(act, call_id="1")) == act


@pytest.mark.parametrize(
    ("tool_set", "act", "tool", "arguments"),
    [
        (ToolSet.STANDARD, Activate("a"), "activate_skill", {"name": "a"}),
        (ToolSet.STANDARD, Activate("a", "x"), "activate_skill", {"name": "a", "arguments": "x"}),
        (ToolSet.STANDARD, Read("a", "é.md"), "read_skill_resource", {"name": "a", "path": "é.md"}),
        (ToolSet.STANDARD, Run("a", "s"), "run_skill_script", {"name": "a", "script": "s"}),
        (ToolSet.STANDARD, Run("a", "s", ("x",)), "run_skill_script", {"name": "a", "script": "s", "arguments": ["x"]}),
        (ToolSet.STANDARD, Search("q"), "search_skills", {"query": "q"}),
        (ToolSet.DAYCARE, Activate("a", "x", "p"), "skill", {"name": "a", "prompt": "p"}),
        (ToolSet.WORKSPACE, Activate("a", prompt="p"), "activateSkill", {"name": "a", "prompt": "p"}),
        (ToolSet.REMCOCHAT, Read("a", ""), "skills.readResource", {"name": "a", "path": ""}),
        (ToolSet.PYTHON, Activate("a'b", "x"), "run_python", {"code": "print(skill(name=\"a'b\", arguments='x'))"}),
        (ToolSet.PYTHON, Run("a", "s"), "run_python", {"code": "print(run_script(name='a', script='s'))"}),
    ],
)
def test_tools_are_called_by_what_their_schemas_ask_for(
    tool_set: ToolSet, act: Act, tool: str, arguments: dict[str, object]
) -> None:
    call = _toolbox(tool_set, forks=True).make_call(act, call_id="7")
    assert (call.id, call.tool, json.loads(call.arguments)) == ("7", tool, arguments)


@pytest.mark.parametrize(
    ("tool_set", "kinds"),
    [
        (ToolSet.STANDARD, (Search, Activate, Read, Run)),
        (ToolSet.PYTHON, (Search, Activate, Read, Run)),
        (ToolSet.DAYCARE, (Activate,)),
        (ToolSet.WORKSPACE, (Activate,)),
        (ToolSet.REMCOCHAT, (Activate, Read)),
        (ToolSet.NONE, ()),
    ],
)
def test_each_set_of_tools_can_do_its_part(tool_set: ToolSet, kinds: tuple[type[Act], ...]) -> None:
    toolbox = _toolbox(tool_set)
    assert tuple(kind for kind in (Search, Activate, Read, Run) if toolbox.can(kind)) == kinds


def test_names_are_those_that_the_tool_takes() -> None:
    assert _toolbox(ToolSet.DAYCARE).skill_names() == ("a", "b")
    assert _toolbox(ToolSet.PYTHON).skill_names() == ()
    assert make_toolbox([Tool("x", Role.ACTIVATE, "", "", {"properties": 3})]).skill_names() == ()


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("1", "unknown", "{}"),
        ToolCall("1", "read_skill_resource", "not JSON"),
        ToolCall("1", "read_skill_resource", "[]"),
        ToolCall("1", "read_skill_resource", '{"name": "a"}'),
        ToolCall("1", "read_skill_resource", '{"name": "a", "path": 3}'),
        ToolCall("1", "deactivate_skill", '{"name": "a"}'),
    ],
)
def test_call_that_cannot_be_read_is_for_nothing(call: ToolCall) -> None:
    assert _toolbox(ToolSet.STANDARD).read_call(call) is None


@pytest.mark.parametrize(
    "code",
    [
        "",
        "print(",
        "x = 1",
        "print(other(name='a'))",
        "print(skill(name=open('x')))",
        "print(skill('a'))",
        "print(1 + " * 2_000,
        "(" * 10_000,
        "\0",
    ],
)
def test_code_of_others_is_for_nothing(code: str) -> None:
    assert _toolbox(ToolSet.PYTHON).read_call(ToolCall("1", "run_python", json.dumps({"code": code}))) is None
