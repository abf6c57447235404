"""What people decided, as plain data: switches, trust and grants."""

from typing import Any

from prowess.activation.grants import Grant
from prowess.catalog.switches import Switch
from prowess.runtime import Runtime
from prowess.runtime.tool_results import show_moment
from prowess.skill.skill import Skill
from prowess.sources.source import show_path

__all__ = ["grant_record", "switch_record", "trust_record"]

Record = dict[str, Any]


def switch_record(runtime: Runtime, skill: Skill, position: Switch, *, agent: str) -> Record:
    """Return how a switch is set now, and whether models see the skill."""
    seen = runtime.why(skill.id, agent=agent).visible
    return {"name": skill.name, "id": skill.id, "switch": position.value, "agent": agent or None, "visible": seen}


def trust_record(runtime: Runtime, project: str, *, trusted: bool) -> Record:
    """Return whether a project is trusted, and which of its skills are concerned."""
    roots = tuple(source.root for source in runtime.sources() if source.project == project)
    skills = [skill.id for skill in runtime.catalog().skills if skill.root in roots]
    return {"project": show_path(project), "trusted": trusted, "skills": skills}


def grant_record(runtime: Runtime, grant: Grant) -> Record:
    """Return a grant as plain data; `current` says whether the skill still has its files, None if it is not here."""
    skill = runtime.catalog().find(grant.skill.skill)
    return {
        "name": grant.name,
        "skill": grant.skill.skill,
        "digest": grant.digest,
        "decision": grant.decision.value,
        "act": grant.act.value,
        "powers": list(grant.powers),
        "scope": grant.scope.value,
        "session": grant.session or None,
        "given_by": grant.given_by,
        "at": show_moment(grant.at),
        "files": len(grant.files),
        "current": None if skill is None else runtime.digest(skill) == grant.digest,
    }
