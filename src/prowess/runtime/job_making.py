"""A prepared run as a Job for a sandbox: what it sees, what it is told, how much it may use. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from prowess.containers.mounts import SHARED_SKILLS, Access, Mount
from prowess.execution.jobs import (
    INPUT_FILE,
    OUTPUT_FOLDER,
    PACKAGES_FOLDER,
    WORKSPACE_FOLDER,
    Job,
    make_search_path,
)
from prowess.policy import Execution, RunLimits, WorkFolder, WorkspaceAccess
from prowess.runtime.run_preparation import Prepared
from prowess.runtime.run_results import RunRequest
from prowess.skill.activation_keys import make_activation_key
from prowess.skill.skill import Skill

__all__ = ["World", "locate_inside", "make_job"]

_TEMPORARY = "/tmp"  # noqa: S108 - the sandbox's own


@dataclass(frozen=True, slots=True)
class World:
    """What of the host a run is shown, and how."""

    policy: Execution
    workspace: str
    """The working folder."""
    version: str
    """The folder with the files of the skill."""
    packages: str = ""
    """The folder with the packages of the run; empty if it has none."""
    helper: Mount | None = None
    """What serves the tools of a skill."""


def locate_inside(skill: Skill) -> str:
    """Return where a run sees its skill."""
    return f"{SHARED_SKILLS}/{make_activation_key(skill.id)}"


def make_job(skill: Skill, prepared: Prepared, command: Sequence[str], request: RunRequest, *, world: World) -> Job:
    """Return the job of a run that was allowed."""
    inside = locate_inside(skill)
    sees_workspace = prepared.workspace is not WorkspaceAccess.NONE
    stands_there = world.policy.work_folder is WorkFolder.WORKSPACE and sees_workspace and world.helper is None
    return Job(
        tuple(command),
        work_folder=WORKSPACE_FOLDER if stands_there else inside,
        mounts=tuple(_list_mounts(inside, prepared, world)),
        environment=_make_environment(skill, prepared, world),
        secrets=prepared.secrets,
        input=prepared.input,
        network=prepared.network,
        limits=_limit(world.policy.limits, request),
    )


def _list_mounts(inside: str, prepared: Prepared, world: World) -> list[Mount]:
    mounts = [Mount(world.version, inside=inside)]
    if prepared.workspace is not WorkspaceAccess.NONE:
        access = Access.READ_WRITE if prepared.workspace is WorkspaceAccess.WRITE else Access.READ_ONLY
        mounts.append(Mount(world.workspace, inside=WORKSPACE_FOLDER, access=access))
    mounts += [Mount(world.packages, inside=PACKAGES_FOLDER)] if world.packages else []
    return [*mounts, world.helper] if world.helper else mounts


def _make_environment(skill: Skill, prepared: Prepared, world: World) -> dict[str, str]:
    """Return all variables of a run but its secrets; nothing of this process' own."""
    own_programs = f"{PACKAGES_FOLDER}/bin" if world.packages else ""
    found = {
        "PATH": make_search_path(world.policy.programs, first=own_programs),
        "HOME": _TEMPORARY,
        "TMPDIR": _TEMPORARY,
        "LANG": "C.UTF-8",
        "USER": "skill",
        "LOGNAME": "skill",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PROWESS_SKILL": skill.name,
        "PROWESS_SKILL_FOLDER": locate_inside(skill),
        "PROWESS_OUTPUT": OUTPUT_FOLDER,
    }
    modules = [*([world.helper.inside] if world.helper else []), *([PACKAGES_FOLDER] if world.packages else [])]
    if prepared.input is not None or world.helper is not None:
        found["PROWESS_INPUT"] = INPUT_FILE
    if prepared.workspace is not WorkspaceAccess.NONE:
        found["PROWESS_WORKSPACE"] = WORKSPACE_FOLDER
    if world.helper is not None:
        found["PYTHONSAFEPATH"] = "1"  # A json.py in the skill's folder must not come before Python's own.
    return found | ({"PYTHONPATH": ":".join(modules)} if modules else {})


def _limit(limits: RunLimits, request: RunRequest) -> RunLimits:
    """Return the limits; who may run for longer may also compute for longer."""
    if request.timeout_seconds is None:
        return limits
    seconds = request.timeout_seconds
    return replace(limits, timeout_seconds=seconds, cpu_seconds=max(limits.cpu_seconds, math.ceil(seconds)))
