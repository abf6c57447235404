"""`prowess history`."""

import shlex

import click

from prowess.copies.history import History, KeptVersion, Origin
from prowess.copies.personal import PersonalSkills
from prowess.errors import Refused
from prowess.runtime import Runtime
from prowess.runtime.tool_results import show_moment
from prowess.sources.source import show_path
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_rows
from prowess.surfaces.cli.owning import complete_own_or_former
from prowess.surfaces.own_skill_records import history_record, list_versions

__all__ = ["command"]


@click.command("history")
@click.argument("name", shell_complete=complete_own_or_former)
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str) -> None:
    """Show the versions of one of your own skills: when each came, and from where.

    \b
    prowess history pdf-fill
    """
    with invocation.open() as runtime:
        history = _find(runtime, runtime.personal(), name)
    if invocation.as_json:
        print_json(history_record(history))
        return
    print_rows(["VERSION", "STATE", "WHEN", "DIGEST", "FROM"], [_row(one, history) for one in list_versions(history)])
    if history.current is None:
        note(f"It was removed; bring it back: prowess restore {shlex.quote(show_path(history.name))}")


def _find(runtime: Runtime, personal: PersonalSkills, name: str) -> History:
    own = runtime.find_own(name)
    if not personal.knows(own) and runtime.catalog().find(name) is not None:
        raise Refused(
            "Only user skills have version history.",
            hint=f"`prowess eject {show_path(name)}` gives you a copy to edit, and `prowess add` makes it yours",
            code="not-yours",
        )
    return personal.history(own)


def _row(one: KeptVersion, history: History) -> list[str]:
    state = "in use" if one is history.current else "kept"
    return [
        str(one.number),
        f"{state}, edited" if one.edited else state,
        "" if one.at is None else show_moment(one.at),
        one.digest[:12],
        _show_origin(one.origin),
    ]


def _show_origin(origin: Origin | None) -> str:
    if origin is None:
        return ""
    folder = f"#{origin.folder}" if origin.folder else ""
    return f"{origin.place}{folder} {origin.commit[:12]}" if origin.is_git else origin.place
