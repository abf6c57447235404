"""`prowess add`."""

import os
import shlex
from collections.abc import Callable, Sequence

import click

from prowess.copies.bringing import Extent, Failure, Judge, bring_skills, update_skill
from prowess.copies.personal import Change, ChangeStatus, PersonalSkills
from prowess.errors import ProwessError
from prowess.policy import STRICT_READING
from prowess.runtime import Runtime
from prowess.runtime.own_skills import find_own_folder
from prowess.sources.source import show_path
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_text
from prowess.surfaces.cli.statuses import find_status
from prowess.surfaces.own_skill_records import change_record
from prowess.surfaces.records import Record

__all__ = ["command"]

_Outcome = Change | Failure
_Work = Callable[[], Sequence[_Outcome]]


@click.command("add")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("--all", "everything", is_flag=True, help="Add every skill below PATH; with --update: update all.")
@click.option("--update", is_flag=True, help="Fetch skills again that came from git; PATH is the name of one.")
@click.option("--strict", is_flag=True, help="Take only what follows the open standard, read strictly.")
@json_option
@click.pass_obj
def command(invocation: Invocation, paths: tuple[str, ...], everything: bool, update: bool, strict: bool) -> int:
    """Add skills to your own: from a folder, a SKILL.md, or a git repository.

    A skill is judged first, and copied only if it would be loaded. One of the same name that is there already is
    replaced, and kept as a former version. An address may name a branch, tag or commit with @ and a folder with #.

    \b
    prowess add ./pdf-fill
    prowess add --all ./skills
    prowess add git+https://example.org/skills.git@v2#pdf-fill
    prowess add --update pdf-fill
    """
    if not paths and not (update and everything):
        raise click.UsageError("give a PATH; or --update --all")
    if paths and update and everything:
        raise click.UsageError("--update takes either names or --all")
    with invocation.open() as runtime:
        personal = runtime.personal()
        policy = runtime.settings.policy
        judge = Judge(STRICT_READING if strict else policy.reading, policy.limits)
        extent = Extent.ALL if everything else Extent.ONE
        works = _plan_update(runtime, personal, paths, judge) if update else _plan(personal, paths, extent, judge)
        alone = len(works) == 1 and not everything
        outcomes = works[0][1]() if alone else _do_all(works)
        _print(invocation, outcomes, alone=alone)
        _print_shadowed(runtime, outcomes)
    return _worst(outcomes)


def _plan(personal: PersonalSkills, paths: Sequence[str], extent: Extent, judge: Judge) -> list[tuple[str, _Work]]:
    base = os.getcwd()

    def work(path: str) -> _Work:
        return lambda: bring_skills(personal, path, base=base, extent=extent, judge=judge)

    return [(path, work(path)) for path in paths]


def _plan_update(
    runtime: Runtime, personal: PersonalSkills, names: Sequence[str], judge: Judge
) -> list[tuple[str, _Work]]:
    def work(name: str) -> _Work:
        return lambda: [update_skill(personal, name, base=os.getcwd(), judge=judge)]

    if names:
        return [(name, work(runtime.find_own(name))) for name in names]
    return [(name, work(name)) for name in personal.names() if _is_from_git(personal, name)]


def _is_from_git(personal: PersonalSkills, name: str) -> bool:
    current = personal.current(name) if personal.knows(name) else None
    return current is not None and current.origin is not None and current.origin.is_git


def _do_all(works: Sequence[tuple[str, _Work]]) -> list[_Outcome]:
    outcomes: list[_Outcome] = []
    for place, work in works:
        try:
            outcomes += work()
        except ProwessError as error:
            outcomes.append(Failure(show_path(place), error))
    return outcomes


def _print(invocation: Invocation, outcomes: Sequence[_Outcome], *, alone: bool) -> None:
    changes = [one for one in outcomes if isinstance(one, Change)]
    failures = [one for one in outcomes if isinstance(one, Failure)]
    if invocation.as_json and alone:
        print_json(change_record(changes[0]))
    elif invocation.as_json:
        failed = [_failure_record(one) for one in failures]
        print_json({"skills": [change_record(one) for one in changes], "failed": failed})
    else:
        for change in changes:
            _print_change(change)
    for failure in failures:
        note(f"{failure.place}: {failure.error.message}", label="not added: ", colour="red")
    if not outcomes:
        note("Nothing to update: none of your skills is from a git repository.")


def _failure_record(failure: Failure) -> Record:
    error = failure.error
    return {"path": failure.place, "error": {"code": error.code, "message": error.message, "hint": error.hint}}


def _print_change(change: Change) -> None:
    print_text(f"{change.status} {change.name}, version {change.version}: {show_path(change.folder)}")
    if change.status is ChangeStatus.ADDED:
        note(f"undo: prowess remove {shlex.quote(change.name)}")
    elif change.kept is not None:
        note(f"version {change.kept} is kept; undo: prowess restore {shlex.quote(change.name)} --version {change.kept}")
    for problem in change.problems:
        note(f"warning: {problem.message} [{problem.code}]")


def _print_shadowed(runtime: Runtime, outcomes: Sequence[_Outcome]) -> None:
    """Say which of the skills that were added lose their name to another."""
    added = {one.name for one in outcomes if isinstance(one, Change)}
    catalog = runtime.rescan() if added else None
    for skill in catalog.skills if catalog else ():
        winner = catalog.shadowed.get(skill.id) if catalog else None
        if winner and find_own_folder(runtime, skill) in added:
            note(f"'{skill.name}' is shadowed by {winner}; `prowess why {shlex.quote(skill.name)}` says more")


def _worst(outcomes: Sequence[_Outcome]) -> int:
    """Return the status that fits the gravest failure."""
    return max((find_status(one.error) for one in outcomes if isinstance(one, Failure)), default=0)
