"""`prowess doctor`."""

import click

from prowess.surfaces.cli.diagnosis import Finding, diagnose
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import print_json, print_text

__all__ = ["command"]


@click.command("doctor")
@json_option
@click.pass_obj
def command(invocation: Invocation) -> None:
    """Check what works on this machine: settings, sources, watching, database, sandboxes, models.

    \b
    prowess doctor
    """
    with invocation.open() as runtime:
        findings = diagnose(runtime)
    if invocation.as_json:
        print_json({"checks": [_record(finding) for finding in findings]})
        return
    for finding in findings:
        print_text(f"{'✓' if finding.works else '✗'} {finding.about:<22} {finding.detail}")
        if finding.hint:
            print_text(f"  {'':<22} {finding.hint}")


def _record(finding: Finding) -> dict[str, object]:
    return {"check": finding.about, "works": finding.works, "detail": finding.detail, "hint": finding.hint}
