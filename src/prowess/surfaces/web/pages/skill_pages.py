"""The pages about skills: the list, one skill, one file of it, what fits into the prompt, and what was used."""

import posixpath
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from prowess.disclosure.planner import Level
from prowess.policy import CatalogText
from prowess.runtime.own_skills import find_own_folder
from prowess.surfaces.decision_records import grant_record
from prowess.surfaces.exact_texts import find_exact_text
from prowess.surfaces.records import model_usage_record
from prowess.surfaces.telling_records import usage_record
from prowess.surfaces.web.api.decisions import describe_trust
from prowess.surfaces.web.api.file_answers import find_picture_type
from prowess.surfaces.web.api.own_skills import describe_versions, list_removed
from prowess.surfaces.web.api.skill_contents import open_contents
from prowess.surfaces.web.api.skills import describe_skill, judge_skill
from prowess.surfaces.web.api.telling import describe_placements
from prowess.surfaces.web.pages.charts import draw_segments
from prowess.surfaces.web.pages.page import Page, Visit
from prowess.surfaces.web.pages.skill_list import make_badges, parse_wanted, show_list
from prowess.surfaces.web.pages.skill_views import find_target_losses, make_tree, see_as_model, show_uses
from prowess.surfaces.web.scene.code_colours import find_language

__all__ = ["SKILL_PAGES"]

_MAX_TEXT = 200_000
"""Characters of a file that a page shows."""
_MAX_BUDGET = 1_000_000
_DAYS = (7, 30, 90)
_MAX_PLACED = 500
"""Skills of one level that the page of the budget lists."""


def _list(visit: Visit) -> Response:
    site, given = visit.site, visit.request.query_params
    snapshot = site.table.current()
    values = show_list(snapshot, parse_wanted(given), show=visit.show_record)
    values["removed"] = list_removed(site.runtime)
    values["project"] = visit.show_text(site.runtime.settings.place.project_root)
    template = "skills/table.html" if given.get("fragment") == "table" else "skills/list.html"
    return visit.render(template, values, page="skills")


def _show(visit: Visit) -> Response:
    site, runtime = visit.site, visit.site.runtime
    snapshot = site.table.current()
    row = snapshot.get(visit.request.path_params["key"])
    files = runtime.files(row.skill)
    tree, more_files = make_tree(row, files)
    grants = [grant_record(runtime, one) for one in runtime.grants() if one.skill.skill == row.skill.id]
    record = visit.show_record(describe_skill(runtime, snapshot, row))
    sight = see_as_model(runtime, snapshot, row, files)
    values: dict[str, Any] = {
        "row": row,
        "skill": record,
        "behaviour": row.skill.manifest.behaviour,
        "badges": make_badges(row),
        "tree": tree,
        "more_files": more_files,
        "problems": visit.show_record(judge_skill(runtime, row))["problems"],
        "sight": sight,
        "entry": visit.show_text(sight.entry),
        "activated": visit.show_text(sight.activated),
        "versions": visit.show_record(describe_versions(runtime, row.skill)),
        "is_own": find_own_folder(runtime, row.skill) is not None,
        "grants": grants,
        "trust": visit.show_record(describe_trust(runtime)),
        "targets": find_target_losses(runtime, row.skill),
        "chart": show_uses(runtime, [row.skill.id]),
    }
    return visit.render("skills/skill.html", values, page="skills")


def _show_file(visit: Visit) -> Response:
    runtime = visit.site.runtime
    row = visit.site.table.get(visit.request.path_params["key"])
    path = visit.request.path_params["path"]
    with open_contents(runtime, row.skill) as contents:
        raw = contents.read(path)
    text = find_exact_text(raw)
    name = posixpath.basename(path)
    values: dict[str, Any] = {
        "row": row,
        "path": path,
        "size": len(raw),
        "download": f"/api/skills/{quote(row.key)}/files/{quote(path)}",
        "is_picture": bool(find_picture_type(raw)),
        "text": None if text is None else text[:_MAX_TEXT],
        "more": 0 if text is None else max(0, len(text) - _MAX_TEXT),
        "language": find_language(posixpath.splitext(name)[1].lstrip(".") or name),
    }
    return visit.render("skills/file.html", values, page="skills")


def _show_budget(visit: Visit) -> Response:
    runtime, given = visit.site.runtime, visit.request.query_params
    query, form = given.get("query", "")[:2_000], _parse_form(given.get("format", ""), runtime.planning.form)
    budget = _parse_number(given.get("budget", ""), most=_MAX_BUDGET)
    plan = runtime.plan(agent=visit.site.options.agent, query=query, form=form, budget=budget)
    placements = describe_placements(runtime, plan, form)
    levels = [_show_level(placements, level, len(plan.at(level))) for level in Level]
    spent = [(one["level"], one["tokens"]) for one in levels if one["level"] != Level.LEFT_OUT]
    frame = plan.tokens - sum(tokens for _, tokens in spent)
    amounts = [*spent, ("frame", frame), ("free", plan.budget - plan.tokens)]
    values: dict[str, Any] = {
        "plan": plan,
        "text": visit.show_text(plan.text),
        "query": query,
        "form": form.value,
        "forms": [one.value for one in (CatalogText.XML, CatalogText.JSON, CatalogText.MARKDOWN)],
        "budget": plan.budget,
        "is_given": budget is not None,
        "levels": levels,
        "segments": draw_segments(amounts, total=max(plan.budget, plan.tokens)),
    }
    return visit.render("skills/budget.html", values, page="budget")


def _show_usage(visit: Visit) -> Response:
    runtime = visit.site.runtime
    asked = _parse_number(visit.request.query_params.get("days", ""), most=_DAYS[-1])
    days = asked if asked in _DAYS else 30
    usage = runtime.usage(days=days)
    table = visit.site.table.current()
    values: dict[str, Any] = {
        "days": days,
        "choices": _DAYS,
        "sessions": usage.sessions,
        "skills": [(usage_record(one), table.find(one.skill)) for one in usage.skills[:_MAX_PLACED]],
        "skills_total": len(usage.skills),
        "models": [model_usage_record(one) for one in runtime.model_usage(days=days)],
        "chart": show_uses(runtime, days=days),
    }
    return visit.render("skills/usage.html", values, page="usage")


def _show_level(placements: list[dict[str, Any]], level: Level, count: int) -> dict[str, Any]:
    rows = [one for one in placements if one["level"] == level.value]
    tokens = sum(one["tokens"] for one in rows)
    return {"level": level.value, "count": count, "tokens": tokens, "rows": rows[:_MAX_PLACED]}


def _parse_form(text: str, usual: CatalogText) -> CatalogText:
    return CatalogText(text) if text in ("xml", "json", "markdown") else usual


def _parse_number(text: str, *, most: int) -> int | None:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None
    return None if number is None else min(number, most)


SKILL_PAGES = (
    Page("/skills", "skills", _list),
    Page("/skills/{key}", "skill", _show),
    Page("/skills/{key}/files/{path:path}", "skill_file", _show_file),
    Page("/budget", "budget", _show_budget),
    Page("/usage", "usage", _show_usage),
)
