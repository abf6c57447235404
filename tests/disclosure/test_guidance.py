"""What a model is told about skills in general."""

import pytest

from prowess.activation.tools import Role, make_tools
from prowess.disclosure.guidance import (
    GUIDANCE,
    choose_guidance,
    render_active_names,
    render_fallback,
    render_prompt,
)
from prowess.policy import ToolSet

_WITH_TOOLS = [tool_set for tool_set in ToolSet if tool_set is not ToolSet.NONE]


@pytest.mark.requirement("R48")
@pytest.mark.parametrize("tool_set", _WITH_TOOLS)
def test_guidance_names_every_tool_of_its_set_and_no_other(tool_set: ToolSet) -> None:
    tools = {each: [f"`{tool.name}`" for tool in make_tools(each, names=["a"])] for each in ToolSet}
    assert all(name in GUIDANCE[tool_set] for name in tools.pop(tool_set))
    assert not any(name in GUIDANCE[tool_set] for names in tools.values() for name in names)


@pytest.mark.requirement("R48")
@pytest.mark.parametrize("tool_set", ToolSet)
def test_guidance_is_whole_while_every_tool_is_offered(tool_set: ToolSet) -> None:
    offered = [tool.name for tool in make_tools(tool_set, names=["a"])]
    assert choose_guidance(tool_set, offered=offered) == GUIDANCE[tool_set]


@pytest.mark.requirement("R48", "R96")
@pytest.mark.parametrize("tool_set", ToolSet)
def test_guidance_without_scripts_lacks_their_one_line_and_nothing_else(tool_set: ToolSet) -> None:
    offered = [tool.name for tool in make_tools(tool_set, names=["a"], without=(Role.RUN,))]
    line = (
        "- Run a skill's scripts with `run_skill_script`, when its instructions call for them. "
        "Do not retype what a script does.\n"
    )
    assert (line in GUIDANCE[tool_set]) == (tool_set is ToolSet.STANDARD)
    assert choose_guidance(tool_set, offered=offered) == GUIDANCE[tool_set].replace(line, "")


@pytest.mark.requirement("R49")
@pytest.mark.parametrize(
    "rule",
    [
        "progressive",
        "Before you use a skill's instructions, call `skills.activate`",
        "only when its instructions call for them",
        "`/skill-name` invokes that skill",
    ],
)
def test_guidance_has_the_rules_of_behaviour(rule: str) -> None:
    assert rule in GUIDANCE[ToolSet.REMCOCHAT]


@pytest.mark.requirement("R48")
def test_guidance_makes_a_fitting_skill_mandatory() -> None:
    assert "you must call `skill`" in GUIDANCE[ToolSet.DAYCARE]
    assert "do not open again what is open already" in GUIDANCE[ToolSet.DAYCARE]


@pytest.mark.requirement("R120")
def test_guidance_forbids_to_activate_again_what_is_active() -> None:
    assert "do not activate it again" in GUIDANCE[ToolSet.STANDARD]


@pytest.mark.requirement("R51")
def test_prompt_ends_with_the_active_names() -> None:
    prompt = render_prompt(guidance="Guidance.", catalog="<available_skills/>", active=["a", "b"])
    assert prompt.split("\n\n") == [
        "Guidance.",
        "<available_skills/>",
        "Active skills: a, b. Their instructions hold; they need not be activated again.",
    ]


@pytest.mark.requirement("R51")
def test_no_active_skill_is_no_line() -> None:
    assert render_active_names([]) == ""
    assert render_prompt(guidance="", catalog="catalog") == "catalog"


@pytest.mark.requirement("J6")
def test_no_catalog_is_no_prompt() -> None:
    """RC29."""
    assert render_prompt(guidance="Guidance.", catalog="", active=["a"]) == ""


@pytest.mark.requirement("R66")
def test_fallback_is_one_section_of_guidance_and_one_for_each_skill() -> None:
    """RC24."""
    sections = render_fallback(["Instructions of a.", "Instructions of b."]).split("\n\n")
    assert sections[1:] == ["Instructions of a.", "Instructions of b."]
    assert "no tools can be called" in sections[0]
    assert render_fallback([]) == ""
