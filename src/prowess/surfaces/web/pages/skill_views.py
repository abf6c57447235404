"""One skill as its page shows it: files as a tree, what a model sees, what others would lose, use over time."""

import posixpath
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from prowess.containers.mounts import PRIVATE_SKILLS, SHARED_SKILLS
from prowess.disclosure.catalog_text import FORMS
from prowess.disclosure.instructions import (
    Instructions,
    read_instructions,
    render_instructions,
    wrap_instructions,
)
from prowess.disclosure.planner import describe
from prowess.disclosure.resources import list_resources
from prowess.errors import ProwessError
from prowess.policy import BaseDirectory, ToolSet
from prowess.runtime import Runtime
from prowess.skill.digest import FileKind
from prowess.skill.skill import Skill
from prowess.skill.targets import TARGETS, Loss
from prowess.sources.skill_files import FileSet
from prowess.sources.source import show_bytes
from prowess.surfaces.losses import read_losses
from prowess.surfaces.web.days import show_day
from prowess.surfaces.web.pages.charts import Chart, draw_bars
from prowess.surfaces.web.skill_table import SkillRow, Snapshot

__all__ = ["FileNode", "ModelSight", "TargetLosses", "find_target_losses", "make_tree", "see_as_model", "show_uses"]

MAX_TREE = 500
"""Files that a page lists."""
_MAX_SHOWN = 100_000
"""Characters of what a model reads that a page shows."""
_DAYS = 30


@dataclass(frozen=True, slots=True)
class FileNode:
    """One line of a tree: a folder, or a file with where it is shown and downloaded."""

    name: str
    depth: int
    size: int | None = None
    """None for a folder."""
    kind: str = ""
    page: str = ""
    download: str = ""


@dataclass(frozen=True, slots=True)
class ModelSight:
    """What a model reads of a skill: its line in the catalog, and its instructions once it is active."""

    entry: str
    entry_tokens: int
    form: str
    activated: str
    activated_tokens: int
    is_cut: bool
    body: str
    truncated: bool
    fault: str = ""
    """Why the instructions cannot be read."""


@dataclass(frozen=True, slots=True)
class TargetLosses:
    """What one agent would lose."""

    title: str
    losses: tuple[Loss, ...]


def make_tree(row: SkillRow, files: FileSet) -> tuple[list[FileNode], int]:
    """Return the lines of a tree of files, and how many files are left out."""
    nodes: list[FileNode] = []
    above: Sequence[str] = ()
    for file in files.files[:MAX_TREE]:
        shown = show_bytes(file.path)
        *folders, name = shown.split("/")
        common = len(posixpath.commonprefix([list(above), folders]))
        nodes += [FileNode(f"{folders[depth]}/", depth) for depth in range(common, len(folders))]
        address = f"/skills/{quote(row.key)}/files/{quote(shown)}"
        kind = "" if file.kind is FileKind.FILE else file.kind.value
        nodes.append(FileNode(name, len(folders), file.size, kind, address, f"/api{address}"))
        above = folders
    return nodes, max(0, len(files.files) - MAX_TREE)


def see_as_model(runtime: Runtime, snapshot: Snapshot, row: SkillRow, files: FileSet) -> ModelSight:
    """Return what a model reads of a skill."""
    skill, planning = row.skill, runtime.planning
    description = None if skill.id in snapshot.view.name_only else describe(skill)
    entry = FORMS[planning.form].entry(skill, description)
    instructions, fault = _read(runtime, skill, files)
    activated = "" if fault else _render(runtime, row, instructions, files)
    return ModelSight(
        entry.strip("\n"),
        snapshot.tokens(row),
        planning.form.value,
        activated[:_MAX_SHOWN],
        planning.counter.count(activated),
        len(activated) > _MAX_SHOWN,
        instructions.body,
        instructions.truncated,
        fault,
    )


def find_target_losses(runtime: Runtime, skill: Skill) -> list[TargetLosses]:
    """Return what each agent that is known would lose of a skill."""
    limits = runtime.policy.limits
    return [TargetLosses(target.title, read_losses(skill, key, limits=limits)) for key, target in TARGETS.items()]


def show_uses(runtime: Runtime, skills: Iterable[str] | None = None, *, days: int = _DAYS) -> Chart:
    """Return a chart of how often skills were activated and their scripts run, on each of the last days, in UTC."""
    chosen = None if skills is None else frozenset(skills)
    activations, runs = Counter[int](), Counter[int]()
    for used in runtime.usage_by_day(days=days):
        if chosen is None or used.skill in chosen:
            activations[used.day] += used.activations
            runs[used.day] += used.runs
    today = int(runtime.clock() // 86_400)
    shown = range(today - days + 1, today + 1)
    return draw_bars([(show_day(day), activations[day], runs[day]) for day in shown])


def _read(runtime: Runtime, skill: Skill, files: FileSet) -> tuple[Instructions, str]:
    agreed = files.files if files.digest else ()
    try:
        return read_instructions(skill, files=agreed, limit_bytes=runtime.policy.limits.max_skill_md_bytes), ""
    except ProwessError as error:
        return Instructions("", 0), error.message


def _render(runtime: Runtime, row: SkillRow, instructions: Instructions, files: FileSet) -> str:
    base = _find_base(runtime, row)
    text = render_instructions(row.skill, instructions, base_directory=base)
    if runtime.policy.tools not in (ToolSet.STANDARD, ToolSet.PYTHON):
        return text
    return wrap_instructions(row.skill, text, resources=list_resources(files.files))


def _find_base(runtime: Runtime, row: SkillRow) -> str:
    """Return where the model's code would find the skill; empty if it finds it nowhere, or on the host."""
    match runtime.policy.base_directory:
        case BaseDirectory.SHARED:
            return f"{SHARED_SKILLS}/{row.key}"
        case BaseDirectory.TASK_PRIVATE:
            return f"{PRIVATE_SKILLS}/{row.skill.name}"
        case _:
            return ""
