"""`prowess why`."""

from dataclasses import replace

import click

from prowess.surfaces.cli.invocation import Invocation, complete_skill, json_option
from prowess.surfaces.cli.output import print_json, print_text
from prowess.surfaces.records import explanation_record

__all__ = ["command"]


@click.command("why")
@click.argument("name", shell_complete=complete_skill)
@click.option("--agent", default="", metavar="NAME", help="As seen by this agent of the settings.")
@click.option("--query", default="", metavar="TEXT", help="For this message of a user.")
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str, agent: str, query: str) -> int:
    """Say why a model sees a skill, or why not, and how much the prompt shows of it.

    \b
    prowess why pdf-fill
    prowess why pdf-fill --agent reviewer --query "complete this form"
    """
    with invocation.open() as runtime:
        invocation.check_agent(runtime, agent)
        found = runtime.why(name, agent=agent, query=query)
    reasons = (replace(one, remedy=invocation.keep_options(one.remedy)) for one in found.reasons)
    explanation = replace(found, reasons=tuple(reasons))
    if invocation.as_json:
        print_json(explanation_record(explanation))
    else:
        print_text(f"{name}: {'visible' if explanation.visible else 'not visible'} to the model")
        for reason in explanation.reasons:
            print_text(f"  {reason.code}: {reason.message}")
            if reason.remedy:
                print_text(f"    {reason.remedy}")
    return 0 if explanation.found else 1
