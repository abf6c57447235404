"""What becomes of a call under a skill: the host's rules hold always, the skill's own as the policy says."""

import logging

from prowess.errors import Refused
from prowess.execution.rules.rights import Rights
from prowess.execution.rules.tool_rules import Covered, Uncovered, covers, covers_all, find_prohibition
from prowess.policy import AllowedTools
from prowess.skill.skill import Skill

__all__ = ["apply_rules", "check_tool"]

_LOG = logging.getLogger("prowess")


def check_tool(
    skill: Skill, policy: AllowedTools, rights: Rights, tool: str, subject: str, *, workspace: str
) -> tuple[str, ...]:
    """Refuse a tool call that a skill must not make, or return what to say of it; `subject` is its command or path."""
    own = skill.manifest.allowed_tools
    return apply_rules(
        skill,
        policy,
        what=f"the tool {tool}",
        host=covers_all(rights.tools, tool, subject, workspace=workspace),
        own=None if own is None else covers(own, tool, subject, workspace=workspace),
        forbidden_by=find_prohibition(skill.manifest.behaviour.disallowed_tools, tool, subject, workspace=workspace),
    )


def apply_rules(
    skill: Skill,
    policy: AllowedTools,
    *,
    what: str,
    host: Covered | Uncovered,
    own: Covered | Uncovered | None,
    forbidden_by: str | None,
) -> tuple[str, ...]:
    """Refuse what the host does not cover, or the skill forbids; refuse, advise or log what its rules do not cover.

    A skill that says nothing of tools has no rules of its own. What it says never allows more than the host does.
    """
    if isinstance(host, Uncovered):
        raise Refused(
            f"{what} is not allowed here under skill '{skill.name}': {host.reason}",
            hint="the operator allows more with execution.tools",
            code="tool-not-allowed",
        )
    if forbidden_by is not None:
        raise Refused(
            f"skill '{skill.name}': its own disallowed-tools forbid {what}, by {forbidden_by}",
            hint="only its author can allow it",
            code="tool-not-allowed",
        )
    if not isinstance(own, Uncovered):
        return ()
    message = f"the skill's own allowed-tools do not cover {what}: {own.reason}"
    match policy:
        case AllowedTools.ENFORCE:
            raise Refused(
                f"skill '{skill.name}': {message}",
                hint="its author may add it, or the operator may set execution.allowed_tools",
                code="tool-not-allowed",
            )
        case AllowedTools.ADVISE:
            return (message,)
        case AllowedTools.LOG:
            _LOG.info("skill '%s': %s", skill.name, message)
            return ()
