"""`prowess untrust`."""

import click

from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.trust_answers import print_trust

__all__ = ["command"]


@click.command("untrust")
@click.argument("path", required=False)
@json_option
@click.pass_obj
def command(invocation: Invocation, path: str | None) -> None:
    """Hide the skills of a project from models: the one around PATH, or around this folder.

    \b
    prowess untrust
    """
    with invocation.open() as runtime:
        project, changed = runtime.untrust(path)
        print_trust(invocation, runtime, project, trusted=False, changed=changed)
