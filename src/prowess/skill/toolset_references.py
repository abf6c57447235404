"""What an entry of `toolsets` names: a class in a file of the skill, as in `toolsets/index:MyToolset`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from prowess.skill.manifest import Behaviour
from prowess.skill.problems import Problem, make_problem

__all__ = ["ToolsetReference", "find_reference", "judge_toolsets"]

_MAX_CHARACTERS = 200
_REFERENCE = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_-]*(?:/[A-Za-z0-9_][A-Za-z0-9_-]*)*):([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class ToolsetReference:
    """Which class of a skill's code is a toolset."""

    text: str
    path: str
    """Of a file without its `.py`, or of a package; relative to the skill's folder."""
    name: str


def find_reference(text: str) -> ToolsetReference | None:
    """Return what an entry names; None if it could name anything outside of the skill."""
    found = _REFERENCE.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
    return ToolsetReference(text, found[1], found[2]) if found else None


def judge_toolsets(behaviour: Behaviour) -> Iterator[Problem]:
    """Return a Problem for each entry that names no file of the skill with a class."""
    for text in behaviour.toolsets:
        if find_reference(text) is None:
            yield make_problem(
                "toolset-bad", f"the toolset '{text[:_MAX_CHARACTERS]}' names no class in a file of the skill"
            )
