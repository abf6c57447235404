"""How a model calls skills, and what it is told if there is none of a name."""

from prowess.catalog.views import View
from prowess.disclosure.names import show_names
from prowess.errors import ToolInputError
from prowess.policy import ToolSet
from prowess.skill.activation_keys import make_activation_key
from prowess.skill.deception import make_printable
from prowess.skill.skill import Skill
from prowess.sources.folders import SKILL_MD

__all__ = ["callable_names", "find_by_path", "unknown_skill"]

_MAX_NAMED = 20
_MAX_CALLED = 200
"""Characters of a wrong name that are said back."""


def callable_names(view: View) -> tuple[str, ...]:
    """Return what a model can call skills by: their names, and ids where a name is another's."""
    names: dict[str, None] = {}
    for skill in view.visible:
        names[skill.id if skill.name in names else skill.name] = None
    return tuple(names)


def find_by_path(view: View, path: str, *, copies: str) -> Skill | None:
    """Return the visible skill whose SKILL.md is at this path: below its source, on the host, or among the copies.

    `copies` is the folder in which the model's code finds copies, if there is one.
    """
    if not path.endswith(f"/{SKILL_MD}"):
        return None
    folder = path.removesuffix(f"/{SKILL_MD}")
    parent, _, name = folder.rpartition("/")
    for skill in view.visible:
        if folder in (skill.relative, skill.folder):
            return skill
        if copies and parent == copies and name in (make_activation_key(skill.id), skill.name):
            return skill
    return None


def unknown_skill(tool_set: ToolSet, view: View, name: str) -> ToolInputError:
    """Return the error for a name that no usable skill has, with those that there are."""
    called = make_printable(name[:_MAX_CALLED])
    message = f"Unknown skill: {called}." if tool_set is ToolSet.DAYCARE else f"Unknown or unavailable skill: {called}"
    shown = show_names(callable_names(view), most=_MAX_NAMED) or "none"
    return ToolInputError(message, hint=f"available skills: {shown}", code="unknown-skill")
