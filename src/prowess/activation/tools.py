"""The tools that a model is offered, as definitions that belong to no provider.

Each tool set is a table of rows; what a call does is decided by its role, in the runtime's session.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal

from prowess.policy import ToolSet

__all__ = [
    "MAX_ENUM_CHARACTERS",
    "MAX_ENUM_NAMES",
    "Role",
    "Schema",
    "Tool",
    "make_python_tool",
    "make_tools",
]

Schema = dict[str, Any]

MAX_ENUM_NAMES = 250
MAX_ENUM_CHARACTERS = 15_000
"""Names are enumerated up to here: providers refuse larger enumerations, and the catalog would fit no budget."""


class Role(StrEnum):
    """What a tool does."""

    ACTIVATE = "activate"
    READ = "read"
    SEARCH = "search"
    DEACTIVATE = "deactivate"
    RUN = "run"
    """Run a script of a skill."""
    TOOLSET = "toolset"
    """Call a tool that a skill brings."""
    HOST = "host"
    """Call a tool of the application."""
    PYTHON = "python"
    """Run code that calls all the others."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool."""

    name: str
    about: str
    required: bool = True
    type: Literal["string", "integer", "array", "object"] = "string"
    """Items of an array are texts; an object may hold anything."""
    of_skills: bool = False
    """Whether the values are the names of visible skills."""
    choices: tuple[str, ...] = ()
    """The only values that it takes; any, if there are none."""
    for_forks: bool = False
    """Whether it means something only where subagents can work skills."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as every provider understands it: a name, what it is for, and a JSON Schema of its arguments."""

    name: str
    role: Role
    title: str
    description: str
    schema: Schema = field(default_factory=dict[str, Any])
    group: str = "meta"


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    role: Role
    title: str
    description: str
    parameters: tuple[Parameter, ...]


_NAME = Parameter("name", "The skill's name, as the catalog gives it.", of_skills=True)
_PROMPT = Parameter(
    "prompt",
    "For a skill that a subagent works: all that it should do and needs to know. Its answer is the result.",
    False,
    for_forks=True,
)
_RUN_IN = Parameter(
    "run_in",
    "`fork` has a subagent work the skill apart from this conversation and return its answer; 'arguments' then holds "
    "all that it should do and needs to know. Some skills are always worked so.",
    False,
    choices=("here", "fork"),
    for_forks=True,
)

_ROWS: dict[ToolSet, tuple[_Row, ...]] = {
    ToolSet.STANDARD: (
        _Row(
            "activate_skill",
            Role.ACTIVATE,
            "Activate a skill",
            "Return the instructions of a skill, to be followed from then on. Call it before doing work that fits the "
            "skill's description.",
            (
                _NAME,
                Parameter(
                    "arguments", "What the skill is to be applied to, if its instructions take arguments.", False
                ),
                _RUN_IN,
            ),
        ),
        _Row(
            "read_skill_resource",
            Role.READ,
            "Read a file of a skill",
            "Return a file that belongs to a skill, such as references/guide.md. Use it when the skill's instructions "
            "point to the file.",
            (
                Parameter("name", "The skill's name."),
                Parameter("path", "The file, relative to the skill's folder."),
                Parameter("lines", "Only these lines, as in 1-200; the whole file without it.", required=False),
            ),
        ),
        _Row(
            "run_skill_script",
            Role.RUN,
            "Run a script of a skill",
            "Run a script that belongs to a skill, such as scripts/report.py, in a sandbox, and return what it "
            "prints. Files that it writes to the folder in PROWESS_OUTPUT are kept for the user. Use it when "
            "the skill's instructions call for the script.",
            (
                Parameter("name", "The skill's name."),
                Parameter("script", "The script, relative to the skill's folder."),
                Parameter("arguments", "Its arguments, one text each; none without it.", False, "array"),
                Parameter("input", "Data that it reads as JSON from the file in PROWESS_INPUT.", False, "object"),
            ),
        ),
        _Row(
            "search_skills",
            Role.SEARCH,
            "Search skills",
            "Find skills by what they do, also those that the catalog does not list. Returns names and descriptions.",
            (
                Parameter("query", "What the skill should be able to do, in a few words."),
                Parameter("limit", "How many to return; 10 without it.", required=False, type="integer"),
            ),
        ),
        _Row(
            "deactivate_skill",
            Role.DEACTIVATE,
            "Deactivate a skill",
            "End a skill: its instructions no longer hold. Call it when the work that the skill was for is done.",
            (Parameter("name", "The name of an active skill."),),
        ),
    ),
    ToolSet.DAYCARE: (
        _Row(
            "skill",
            Role.ACTIVATE,
            "Load a skill",
            "Load a skill by its name and get its instructions, which you then follow.",
            (_NAME, _PROMPT),
        ),
    ),
    ToolSet.WORKSPACE: (
        _Row(
            "activateSkill",
            Role.ACTIVATE,
            "Activate a skill",
            "Load the full instructions of a skill and make its files available. The user confirms the first use.",
            (_NAME, _PROMPT),
        ),
    ),
    ToolSet.REMCOCHAT: (
        _Row(
            "skills.activate",
            Role.ACTIVATE,
            "Activate a skill",
            "Load a skill's SKILL.md. Call it before you use the skill's instructions.",
            (_NAME, _PROMPT),
        ),
        _Row(
            "skills.readResource",
            Role.READ,
            "Read a file of a skill",
            "Read a text file of a skill, when the skill's instructions call for it.",
            (
                Parameter("name", "The skill's name."),
                Parameter("path", "The file, relative to the skill's folder."),
            ),
        ),
    ),
    ToolSet.NONE: (),
}

