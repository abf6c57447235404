"""The tools that a model is offered, as definitions that belong to no provider.

Each tool set is a table of rows; what a call does is decided by its role, in the runtime's session.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from prowess.policy import ToolSet

__all__ = [
    "MAX_ENUM_CHARACTERS",
    "MAX_ENUM_NAMES",
    "Role",
    "Schema",
    "Tool",
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
            (_NAME,),
        ),
    ),
    ToolSet.WORKSPACE: (
        _Row(
            "activateSkill",
            Role.ACTIVATE,
            "Activate a skill",
            "Load the full instructions of a skill and make its files available. The user confirms the first use.",
            (_NAME,),
        ),
    ),
    ToolSet.REMCOCHAT: (
        _Row(
            "skills.activate",
            Role.ACTIVATE,
            "Activate a skill",
            "Load a skill's SKILL.md. Call it before you use the skill's instructions.",
            (_NAME,),
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


def make_tools(tool_set: ToolSet, *, names: Sequence[str], without: Container[Role] = ()) -> tuple[Tool, ...]:
    """Return the tools of a set for the skills of these names; none if there are no skills."""
    if not names:
        return ()
    return tuple(
        Tool(row.name, row.role, row.title, row.description, _schema(row.parameters, names))
        for row in _ROWS[tool_set]
        if row.role not in without
    )


def _schema(parameters: Sequence[Parameter], names: Sequence[str]) -> Schema:
    properties: Schema = {}
    for parameter in parameters:
        properties[parameter.name] = {"type": parameter.type, "description": parameter.about}
        if parameter.of_skills and len(names) <= MAX_ENUM_NAMES and sum(map(len, names)) <= MAX_ENUM_CHARACTERS:
            properties[parameter.name]["enum"] = list(names)
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
