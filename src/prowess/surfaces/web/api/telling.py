"""What models are told and what was used, over HTTP: the prompt, search, usage, and the models themselves."""

from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from prowess.activation.receipts import DayUsage
from prowess.disclosure.catalog_text import FORMS
from prowess.disclosure.planner import OVER_BUDGET, Level, Plan
from prowess.policy import CatalogText
from prowess.runtime import Runtime
from prowess.skill.activation_keys import make_activation_key
from prowess.surfaces.records import Record, model_usage_record
from prowess.surfaces.telling_records import plan_record, search_record, usage_record
from prowess.surfaces.web.api.models import describe_models
from prowess.surfaces.web.api.operations import Call, Operation
from prowess.surfaces.web.days import show_day

__all__ = ["TELLING_OPERATIONS", "describe_placements"]

MAX_LEFT_OUT = 1_000
"""Skills without room in the prompt that one answer names."""
_row = partial(Operation, "GET", tag="telling")


class PromptQuery(Struct, kw_only=True):
    """For what the prompt is planned."""

    budget: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    """In tokens; without it, what the settings say."""
    query: Annotated[str, Meta(max_length=2_000)] = ""
    form: Literal["", "xml", "json", "markdown"] = field(name="format", default="")


class PlanReport(Struct, kw_only=True):
    """What became of each skill."""

    full: list[str]
    shortened: list[str]
    name_only: list[str]
    left_out: list[str]
    """Names, as many as are listed; `left_out_total` counts all."""
    left_out_total: int
    reasons: dict[str, str]
    budget: int


class PlacementRow(Struct, kw_only=True):
    """How much of a skill is shown, and why."""

    id: str
    key: str
    name: str
    level: Level
    reason: str
    tokens: int


class PromptAnswer(Struct, kw_only=True):
    """What a model is told of the skills."""

    text: str
    tokens: int
    report: PlanReport
    placements: list[PlacementRow]


class SearchQuery(Struct, kw_only=True):
    """What is looked for."""

    query: Annotated[str, Meta(min_length=1, max_length=1_000)]
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class FoundRow(Struct, kw_only=True):
    """A skill that was found."""

    name: str
    id: str
    key: str
    score: float
    description: str


class SearchAnswer(Struct, kw_only=True):
    """Visible skills that fit, best first."""

    results: list[FoundRow]


class UsageQuery(Struct, kw_only=True):
    """Of how many days."""

    days: Annotated[int, Meta(ge=1, le=3_650)] = 30


class UsedSkill(Struct, kw_only=True):
    """How much one skill was used."""

    name: str
    id: str
    activations: int
    sessions: int
    tokens: int
    runs: int
    last_used_at: str


class UsedDay(Struct, kw_only=True):
    """How much one skill was used on one day."""

    day: str
    skill: str
    name: str
    activations: int
    runs: int


class TokenCounts(Struct, kw_only=True):
    """What requests to a model have used."""

    requests: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None


class UsedModel(Struct, kw_only=True):
    """How much one model was used."""

    model: str
    turns: int
    forks: int
    use: TokenCounts


class UsageAnswer(Struct, kw_only=True):
    """What was used in the last days."""

    sessions: int
    skills: list[UsedSkill]
    days: list[UsedDay]
    models: list[UsedModel]


class ModelRow(Struct, kw_only=True):
    """A model that can be chosen."""

    name: str
    calls_tools: bool | None
    """None if that is not known; without tools, skills stay off."""
    note: str


class ModelList(Struct, kw_only=True):
    """The models that can be chosen, and of which providers there are keys."""

    models: list[ModelRow]
    default: str
    notes: list[str]


def describe_placements(runtime: Runtime, plan: Plan, form: CatalogText) -> list[Record]:
    """Return how much of each skill a prompt shows, why, and for how many tokens; those that are left out last."""
    entry, count = FORMS[form].entry, runtime.planning.counter.count
    shown = [
        {
            "id": one.skill.id,
            "key": make_activation_key(one.skill.id),
            "name": one.skill.name,
            "level": one.level.value,
            "reason": one.reason,
            "tokens": count(entry(one.skill, one.description)),
        }
        for one in plan.shown
    ]
    left_out = [
        {
            "id": skill.id,
            "key": make_activation_key(skill.id),
            "name": skill.name,
            "level": Level.LEFT_OUT.value,
            "reason": OVER_BUDGET,
            "tokens": 0,
        }
        for skill in plan.left_out[:MAX_LEFT_OUT]
    ]
    return shown + left_out


def _plan(call: Call) -> Record:
    runtime, asked = call.site.runtime, call.query
    form = CatalogText(asked.form) if asked.form else runtime.planning.form
    plan = runtime.plan(agent=call.site.options.agent, query=asked.query, form=form, budget=asked.budget)
    record = plan_record(plan, plan.text)
    listed = {skill.id for skill in plan.left_out[MAX_LEFT_OUT:]}
    report = record["report"]
    report["left_out"] = report["left_out"][:MAX_LEFT_OUT]
    report["left_out_total"] = len(plan.left_out)
    report["reasons"] = {skill: reason for skill, reason in report["reasons"].items() if skill not in listed}
    return record | {"placements": describe_placements(runtime, plan, form)}


def _search(call: Call) -> Record:
    found = call.site.runtime.search(call.query.query, agent=call.site.options.agent, limit=call.query.limit)
    rows = search_record(found)["results"]
    return {"results": [row | {"key": make_activation_key(row["id"])} for row in rows]}


def _count(call: Call) -> Record:
    runtime, days = call.site.runtime, call.query.days
    usage = runtime.usage(days=days)
    return {
        "sessions": usage.sessions,
        "skills": [usage_record(one) for one in usage.skills],
        "days": [_day_record(one) for one in runtime.usage_by_day(days=days)],
        "models": [model_usage_record(one) for one in runtime.model_usage(days=days)],
    }


def _day_record(one: DayUsage) -> Record:
    return {
        "day": show_day(one.day),
        "skill": one.skill,
        "name": one.name,
        "activations": one.activations,
        "runs": one.runs,
    }


def _list_models(call: Call) -> Record:
    return describe_models(call.site.runtime, default=call.site.options.model)


TELLING_OPERATIONS = (
    _row(
        "/api/prompt",
        "plan_prompt",
        "Show what a model is told of the skills, and why not more.",
        _plan,
        query=PromptQuery,
        answer=PromptAnswer,
    ),
    _row(
        "/api/search",
        "search_skills",
        "Find visible skills by what they do.",
        _search,
        query=SearchQuery,
        answer=SearchAnswer,
    ),
    _row(
        "/api/usage",
        "count_usage",
        "Show how much skills and models were used.",
        _count,
        query=UsageQuery,
        answer=UsageAnswer,
    ),
    _row("/api/models", "list_models", "List the models that can be chosen.", _list_models, answer=ModelList),
)