_PYTHON_NAMES = {
    Role.ACTIVATE: "skill",
    Role.READ: "read_resource",
    Role.RUN: "run_script",
    Role.SEARCH: "search_skills",
    Role.DEACTIVATE: "end_skill",
}
_ROWS[ToolSet.PYTHON] = tuple(replace(row, name=_PYTHON_NAMES[row.role]) for row in _ROWS[ToolSet.STANDARD])
"""The functions that code can call; the model is offered what runs it."""

_RUN_PYTHON = _Row(
    "run_python",
    Role.PYTHON,
    "Run Python",
    "Run Python code in a sandbox, and return what it prints and the value of its last expression. The functions that "
    "the system prompt declares can be called in it. Variables live on from one call to the next, unless a result says "
    "that they do not; define again what is not defined any more.",
    (Parameter("code", "The Python code."),),
)


def make_python_tool() -> Tool:
    """Return the one tool that a model is offered where it calls all others from Python."""
    row = _RUN_PYTHON
    return Tool(row.name, row.role, row.title, row.description, _schema(row.parameters, ()))


def make_tools(
    tool_set: ToolSet, *, names: Sequence[str], without: Container[Role] = (), forks: bool = False
) -> tuple[Tool, ...]:
    """Return the tools of a set for the skills of these names; none if there are no skills.

    Those of `ToolSet.PYTHON` are functions for code, not for a model. `forks`: whether subagents can work skills.
    """
    if not names:
        return ()
    return tuple(
        Tool(row.name, row.role, row.title, row.description, _schema(_choose(row.parameters, forks=forks), names))
        for row in _ROWS[tool_set]
        if row.role not in without
    )


def _choose(parameters: Sequence[Parameter], *, forks: bool) -> list[Parameter]:
    return [parameter for parameter in parameters if forks or not parameter.for_forks]


def _schema(parameters: Sequence[Parameter], names: Sequence[str]) -> Schema:
    properties: Schema = {}
    for parameter in parameters:
        properties[parameter.name] = {"type": parameter.type, "description": parameter.about}
        if parameter.of_skills and len(names) <= MAX_ENUM_NAMES and sum(map(len, names)) <= MAX_ENUM_CHARACTERS:
            properties[parameter.name]["enum"] = list(names)
        if parameter.choices:
            properties[parameter.name]["enum"] = list(parameter.choices)
        if parameter.type == "integer":
            properties[parameter.name]["minimum"] = 1
        if parameter.type == "array":
            properties[parameter.name]["items"] = {"type": "string"}
    return {
        "type": "object",
        "properties": properties,
        "required": [parameter.name for parameter in parameters if parameter.required],
        "additionalProperties": False,
    }
