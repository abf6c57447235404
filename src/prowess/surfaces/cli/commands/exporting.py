"""`prowess export`."""

from typing import Any

import click

from prowess.skill.targets import LossKind
from prowess.sources.source import show_path
from prowess.surfaces.cli.invocation import Invocation, complete_skill, json_option
from prowess.surfaces.cli.output import note, print_json, print_text
from prowess.surfaces.export.exports import EXPORTS, export_skills, find_place
from prowess.surfaces.export.options import Doing, ExportOptions, Overwriting
from prowess.surfaces.export.reports import Change, ExportReport
from prowess.surfaces.records import loss_record

__all__ = ["command"]

_PLACES = ", ".join(f"{export.place} for {name}" for name, export in EXPORTS.items())


@click.command("export")
@click.option("--to", required=True, type=click.Choice(list(EXPORTS)), help="The tool, or the form that many take.")
@click.option("--out", metavar="PATH", help=f"Where it goes; without it {_PLACES}.")
@click.option(
    "--skill",
    "names",
    metavar="NAME",
    multiple=True,
    shell_complete=complete_skill,
    help="Only this skill; may be repeated. Without it all that a model sees.",
)
@click.option("--force", is_flag=True, help="Replace what Prowess has not written there, or others have changed.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@json_option
@click.pass_obj
def command(
    invocation: Invocation, to: str, out: str | None, names: tuple[str, ...], force: bool, dry_run: bool
) -> int:
    """Write the visible skills for another tool, and say what it would lose of them.

    Folders (claude, codex) and archives (zip) hold the files as they are. A section of AGENTS.md tells
    any agent which skills there are and how to read them; openai-tools is a JSON file with the prompt
    and the tools. With a folder as PATH, zip makes an archive of each skill.

    \b
    prowess export --to claude
    prowess export --to codex --skill repo-survey --dry-run
    prowess export --to zip --out skills.zip
    """
    with invocation.open() as runtime:
        options = ExportOptions(
            find_place(runtime, to, out),
            Overwriting.ANYTHING if force else Overwriting.OWN,
            Doing.TRY if dry_run else Doing.WRITE,
        )
        report = export_skills(runtime, to, names, options)
    if invocation.as_json:
        print_json(_record(to, options.out, report))
    else:
        _print_report(report, options)
    return int(bool(names and report.left_out))  # What was asked for by name did not come about.


def _record(to: str, out: str, report: ExportReport) -> dict[str, Any]:
    return {
        "to": to,
        "out": show_path(out),
        "written": [
            {
                "path": show_path(one.path),
                "skills": list(one.skills),
                "digest": one.digest,
                "change": one.change.value,
            }
            for one in report.written
        ],
        "losses": [{"skill": one.skill, **loss_record(one.loss)} for one in report.losses],
        "left_out": [{"id": one.id, "reason": one.reason} for one in report.left_out],
    }


def _print_report(report: ExportReport, options: ExportOptions) -> None:
    for one in report.written:
        print_text(f"{one.change.value:<9} {show_path(one.path)}")
    shown = [one for one in report.losses if one.loss.kind is not LossKind.DISPLAY]
    for one in shown:
        note(f"{one.skill}: {one.loss.kind}: {one.loss.message}")
    if len(shown) < len(report.losses):
        note(f"{len(report.losses) - len(shown)} more are only for show, and --json lists them.")
    for one in report.left_out:
        note(f"{one.id}: {one.reason}", label="left out: ", colour="yellow")
    changed = sum(one.change is not Change.UNCHANGED for one in report.written)
    if options.doing is Doing.TRY:
        note(f"{changed} would be written; nothing was.")
    elif not report.written:
        note("Nothing was written: no skill is visible, or all were left out.")
