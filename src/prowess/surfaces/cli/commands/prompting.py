"""`prowess prompt`."""

import click

from prowess.policy import CatalogText
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_text

__all__ = ["command"]

_CHARACTERS_PER_TOKEN = 4


@click.command("prompt")
@click.option(
    "--format", "form", type=click.Choice(["xml", "json", "markdown"]), help="Instead of what the profile says."
)
@click.option("--agent", default="", metavar="NAME", help="As seen by this agent of the settings.")
@json_option
@click.pass_obj
def command(invocation: Invocation, form: str | None, agent: str) -> None:
    """Print what a model is told about the skills: their names and descriptions.

    \b
    prowess prompt
    prowess prompt --format json
    """
    with invocation.open() as runtime:
        invocation.check_agent(runtime, agent)
        text = runtime.catalog_text(CatalogText(form) if form else None, agent=agent)
        view = runtime.view(agent)
    if invocation.as_json:
        full = [skill.name for skill in view.visible if skill.id not in view.name_only]
        name_only = [skill.name for skill in view.visible if skill.id in view.name_only]
        report = {"full": full, "shortened": [], "name_only": name_only, "left_out": []}
        print_json({"text": text, "tokens": -(-len(text) // _CHARACTERS_PER_TOKEN), "report": report})
    elif text:
        print_text(text)
    else:
        note("No skill is visible, so a model is told nothing. `prowess why NAME` says why.")
