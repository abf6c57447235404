"""The tools that skills can be exported for, and the one way to do it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from prowess.errors import Refused
from prowess.runtime import Runtime
from prowess.skill.dialects import CLAUDE, CODEX
from prowess.skill.skill import Skill
from prowess.sources.source import show_path
from prowess.surfaces.export.archives import export_archives
from prowess.surfaces.export.choosing import choose_skills
from prowess.surfaces.export.documents import export_section, export_tools
from prowess.surfaces.export.folders import export_folders
from prowess.surfaces.export.options import ExportOptions
from prowess.surfaces.export.reports import ExportReport

__all__ = ["EXPORTS", "export_skills", "find_place"]


@dataclass(frozen=True, slots=True)
class Export:
    """One tool, or one form that many tools take."""

    place: str
    """Where it looks for skills, from the working folder."""
    write: Callable[[Runtime, Sequence[Skill], ExportOptions], ExportReport]


EXPORTS: dict[str, Export] = {
    "claude": Export(".claude/skills", partial(export_folders, target=CLAUDE)),
    "codex": Export(".agents/skills", partial(export_folders, target=CODEX)),
    "agents-md": Export("AGENTS.md", export_section),
    "openai-tools": Export("openai-tools.json", export_tools),
    "zip": Export("skills.zip", export_archives),
}


def find_place(runtime: Runtime, to: str, out: str | None) -> str:
    """Return where an export goes: where the caller says, else where the tool looks, if no link is on the way there."""
    base = runtime.settings.place.working_folder
    if out is not None:
        return os.path.normpath(os.path.join(base, out))
    path = base
    for part in EXPORTS[to].place.split("/"):
        path = os.path.join(path, part)
        if os.path.islink(path):
            raise Refused(
                f"{show_path(path)} is a link", hint="name the place that it leads to with --out", code="is-a-link"
            )
    return path


def export_skills(runtime: Runtime, to: str, names: Sequence[str], options: ExportOptions) -> ExportReport:
    """Write the skills of these names, or all that are visible, for a tool; return what came of it."""
    skills, left_out = choose_skills(runtime, names, out=options.out)
    return ExportReport(left_out=tuple(left_out)) + EXPORTS[to].write(runtime, skills, options)
