"""What a run has beyond a plain sandbox, decided before anybody is asked: network, workspace, secrets, packages."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from prowess.catalog.views import Reason
from prowess.errors import BrokenSkill, ProwessError, Refused, ToolInputError
from prowess.execution.probing import Facts
from prowess.execution.rules.permission_tags import PermissionKind, PermissionTag, normalise_tags
from prowess.execution.rules.rights import Rights
from prowess.execution.secrecy.given_secrets import gather_secrets, missing_secrets_error
from prowess.policy import Packages, WorkspaceAccess
from prowess.runtime.run_results import RunRequest
from prowess.runtime.workbench import Workbench
from prowess.skill.declared_secrets import declared_secrets
from prowess.skill.problems import make_problem
from prowess.skill.skill import Skill

if TYPE_CHECKING:
    from prowess.execution.packages.locking import Lock

__all__ = [
    "Progress",
    "decide_network",
    "decide_workspace",
    "describe_unmet",
    "explain_secrets",
    "find_secrets",
    "lock_packages",
    "name_platform",
]

_MANYLINUX = (40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 28, 17)
"""The minor versions of glibc 2 for which there is a name."""
_ACCESS = (WorkspaceAccess.NONE, WorkspaceAccess.READ, WorkspaceAccess.WRITE)

Progress = Callable[[str], None]
"""Told, a line at a time, what is being done before a run."""


def decide_network(skill: Skill, request: RunRequest, rights: Rights) -> tuple[bool, tuple[str, ...]]:
    """Return whether a run wants a network and may have one, and what is to be said of it."""
    tags = _read_tags(skill)
    declared = any(tag.kind is PermissionKind.NETWORK for tag in tags)
    if rights.network:
        return declared or request.network, ()
    if request.network:
        raise Refused(
            f"a run of skill '{skill.name}' may have no network here",
            hint='set execution.network = "granted" in the settings',
            code="no-network",
        )
    return False, ("the skill asks for the network, which runs do not have here",) if declared else ()


def describe_unmet(skill: Skill, workspace: WorkspaceAccess) -> tuple[str, ...]:
    """Return what is to be said of permissions, besides the network, that a skill asks for and a run does not have."""
    met = {PermissionKind.NETWORK, *([PermissionKind.WORKSPACE] if workspace is WorkspaceAccess.WRITE else [])}
    return tuple(
        f"the skill asks for {tag}, which this run does not have" for tag in _read_tags(skill) if tag.kind not in met
    )


def _read_tags(skill: Skill) -> tuple[PermissionTag, ...]:
    try:
        return normalise_tags(skill.manifest.behaviour.permissions)
    except ToolInputError as error:
        raise Refused(f"skill '{skill.name}': {error.message}", hint=error.hint, code="bad-permission") from error


def decide_workspace(workbench: Workbench, request: RunRequest, rights: Rights) -> WorkspaceAccess:
    """Return what a run may do with the workspace: what the host and the session allow, or less if that is asked."""
    most = rights.workspace
    access = most if request.workspace is None else request.workspace
    if _ACCESS.index(access) > _ACCESS.index(most):
        raise Refused(
            f"a run may not {access.value} the workspace here",
            hint=f'set execution.workspace = "{access.value}" in the settings',
            code="no-workspace",
        )
    if access is not WorkspaceAccess.NONE and workbench.is_exposed:
        raise Refused(
            "the working folder holds the folder of Prowess itself, with grants and secrets, which no script may see",
            hint='work in another folder, or let runs do without it (--workspace none, execution.workspace = "none")',
            code="workspace-exposed",
        )
    return access


def find_secrets(workbench: Workbench, skill: Skill) -> Mapping[str, str]:
    """Return the secrets that a skill declares; raise if one is kept nowhere that it must have."""
    declared = declared_secrets(skill.manifest.behaviour)
    if not declared:
        return {}
    gathered = gather_secrets(
        declared,
        store=workbench.secrets(),
        host_variables=workbench.policy.host_variables,
        environ=os.environ,
        skill_id=skill.id,
        skill_name=skill.name,
    )
    if gathered.missing:
        raise missing_secrets_error(skill.name, gathered.missing)
    return gathered.values


def explain_secrets(workbench: Workbench, skill: Skill) -> list[Reason]:
    """Return why scripts of a skill could not run for want of a secret; nothing if they could."""
    try:
        find_secrets(workbench, skill)
    except ProwessError as error:
        return [Reason(error.code, error.message, error.hint)]
    return []


def lock_packages(
    workbench: Workbench, skill: Skill, source: bytes, facts: Facts, *, progress: Progress
) -> "tuple[Lock | None, tuple[str, ...]]":
    """Return the exact packages that a script declares, None if it declares none, and what is to be said of it."""
    from prowess.execution.packages.script_metadata import parse_script_metadata, satisfies_python

    metadata, problems = parse_script_metadata(source)
    if problems:
        text = "; ".join(problem.message for problem in problems[:3])
        raise BrokenSkill(f"skill '{skill.name}': {text}", problems=problems, hint=problems[0].remedy)
    if metadata is None:
        return None, ()
    if not satisfies_python(metadata.requires_python, facts.python):
        version = ".".join(map(str, facts.python))
        message = f"it needs Python {metadata.requires_python}, and the sandbox has {version or 'none'}"
        problem = make_problem("interpreter-missing", message, remedy="let scripts run where there is such a Python")
        raise BrokenSkill(
            f"skill '{skill.name}': {message}", problems=(problem,), hint=problem.remedy, code=problem.code
        )
    told = (f"the script's block names {', '.join(metadata.ignored)}: not obeyed here",) if metadata.ignored else ()
    if not metadata.dependencies:
        return None, told
    if workbench.policy.packages is Packages.OFF:
        raise Refused(
            f"skill '{skill.name}' declares packages, and none are installed here",
            hint='set execution.packages = "ask" in the settings',
            code="packages-off",
        )
    from prowess.execution.packages.locking import Interpreter, find_lock, make_lock
    from prowess.execution.packages.uv_command import find_uv

    interpreter = Interpreter(facts.python, name_platform(facts))
    found = find_lock(metadata, interpreter=interpreter, cache=workbench.cache)
    if found is None:
        found = make_lock(metadata, interpreter=interpreter, cache=workbench.cache, uv=find_uv(), progress=progress)
    return found, told


def name_platform(facts: Facts) -> str:
    """Return what uv calls the sandbox's platform."""
    kind, _, version = facts.libc.partition(" ")
    parts = version.split(".")
    if kind == "glibc" and parts[0] == "2" and parts[1:2] and parts[1].isdigit():
        minor = next((known for known in _MANYLINUX if known <= int(parts[1])), None)
        if minor is not None:
            return f"{facts.machine}-manylinux_2_{minor}"
    return f"{facts.machine}-unknown-linux-musl" if facts.libc == "" else f"{facts.machine}-unknown-linux-gnu"
