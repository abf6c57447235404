"""`prowess disable`."""

import click

from prowess.catalog.switches import Switch
from prowess.surfaces.cli.invocation import Invocation, complete_skill, json_option
from prowess.surfaces.cli.switching import set_switch

__all__ = ["command"]

_POSITIONS = [position.value for position in Switch if position is not Switch.ON]


@click.command("disable")
@click.argument("name", shell_complete=complete_skill)
@click.option("--to", "position", type=click.Choice(_POSITIONS), default="off", help="How far; without it off.")
@click.option("--agent", default="", metavar="NAME", help="For this agent only.")
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str, position: str, agent: str) -> None:
    """Keep a skill from models, or show them only its name. `prowess enable` takes it back.

    \b
    prowess disable pdf-fill
    prowess disable pdf-fill --to name-only --agent reviewer
    """
    set_switch(invocation, name, Switch(position), agent=agent)
