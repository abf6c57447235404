"""`prowess migrate`."""

import click

from prowess.copies.layout import Layout
from prowess.copies.migration import Move, apply_migration, plan_migration, read_old_folder
from prowess.sources.source import show_path
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_text

__all__ = ["command"]


@click.command("migrate")
@click.option("--user", metavar="NAME", help="Whose skills; without it those of the user in the settings.")
@click.option("--dry-run", is_flag=True, help="Say what would be moved, and move nothing.")
@json_option
@click.pass_obj
def command(invocation: Invocation, user: str | None, dry_run: bool) -> None:
    """Move the skills of an old flat folder to where your own skills lie today.

    Everything in users/NAME/skills goes to users/NAME/skills/personal, as it is. What has no room there stays and is
    named. It can be done any number of times.

    \b
    prowess migrate --dry-run
    prowess migrate --user anna
    """
    place = invocation.settings(user=user).place
    owner, layout = place.user, Layout(place.prowess_home)
    moves = plan_migration(read_old_folder(layout, owner)) if dry_run else apply_migration(layout, owner)
    personal = show_path(layout.personal(owner))
    if invocation.as_json:
        print_json(
            {
                "user": owner,
                "personal": personal,
                "dry_run": dry_run,
                "moved": [{"name": show_path(one.name), "to": show_path(one.target)} for one in moves if one.target],
                "left": [{"name": show_path(one.name), "reason": one.reason} for one in moves if one.target is None],
            }
        )
        return
    _print_moves(moves, personal, verb="would move" if dry_run else "moved")


def _print_moves(moves: tuple[Move, ...], personal: str, *, verb: str) -> None:
    for move in moves:
        if move.target is not None:
            print_text(f"{verb} {show_path(move.name)} to {personal}/{show_path(move.target)}")
        else:
            note(f"left {show_path(move.name)}: {move.reason}")
    if not moves:
        note("Nothing to move.")
