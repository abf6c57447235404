"""`prowess enable`."""

import click

from prowess.catalog.switches import Switch
from prowess.surfaces.cli.invocation import Invocation, complete_skill, json_option
from prowess.surfaces.cli.switching import set_switch

__all__ = ["command"]


@click.command("enable")
@click.argument("name", shell_complete=complete_skill)
@click.option("--agent", default="", metavar="NAME", help="For this agent only.")
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str, agent: str) -> None:
    """Offer a skill to models again, whatever the settings say.

    \b
    prowess enable pdf-fill
    """
    set_switch(invocation, name, Switch.ON, agent=agent)
