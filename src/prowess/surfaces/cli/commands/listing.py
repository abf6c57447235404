"""`prowess list`."""

import click

from prowess.catalog.catalog import Catalog
from prowess.catalog.switches import Switch, Switches
from prowess.runtime import Runtime
from prowess.skill.problems import Severity
from prowess.skill.skill import Skill
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_rows, progress
from prowess.surfaces.records import catalog_record

__all__ = ["command"]

_LONGEST_DESCRIPTION = 100


@click.command("list")
@json_option
@click.pass_obj
def command(invocation: Invocation) -> None:
    """List all skills, with what is wrong with them.

    \b
    prowess list
    prowess --skills ./skills list --json
    """
    with invocation.open() as runtime:
        catalog = runtime.catalog()
        if invocation.as_json:
            with progress(catalog.skills, "hashing files") as skills:
                for skill in skills:
                    runtime.digest(skill)
            print_json(catalog_record(runtime, catalog))
            return
        switches = runtime.switches()
        rows = [
            [skill.name, skill.id, _state(runtime, catalog, switches, skill), _short(skill.description)]
            for skill in catalog.skills
        ]
        print_rows(["NAME", "ID", "STATE", "DESCRIPTION"], rows)
        _print_rest(runtime, catalog)


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


def _print_rest(runtime: Runtime, catalog: Catalog) -> None:
    for one in catalog.rejected:
        for problem in one.problems:
            if problem.severity is Severity.ERROR:
                note(f"not loaded: {one.path}: {problem.message} [{problem.code}]")
    for problem in catalog.problems:
        if problem.severity is not Severity.INFO:
            note(f"{problem.severity}: {problem.message} [{problem.code}]")
    if not runtime.settings.policy.enabled:
        note("No skills: they are switched off. Set enabled = true in the settings.")
    elif not catalog.skills:
        places = "\n".join(f"  {source.root}" for source in runtime.sources())
        note(f"No skills. Looked in:\n{places}")
