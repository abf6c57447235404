"""Forks: skills that a subagent works. What is decided of them here, and what is asked of the agent with the model."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from prowess.activation.receipts import AskedBy
from prowess.errors import ToolInputError
from prowess.execution.rules.permission_tags import PermissionKind, PermissionTag, normalise_tags
from prowess.execution.rules.rights import Rights, check_tags, intersect
from prowess.policy import RunIn, WorkspaceAccess
from prowess.skill.skill import Skill
from prowess.state.conversations import TurnReceipt

__all__ = [
    "ForkResult",
    "ForkWish",
    "Forker",
    "decide_fork",
    "limit_powers",
    "name_work",
    "need_prompt",
    "pass_on",
]

_WANTED = ("", RunIn.HERE.value, RunIn.FORK.value)
"""What a model can say of where a skill is to be worked."""


@dataclass(frozen=True, slots=True)
class ForkWish:
    """A skill for a subagent to work, with consent to its very files."""

    skill: Skill
    digest: str
    """Of the files that were agreed to."""
    prompt: str
    asked_by: AskedBy
    permissions: tuple[PermissionTag, ...]
    rights: Rights
    """All that may be done in the fork."""

    @property
    def granted_by(self) -> str:
        """To whom the permissions are attributed."""
        return f"{self.skill.name} Skill"


@dataclass(frozen=True, slots=True)
class ForkResult:
    """What a subagent has answered."""

    text: str
    receipt: TurnReceipt


class Forker(Protocol):
    """Has a subagent work a skill."""

    def check(self, skill: Skill) -> None:
        """Raise `Refused` if there must be no such fork: before anybody is asked about it."""
        ...

    def fork(self, wish: ForkWish) -> ForkResult:
        """Return the subagent's answer. Raise `Refused` if `check` does, or if it gave none."""
        ...


def decide_fork(policy: RunIn, skill: Skill, *, asked: str = "") -> bool:
    """Whether a skill is worked in a subagent, where there can be one. `asked` is what the model wants."""
    if asked not in _WANTED:
        raise ToolInputError("run_in cannot be that", hint="say here or fork, or leave it out", code="bad-arguments")
    match policy:
        case RunIn.HERE:
            return False
        case RunIn.FORK:
            return True
        case RunIn.DECLARED:
            return skill.manifest.behaviour.forks or asked == RunIn.FORK.value


def need_prompt(skill: Skill, prompt: str) -> str:
    """Return what a subagent is to do; it knows nothing of the conversation, so it must be told."""
    if prompt.strip():
        return prompt
    raise ToolInputError(
        f"skill '{skill.name}' is worked by a subagent, which needs a prompt",
        hint="say all that it should do and needs to know",
        code="prompt-needed",
    )


def pass_on(skill: Skill, rights: Rights) -> tuple[tuple[PermissionTag, ...], Rights]:
    """Return the permissions that a skill declares, and the rights that its fork has by them.

    Raise `Refused` if whoever forks lacks one. What is not declared is not passed on, but for the rules on tools, which
    hold in the fork as well.
    """
    tags = normalise_tags(skill.manifest.behaviour.permissions)
    check_tags(tags, rights)
    kinds = {tag.kind for tag in tags}
    declared = Rights(
        network=PermissionKind.NETWORK in kinds,
        events=PermissionKind.EVENTS in kinds,
        workspace=WorkspaceAccess.WRITE if PermissionKind.WORKSPACE in kinds else WorkspaceAccess.NONE,
        read_dirs=tuple(tag.path for tag in tags if tag.kind is PermissionKind.READ),
        write_dirs=tuple(tag.path for tag in tags if tag.kind is PermissionKind.WRITE),
    )
    return tags, intersect(rights, declared)


def limit_powers(powers: Iterable[str], rights: Rights) -> tuple[str, ...]:
    """Return those powers of runs that are within the rights; secrets and packages are the skill's own to declare."""
    return tuple(power for power in powers if _is_within(power, rights))


def _is_within(power: str, rights: Rights) -> bool:
    if power == "network":
        return rights.network
    if power.startswith("workspace:"):
        least = WorkspaceAccess.WRITE if power.startswith("workspace:write:") else WorkspaceAccess.READ
        return rights.workspace in (least, WorkspaceAccess.WRITE)
    return True


def name_work(prompt: str) -> str:
    """Return what a question about a fork is for: consent to it is none to the skill in the conversation itself."""
    return f"fork\0{prompt}"
