"""`prowess sync`."""

import sys
import time
from typing import TYPE_CHECKING

import click

from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_json_line, print_text, step_bar
from prowess.surfaces.records import sync_record

if TYPE_CHECKING:
    from prowess.copies.sync import SyncReport
    from prowess.runtime import Runtime

__all__ = ["command"]


@click.command("sync")
@click.option("--user", metavar="NAME", help="Whose copies; without it the user of the settings.")
@click.option("--watch", is_flag=True, help="Go on until Ctrl-C, and sync again whenever something changes.")
@click.option(
    "--interval",
    type=click.FloatRange(0.05, 3_600),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="How often --watch looks.",
)
@click.option("--verify", is_flag=True, help="Read every copy, and make those anew that are damaged.")
@json_option
@click.pass_obj
def command(invocation: Invocation, user: str | None, watch: bool, interval: float, verify: bool) -> None:
    """Bring the copies that sandboxes see up to date with the visible skills.

    The copies lie in ~/.prowess/users/NAME/skills/active, to be mounted read-only at /shared/skills;
    `prowess mounts` prints the arguments for that.

    \b
    prowess sync
    prowess sync --user anna --verify
    prowess sync --watch
    """
    with invocation.open(user=user) as runtime:
        report = _sync(runtime, verify=verify)
        if not report.active_root:
            note("The profile shares no folder of copies: a task's skills are copied when they are activated.")
        if not watch:
            _print(invocation, report)
            return
        _print_change(invocation, report)
        note("Watching. Ctrl-C ends it.")
        try:
            while True:
                time.sleep(interval)
                report = runtime.sync()
                if report.changed:
                    _print_change(invocation, report)
        except KeyboardInterrupt:
            return


def _sync(runtime: "Runtime", *, verify: bool) -> "SyncReport":
    with step_bar("copying") as advance:
        return runtime.sync(progress=advance, verify=verify)


def _print(invocation: Invocation, report: "SyncReport") -> None:
    if invocation.as_json:
        print_json(sync_record(report))
        return
    _print_for_people(report)


def _print_change(invocation: Invocation, report: "SyncReport") -> None:
    """Print one of many reports: as a line of its own, if a program is reading."""
    if invocation.as_json:
        print_json_line(sync_record(report))
        return
    _print_for_people(report)
    sys.stdout.flush()  # The next one may be long in coming.


def _print_for_people(report: "SyncReport") -> None:
    for skill in report.copied:
        print_text(f"+ {skill}")
    for skill in report.removed:
        print_text(f"- {skill}")
    for skipped in report.skipped:
        note(f"{skipped.id}: {skipped.problem.message} [{skipped.problem.code}]", label="! ", colour="yellow")
    if report.active_root:
        counts = f"{len(report.copied)} copied, {report.unchanged} unchanged, {len(report.removed)} removed"
        note(f"{report.active_root}: {counts}, {len(report.skipped)} skipped, in {report.seconds:.2f} s")
