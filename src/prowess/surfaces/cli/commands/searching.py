"""`prowess search`."""

import click

from prowess.disclosure.planner import describe
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_rows
from prowess.surfaces.telling_records import search_record

__all__ = ["command"]


@click.command("search")
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@click.option(
    "--limit", type=click.IntRange(1, 1_000), metavar="N", default=10, show_default=True, help="How many to show."
)
@click.option("--agent", default="", metavar="NAME", help="As seen by this agent of the settings.")
@json_option
@click.pass_obj
def command(invocation: Invocation, query: tuple[str, ...], limit: int, agent: str) -> int:
    """Find visible skills by what they do. Beginnings of words and small misspellings are understood.

    \b
    prowess search fill in forms
    prowess search shedule --limit 3
    """
    with invocation.open() as runtime:
        invocation.check_agent(runtime, agent)
        found = runtime.search(" ".join(query), agent=agent, limit=limit)
    if invocation.as_json:
        print_json(search_record(found))
    elif found:
        print_rows(
            ["NAME", "SCORE", "DESCRIPTION"],
            [[one.skill.name, f"{one.score:.2f}", describe(one.skill)] for one in found],
        )
    else:
        note("No visible skill fits. Try other words; `prowess list` shows all skills.")
    return 0 if found else 1
