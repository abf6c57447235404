"""What models are told and what they used, as plain data: plans, searches and usage."""

from collections.abc import Iterable
from typing import Any

from prowess.activation.receipts import Usage
from prowess.disclosure.planner import OVER_BUDGET, Level, Plan, describe
from prowess.runtime.planning import Found
from prowess.runtime.tool_results import show_moment

__all__ = ["plan_record", "search_record", "usage_record"]

Record = dict[str, Any]


def plan_record(plan: Plan, text: str) -> Record:
    """Return what goes into a prompt, and what became of each skill; `text` is what is told, with what goes around."""
    report: Record = {level.value: [skill.name for skill in plan.at(level)] for level in Level}
    reasons = {one.skill.id: one.reason for one in plan.shown} | {skill.id: OVER_BUDGET for skill in plan.left_out}
    return {"text": text, "tokens": plan.tokens, "report": report | {"reasons": reasons, "budget": plan.budget}}


def search_record(found: Iterable[Found]) -> Record:
    """Return what a search has found, best first."""
    rows = [
        {"name": one.skill.name, "id": one.skill.id, "score": one.score, "description": describe(one.skill)}
        for one in found
    ]
    return {"results": rows}


def usage_record(usage: Usage) -> Record:
    """Return how much one skill was used."""
    return {
        "name": usage.name,
        "id": usage.skill,
        "activations": usage.activations,
        "sessions": usage.sessions,
        "tokens": usage.tokens,
        "runs": usage.runs,
        "last_used_at": show_moment(usage.last_used_at),
    }
