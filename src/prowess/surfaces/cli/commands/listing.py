"""`prowess list`."""

import sys
from collections.abc import Sequence
from dataclasses import replace

import click

from prowess.catalog.catalog import Catalog, RejectedSkill
from prowess.catalog.switches import Switch, Switches
from prowess.catalog.views import View
from prowess.policy import SourceKind
from prowess.runtime import Runtime
from prowess.skill.problems import Severity
from prowess.skill.skill import Skill
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_rows, progress
from prowess.surfaces.records import catalog_record
from prowess.surfaces.skill_choice import STATES, Page, SkillChoice, choose_skills, cut_page

__all__ = ["command"]

_LONGEST_DESCRIPTION = 100
_ON_A_PAGE = 50
_MAX_REJECTED = 10
"""Folders that gave no skill, of which a person is told on a terminal before asking for them."""


@click.command("list")
@click.option("--query", default="", metavar="TEXT", help="Those with all these words in name, id or description.")
@click.option(
    "--source", type=click.Choice([kind.value for kind in SourceKind]), help="Those from this kind of source."
)
@click.option("--state", type=click.Choice(STATES), help="Those in this state; hidden are all that models do not see.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help=f"How many on a page; {_ON_A_PAGE} on a terminal.")
@click.option("--page", type=click.IntRange(1), metavar="K", help="Which page; without it the first.")
@click.option("--refresh", is_flag=True, help="Ask MCP servers first what they have now.")
@json_option
@click.pass_obj
def command(
    invocation: Invocation,
    query: str,
    source: str | None,
    state: str | None,
    limit: int | None,
    page: int | None,
    refresh: bool,
) -> None:
    """List all skills, with what is wrong with them.

    A terminal shows them in pages; a program that reads the output gets all, unless --limit or --page is given.

    \b
    prowess list
    prowess list --query pdf --state visible
    prowess list --limit 100 --page 2
    prowess --skills ./skills list --json
    """
    shows_pages = page is not None or (sys.stdout.isatty() and not invocation.as_json)
    limit = limit or (_ON_A_PAGE if shows_pages else None)
    wanted = SkillChoice(query, source or "", state or "")
    with invocation.open() as runtime:
        catalog = runtime.rescan() if refresh else runtime.catalog()
        if state == "rejected":
            cut, part = _cut_rejected(catalog, limit=limit, number=page or 1)
        else:
            cut, part = _cut_skills(runtime, catalog, wanted, limit=limit, number=page or 1)
        if invocation.as_json:
            with progress(part.skills, "hashing files") as skills:
                for skill in skills:
                    runtime.digest(skill)
            print_json(catalog_record(runtime, part))
        else:
            _print_skills(runtime, part)
            few = _MAX_REJECTED if sys.stdout.isatty() and state != "rejected" else len(part.rejected)
            if state == "rejected" or cut.number == 1:
                _print_rest(invocation, runtime, catalog, part.rejected, most=few)
        if catalog.skills or state == "rejected":
            _tell_page(cut)


def _cut_skills(
    runtime: Runtime, catalog: Catalog, wanted: SkillChoice, *, limit: int | None, number: int
) -> tuple[Page[Skill], Catalog]:
    """Return a page of the skills that are asked for, and the catalog with no others."""
    view = runtime.view() if wanted.state else View("")
    chosen = catalog.skills if wanted == SkillChoice() else choose_skills(catalog, view, wanted)
    cut = cut_page(chosen, limit=limit, number=number)
    return cut, replace(catalog, skills=cut.rows)


def _cut_rejected(catalog: Catalog, *, limit: int | None, number: int) -> tuple[Page[RejectedSkill], Catalog]:
    cut = cut_page(catalog.rejected, limit=limit, number=number)
    return cut, replace(catalog, skills=(), rejected=cut.rows)


def _tell_page(cut: Page[Skill] | Page[RejectedSkill]) -> None:
    """Say how much there is besides this page, if anything."""
    if not cut.total:
        note("Nothing fits. `prowess list` shows all skills.")
    elif cut.number > cut.pages:
        pages = "is only 1 page" if cut.pages == 1 else f"are only {cut.pages:,} pages"
        note(f"There {pages} of {cut.total:,}.")
    elif len(cut.rows) < cut.total:
        more = f"; --page {cut.number + 1} for more" if cut.number < cut.pages else ""
        note(f"{len(cut.rows):,} of {cut.total:,}, page {cut.number:,} of {cut.pages:,}{more}")


def _print_skills(runtime: Runtime, catalog: Catalog) -> None:
    switches = runtime.switches()
    rows = [
        [skill.name, skill.id, _state(runtime, catalog, switches, skill), _short(skill.description)]
        for skill in catalog.skills
    ]
    print_rows(["NAME", "ID", "STATE", "DESCRIPTION"], rows)


def _state(runtime: Runtime, catalog: Catalog, switches: Switches, skill: Skill) -> str:
    position = switches.position(skill)
    marks = [
        "shadowed" if skill.id in catalog.shadowed else "",
        "untrusted" if not skill.trusted else "",
        position.value if position is not Switch.ON else "",
        "" if runtime.is_eligible(skill) else "ineligible",
        "warnings" if any(problem.severity is Severity.WARNING for problem in skill.problems) else "",
    ]
    return ", ".join(mark for mark in marks if mark) or "ok"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 1] + "…"


def _print_rest(
    invocation: Invocation, runtime: Runtime, catalog: Catalog, rejected: Sequence[RejectedSkill], *, most: int
) -> None:
    for one in rejected[:most]:
        for problem in one.problems:
            if problem.severity is Severity.ERROR:
                note(f"not loaded: {one.path}: {problem.message} [{problem.code}]")
    if len(rejected) > most:
        note(f"{len(rejected) - most:,} more are not loaded; `prowess list --state rejected` shows them")
    for problem in catalog.problems:
        if problem.severity is not Severity.INFO:
            invocation.tell_once(problem)
    if not runtime.settings.policy.enabled:
        note("No skills: they are switched off. Set enabled = true in the settings.")
    elif not catalog.skills:
        places = "\n".join(f"  {source.root}" for source in runtime.sources())
        note(f"No skills. Looked in:\n{places}")
