"""Values as plain data, for every surface that writes JSON. The keys are a contract."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from prowess.catalog.catalog import Catalog, RejectedSkill
from prowess.catalog.reasons import Explanation
from prowess.catalog.switches import EVERY_AGENT, Switch, Switches
from prowess.catalog.validation import CheckedSkill
from prowess.copies.sync import SyncReport
from prowess.runtime import Runtime
from prowess.runtime.tool_results import show_moment
from prowess.skill.digest import SkillFile
from prowess.skill.problems import Problem
from prowess.skill.skill import Skill
from prowess.skill.targets import Loss
from prowess.sources.source import show_bytes, show_path
from prowess.state.conversations import ConversationRecord, ModelUsage

__all__ = [
    "catalog_record",
    "conversation_record",
    "explanation_record",
    "file_record",
    "loss_record",
    "model_usage_record",
    "problem_record",
    "rejected_record",
    "skill_record",
    "skill_row",
    "sync_record",
    "validation_record",
]

Record = dict[str, Any]


def problem_record(problem: Problem) -> Record:
    """Return a Problem as plain data; `path` only where it is not SKILL.md itself."""
    record: Record = {
        "code": problem.code,
        "severity": problem.severity.value,
        "message": problem.message,
        "line": problem.line,
        "column": problem.column,
        "remedy": problem.remedy,
    }
    return record if problem.path is None else record | {"path": problem.path}


def _problems(problems: Iterable[Problem]) -> list[Record]:
    return [problem_record(problem) for problem in problems]


def catalog_record(runtime: Runtime, catalog: Catalog) -> Record:
    """Return what `list` shows."""
    switches = runtime.switches()
    return {
        "skills": [skill_row(runtime, catalog, switches, skill) for skill in catalog.skills],
        "rejected": [rejected_record(one) for one in catalog.rejected],
        "problems": _problems(catalog.problems),
    }


def rejected_record(one: RejectedSkill) -> Record:
    """Return a folder that gave no skill, with the reasons."""
    return {"path": one.path, "problems": _problems(one.problems)}


def skill_row(
    runtime: Runtime, catalog: Catalog, switches: Switches, skill: Skill, *, agent: str = EVERY_AGENT
) -> Record:
    """Return a skill as it is listed, with its digest, and switched as it is for an agent."""
    digest = runtime.digest(skill)
    unread = () if digest else runtime.files(skill).problems
    return {
        "id": skill.id,
        "name": skill.name,
        "description": skill.description,
        "source": skill.kind.value,
        "digest": digest or None,
        "enabled": switches.position(skill, agent=agent) is not Switch.OFF,
        "eligible": runtime.is_eligible(skill),
        "trusted": skill.trusted,
        "shadowed_by": catalog.shadowed.get(skill.id),
        "problems": _problems((*skill.problems, *unread)),
    }


def skill_record(runtime: Runtime, catalog: Catalog, skill: Skill, *, agent: str = EVERY_AGENT) -> Record:
    """Return everything about one skill, as `show` does, and switched as it is for an agent."""
    files = runtime.files(skill)
    switches = runtime.switches()
    row = skill_row(runtime, catalog, switches, skill, agent=agent)
    return row | {
        "problems": [*row["problems"], *_problems(runtime.script_problems(skill))],
        "category": skill.category or None,
        "path": show_path(skill.folder),
        "root": show_path(skill.root),
        "switch": switches.position(skill, agent=agent).value,
        "missing": list(runtime.missing(skill)),
        "version": skill.manifest.version or None,
        "manifest": _manifest_record(skill),
        "frontmatter": skill.manifest.frontmatter,
        "files": [file_record(file) for file in files.files],
    }


def file_record(file: SkillFile) -> Record:
    """Return a file of a skill as plain data."""
    return {
        "path": show_bytes(file.path),
        "kind": file.kind.value,
        "size": file.size,
        "sha256": file.sha256,
    }


def _manifest_record(skill: Skill) -> Record:
    manifest = skill.manifest
    allowed = manifest.allowed_tools
    return {
        "name": manifest.name,
        "description": manifest.description,
        "license": manifest.license,
        "compatibility": manifest.compatibility,
        "metadata": manifest.metadata,
        "allowed_tools": None if allowed is None else list(allowed),
        **asdict(manifest.behaviour),
    }


def loss_record(loss: Loss) -> Record:
    """Return what another agent would lose, as plain data."""
    return {"kind": loss.kind.value, "field": loss.field, "message": loss.message}


def explanation_record(explanation: Explanation) -> Record:
    """Return what `why` answers."""
    return {
        "name": explanation.name,
        "visible": explanation.visible,
        "reasons": [asdict(reason) for reason in explanation.reasons],
    }


def validation_record(checked: Iterable[CheckedSkill]) -> Record:
    """Return what `validate` found."""
    skills = [
        {"path": one.path, "name": one.name, "valid": one.valid, "problems": _problems(one.problems)} for one in checked
    ]
    return {"valid": all(skill["valid"] for skill in skills), "skills": skills}


def sync_record(report: SyncReport) -> Record:
    """Return what a sync has done."""
    return {
        "active_root": report.active_root,
        "copied": list(report.copied),
        "unchanged": report.unchanged,
        "removed": list(report.removed),
        "skipped": [{"id": one.id, "problem": problem_record(one.problem)} for one in report.skipped],
        "seconds": round(report.seconds, 6),
    }


def conversation_record(conversation: ConversationRecord) -> Record:
    """Return a conversation as it is listed, its times as text."""
    return asdict(conversation) | {
        "created_at": show_moment(conversation.created_at),
        "used_at": show_moment(conversation.used_at),
    }


def model_usage_record(usage: ModelUsage) -> Record:
    """Return how much a model was used."""
    return asdict(usage)
