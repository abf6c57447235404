"""`prowess remove`."""

import shlex

import click

from prowess.sources.source import show_path
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_text
from prowess.surfaces.cli.owning import complete_own
from prowess.surfaces.own_skill_records import change_record

__all__ = ["command"]


@click.command("remove")
@click.argument("name", shell_complete=complete_own)
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str) -> None:
    """Remove one of your own skills. Its files are kept, and `prowess restore` brings it back.

    \b
    prowess remove pdf-fill
    """
    with invocation.open() as runtime:
        personal = runtime.personal()
        change = personal.remove(runtime.find_own(name))
    if invocation.as_json:
        print_json(change_record(change))
        return
    shown = show_path(change.name)
    print_text(f"removed {shown}; version {change.version} is kept in {show_path(change.folder)}")
    note(f"undo: prowess restore {shlex.quote(shown)}")
