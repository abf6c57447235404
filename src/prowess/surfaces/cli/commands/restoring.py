"""`prowess restore`."""

import shlex

import click

from prowess.copies.personal import ChangeStatus
from prowess.sources.source import show_path
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_text
from prowess.surfaces.cli.owning import complete_own_or_former
from prowess.surfaces.own_skill_records import change_record

__all__ = ["command"]


@click.command("restore")
@click.argument("name", shell_complete=complete_own_or_former)
@click.option("--version", type=click.IntRange(1), metavar="N", help="Which one; without it the last former one.")
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str, version: int | None) -> None:
    """Put a former version of one of your own skills in use again, also of one that was removed.

    The version in use is kept as a former one, and what is restored gets a new number. A skill that was removed comes
    back under the number that it had.

    \b
    prowess restore pdf-fill
    prowess restore pdf-fill --version 2
    """
    with invocation.open() as runtime:
        personal = runtime.personal()
        change = personal.restore(runtime.find_own(name), version=version)
    if invocation.as_json:
        print_json(change_record(change))
        return
    shown = show_path(change.name)
    if change.status is ChangeStatus.UNCHANGED:
        print_text(f"{shown} has these files already, as version {change.version}: {show_path(change.folder)}")
        return
    print_text(f"restored {shown}, as version {change.version}: {show_path(change.folder)}")
    if change.kept is None:
        note(f"undo: prowess remove {shlex.quote(shown)}")
    else:
        note(f"version {change.kept} is kept; undo: prowess restore {shlex.quote(shown)} --version {change.kept}")
