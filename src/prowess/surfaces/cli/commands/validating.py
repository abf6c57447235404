"""`prowess validate`."""

import os
from collections.abc import Callable, Sequence

import click

from prowess.catalog.validation import CheckedSkill, FoundFolders, check_skill, find_skill_folders
from prowess.errors import NotFound
from prowess.policy import PROFILES, STRICT_READING
from prowess.skill.problems import Severity, make_problem
from prowess.sources.places import resolve_sources
from prowess.sources.source import Source, show_path
from prowess.surfaces.cli.annotations import render_github, render_sarif
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_problems, print_text, progress
from prowess.surfaces.records import validation_record

__all__ = ["command"]


@click.command("validate")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--strict", is_flag=True, help="Judge by the open standard, read strictly.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    help="For people, for programs, for GitHub's annotations, or as SARIF.",
)
@json_option
@click.pass_obj
def command(invocation: Invocation, paths: tuple[str, ...], strict: bool, form: str) -> int:
    """Check skills for mistakes: folders of skills, or folders with skills below them.

    Without --strict the question is: would the standard profile load it? The status is 1 if one is invalid.

    \b
    prowess validate ./skills/pdf-fill
    prowess validate --strict --format github ./skills
    """
    settings = invocation.settings()
    reading = STRICT_READING if strict else PROFILES[invocation.profile or "standard"].reading
    sources = resolve_sources(PROFILES["standard"], settings.place)
    found = [_find(path, sources, is_alone=len(paths) == 1) for path in paths]
    folders = list(dict.fromkeys(folder for one in found for folder in one.folders))
    with progress(folders, "checking") as each:
        checked = [check_skill(folder, reading=reading, limits=settings.policy.limits) for folder in each]
    checked += [verdict for one in found for verdict in one.passed_over]
    _print(checked, "json" if invocation.as_json else form)
    return 0 if all(one.valid for one in checked) else 1


def _find(path: str, sources: Sequence[Source], *, is_alone: bool) -> FoundFolders:
    """Return what is to be checked; one of several paths that leads to no folder has a verdict beside the others."""
    try:
        return find_skill_folders(path, sources=sources)
    except NotFound as error:
        if is_alone:
            raise
        problem = make_problem("skill-md-missing", error.message, remedy=error.hint)
        shown = show_path(path)
        return FoundFolders((), (CheckedSkill(shown, os.path.basename(shown), (problem,)),))


def _print(checked: Sequence[CheckedSkill], form: str) -> None:
    printers: dict[str, Callable[[Sequence[CheckedSkill]], None]] = {
        "json": lambda checked: print_json(validation_record(checked)),
        "github": _print_annotations,
        "sarif": lambda checked: print_json(render_sarif(checked)),
        "text": _print_for_people,
    }
    printers[form](checked)


def _print_annotations(checked: Sequence[CheckedSkill]) -> None:
    text = render_github(checked)
    if text:
        print_text(text)


def _print_for_people(checked: Sequence[CheckedSkill]) -> None:
    for one in checked:
        print_problems(one.path, one.problems)
    counts = {severity: sum(p.severity is severity for one in checked for p in one.problems) for severity in Severity}
    valid = sum(one.valid for one in checked)
    skills = "1 skill" if len(checked) == 1 else f"{len(checked):,} skills"
    note(f"{skills}, {valid:,} valid; {counts[Severity.ERROR]:,} errors, {counts[Severity.WARNING]:,} warnings")
