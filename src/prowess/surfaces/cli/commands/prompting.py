"""`prowess prompt`."""

import click

from prowess.disclosure.guidance import choose_guidance, render_prompt
from prowess.disclosure.planner import Level
from prowess.policy import CatalogText
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_text
from prowess.surfaces.telling_records import plan_record

__all__ = ["command"]


@click.command("prompt")
@click.option(
    "--format", "form", type=click.Choice(["xml", "json", "markdown"]), help="Instead of what the profile says."
)
@click.option("--budget", type=click.IntRange(0), metavar="TOKENS", help="What the catalog may cost.")
@click.option("--query", default="", metavar="TEXT", help="What the user asks: skills that fit come first.")
@click.option("--agent", default="", metavar="NAME", help="As seen by this agent of the settings.")
@click.option("--full", is_flag=True, help="With the guidance that goes before the catalog.")
@json_option
@click.pass_obj
def command(invocation: Invocation, form: str | None, budget: int | None, query: str, agent: str, full: bool) -> None:
    """Print what a model is told about the skills: their names and descriptions, within a budget.

    \b
    prowess prompt
    prowess prompt --budget 500 --query "fill in a form"
    prowess prompt --format json --full
    """
    with invocation.open() as runtime:
        invocation.check_agent(runtime, agent)
        plan = runtime.plan(agent=agent, query=query, form=CatalogText(form) if form else None, budget=budget)
        offered = [tool["name"] for tool in runtime.session(agent=agent).tools("mcp")] if full else []
        guidance = choose_guidance(runtime.policy.tools, offered=offered)
    if budget and plan.least:  # Who says 0 wants nothing told.
        said = (
            f"a model is told nothing: that skills are left out takes {plan.least:,} tokens, more than {plan.budget:,}"
        )
        note(f"{said}; give a larger --budget", label="warning: ", colour="yellow")
    text = render_prompt(guidance=guidance, catalog=plan.text) if full else plan.text
    if invocation.as_json:
        print_json(plan_record(plan, text))
        return
    if text:
        print_text(text)
    elif not plan.left_out:
        note("No skill is visible, so a model is told nothing. `prowess why NAME` says why.")
    if not plan.is_whole:
        counts = {level: len(plan.at(level)) for level in Level}
        said = ", ".join(f"{count:,} {level.value.replace('_', ' ')}" for level, count in counts.items() if count)
        note(f"{plan.tokens:,} of {plan.budget:,} tokens: {said}. --json says why.")
