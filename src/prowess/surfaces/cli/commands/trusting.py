"""`prowess trust`."""

import click

from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.trust_answers import print_trust

__all__ = ["command"]


@click.command("trust")
@click.argument("path", required=False)
@json_option
@click.pass_obj
def command(invocation: Invocation, path: str | None) -> None:
    """Let models see the skills of a project: the one around PATH, or around this folder.

    Look at the skills first: `prowess list` shows them, `prowess show NAME` what is in them.

    \b
    prowess trust
    prowess trust ~/code/site
    """
    with invocation.open() as runtime:
        project, changed = runtime.trust(path)
        print_trust(invocation, runtime, project, trusted=True, changed=changed)
