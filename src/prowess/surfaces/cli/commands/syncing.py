"""`prowess sync`."""

import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from prowess.errors import WorldError
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_error, print_json, print_json_line, print_text, step_bar
from prowess.surfaces.records import sync_record

if TYPE_CHECKING:
    from prowess.copies.plan import Skipped
    from prowess.copies.sync import SyncReport
    from prowess.runtime import Runtime

__all__ = ["command"]

_NAME_OF_A_DRAFT = re.compile(r"[0-9a-f]{16,}")
"""Each try has another one, which makes no other failure."""


@click.command("sync")
@click.option("--user", metavar="NAME", help="Whose copies; without it the user of the settings.")
@click.option(
    "--watch",
    is_flag=True,
    help="Go on until Ctrl-C, sync again whenever something changes, and tell what is new. A sync that fails is told "
    "too, and tried again. With --json, each report is an object on a line of its own, and so is each failure: "
    '{"error": …}.',
)
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
        if watch:
            _watch(runtime, invocation, interval, verify=verify)
            return
        report = _sync(runtime, verify=verify)
        _note_profile(report)
        if invocation.as_json:
            print_json(sync_record(report))
        else:
            _print_for_people(report, report.skipped)


def _sync(runtime: "Runtime", *, verify: bool) -> "SyncReport":
    with step_bar("copying") as advance:
        return runtime.sync(progress=advance, verify=verify)


def _watch(runtime: "Runtime", invocation: Invocation, interval: float, *, verify: bool) -> None:
    """Sync and tell what is new, until a person ends it."""
    told = _Told(invocation)
    try:
        told.sync(runtime, verify=verify)
        note("Watching. Ctrl-C ends it.")
        while True:
            time.sleep(interval)
            told.sync(runtime, verify=False)
    except KeyboardInterrupt:
        return


@dataclass(slots=True)
class _Told:
    """What a watch has told already."""

    invocation: Invocation
    report: "SyncReport | None" = None
    error: str = ""
    """What was told of the last sync, if it failed."""

    def sync(self, runtime: "Runtime", *, verify: bool) -> None:
        """Sync once more, and tell what has changed since the last time: the copies, what is skipped, what fails."""
        try:
            report = _sync(runtime, verify=verify)
        except WorldError as error:  # A disk that is full now may have room later.
            self._tell_error(error)
        else:
            self._tell_report(report)

    def _tell_error(self, error: WorldError) -> None:
        before, self.error = self.error, _NAME_OF_A_DRAFT.sub("", f"{error.code}: {error.message}")
        if self.error == before:
            return
        if self.invocation.as_json:
            print_json_line({"error": {"code": error.code, "message": error.message, "hint": error.hint}})
        print_error(error)

    def _tell_report(self, report: "SyncReport") -> None:
        before, failed = self.report, self.error
        self.report, self.error = report, ""
        if before is None:
            _note_profile(report)
        elif not (failed or report.changed or report.skipped != before.skipped):
            return
        if self.invocation.as_json:
            print_json_line(sync_record(report))
            return
        known = before.skipped if before else ()
        _print_for_people(report, [skipped for skipped in report.skipped if skipped not in known])
        sys.stdout.flush()  # The next one may be long in coming.


def _note_profile(report: "SyncReport") -> None:
    if not report.active_root:
        note("The profile shares no folder of copies: a task's skills are copied when they are activated.")


def _print_for_people(report: "SyncReport", skipped: "Sequence[Skipped]") -> None:
    for skill in report.copied:
        print_text(f"+ {skill}")
    for skill in report.removed:
        print_text(f"- {skill}")
    for one in skipped:
        note(f"{one.id}: {one.problem.message} [{one.problem.code}]", label="! ", colour="yellow")
    if report.active_root:
        counts = f"{len(report.copied)} copied, {report.unchanged} unchanged, {len(report.removed)} removed"
        note(f"{report.active_root}: {counts}, {len(report.skipped)} skipped, in {report.seconds:.2f} s")
