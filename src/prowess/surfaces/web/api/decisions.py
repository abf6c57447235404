"""What people decide on skills, over HTTP: switches, trust, grants; and a new search of all sources."""

from functools import partial

from msgspec import Struct

from prowess.activation.grants import Act, Decision, Scope
from prowess.catalog.switches import Switch
from prowess.runtime import Runtime
from prowess.surfaces.decision_records import grant_record, switch_record, trust_record
from prowess.surfaces.records import Record
from prowess.surfaces.web.api.operations import Call, Operation

__all__ = ["DECISION_OPERATIONS", "describe_trust"]

_row = partial(Operation, tag="decisions")


class SwitchBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """How much of a skill is to be offered."""

    position: Switch


class SwitchAnswer(Struct, kw_only=True):
    """How a skill is switched now."""

    name: str
    id: str
    key: str
    switch: Switch
    agent: str | None
    """The agent that it holds for; None: for all."""
    visible: bool
    """Whether models see it."""


class RescanAnswer(Struct, kw_only=True):
    """What a search of all sources has found."""

    skills: int
    shadowed: int
    rejected: int
    problems: int
    generation: int


class TrustBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """Whether models may see the skills of the project around the working folder."""

    trusted: bool


class TrustAnswer(Struct, kw_only=True):
    """Whether the project is trusted, and which skills that concerns."""

    project: str
    trusted: bool
    skills: list[str]
    """Ids of all its skills."""
    untrusted: list[str]
    """Ids of those that models do not see for want of trust."""


class TrustChange(TrustAnswer, kw_only=True):
    """The same, and whether that is new."""

    changed: bool


class GrantRow(Struct, kw_only=True):
    """What was agreed to or refused, for the exact files of one digest."""

    name: str
    skill: str
    """The skill's id."""
    digest: str
    decision: Decision
    act: Act
    powers: list[str]
    scope: Scope
    session: str | None
    given_by: str
    at: str
    files: int
    current: bool | None
    """Whether the skill still has these files; None if it is not here."""


class GrantList(Struct, kw_only=True):
    """What was decided, newest first."""

    grants: list[GrantRow]


class RevokeAnswer(Struct, kw_only=True):
    """How many decisions were forgotten."""

    revoked: int


def describe_trust(runtime: Runtime) -> Record:
    """Return whether the project around the working folder is trusted, and which skills that concerns."""
    project = runtime.settings.place.project_root
    record = trust_record(runtime, project, trusted=project in runtime.trusted_projects())
    catalog = runtime.catalog()
    return record | {"untrusted": [skill.id for skill in catalog.skills if not skill.trusted]}


def _switch(call: Call) -> Record:
    """Set a switch for the agent that is served: nobody sees others here, and what they have is not to change."""
    runtime, agent, row = call.site.runtime, call.site.options.agent, call.site.table.get(call.path["skill"])
    skill = runtime.set_switch(row.skill.id, call.body.position, agent=agent)
    return switch_record(runtime, skill, call.body.position, agent=agent) | {"key": row.key}


def _rescan(call: Call) -> Record:
    catalog = call.site.runtime.rescan()
    return {
        "skills": len(catalog.skills),
        "shadowed": len(catalog.shadowed),
        "rejected": len(catalog.rejected),
        "problems": len(catalog.problems),
        "generation": catalog.generation,
    }


def _show_trust(call: Call) -> Record:
    return describe_trust(call.site.runtime)


def _set_trust(call: Call) -> Record:
    runtime = call.site.runtime
    _, changed = runtime.trust() if call.body.trusted else runtime.untrust()
    return describe_trust(runtime) | {"changed": changed}


def _list_grants(call: Call) -> Record:
    runtime = call.site.runtime
    return {"grants": [grant_record(runtime, grant) for grant in runtime.grants()]}


def _revoke(call: Call) -> Record:
    asked = call.path["skill"]
    row = call.site.table.current().find(asked)
    return {"revoked": call.site.runtime.revoke(row.skill.id if row else asked)}


DECISION_OPERATIONS = (
    _row(
        "PUT",
        "/api/skills/{skill}/switch",
        "switch_skill",
        "Say how much of a skill is offered.",
        _switch,
        body=SwitchBody,
        answer=SwitchAnswer,
        errors=(404,),
    ),
    _row("POST", "/api/rescan", "rescan", "Search all sources for skills now.", _rescan, answer=RescanAnswer),
    _row("GET", "/api/trust", "show_trust", "Say whether the project is trusted.", _show_trust, answer=TrustAnswer),
    _row(
        "PUT",
        "/api/trust",
        "set_trust",
        "Trust the project around the working folder, or no more.",
        _set_trust,
        body=TrustBody,
        answer=TrustChange,
    ),
    _row("GET", "/api/grants", "list_grants", "List what was agreed to and refused.", _list_grants, answer=GrantList),
    _row(
        "DELETE",
        "/api/grants/{skill}",
        "revoke_grants",
        "Forget what was decided on a skill.",
        _revoke,
        answer=RevokeAnswer,
        errors=(404,),
    ),
)
