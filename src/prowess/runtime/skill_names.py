"""How a model calls skills, and what it is told if there is none of a name."""

from prowess.catalog.views import View
from prowess.disclosure.instructions import locate
from prowess.errors import ToolInputError
from prowess.policy import BaseDirectory, ToolSet
from prowess.skill.skill import Skill
from prowess.sources.folders import SKILL_MD

__all__ = ["callable_names", "find_by_path", "unknown_skill"]

_MAX_NAMED = 20


def callable_names(view: View) -> tuple[str, ...]:
    """Return what a model can call skills by: their names, and ids where a name is another's."""
    names: dict[str, None] = {}
    for skill in view.visible:
        names[skill.id if skill.name in names else skill.name] = None
    return tuple(names)


def find_by_path(view: View, path: str, *, place: BaseDirectory) -> Skill | None:
    """Return the visible skill whose SKILL.md is at this path: below its source, on the host, or as a model sees it."""
    if not path.endswith(f"/{SKILL_MD}"):
        return None
    folder = path.removesuffix(f"/{SKILL_MD}")
    return next(
        (skill for skill in view.visible if folder in (skill.relative, skill.folder, locate(skill, place))), None
    )


def unknown_skill(tool_set: ToolSet, view: View, name: str) -> ToolInputError:
    """Return the error for a name that no usable skill has, with those that there are."""
    message = f"Unknown skill: {name}." if tool_set is ToolSet.DAYCARE else f"Unknown or unavailable skill: {name}"
    names = callable_names(view)
    rest = len(names) - _MAX_NAMED
    shown = ", ".join(names[:_MAX_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")
    return ToolInputError(message[:300], hint=f"available skills: {shown or 'none'}", code="unknown-skill")
