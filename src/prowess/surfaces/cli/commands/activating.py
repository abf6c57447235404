"""`prowess activate`."""

import shlex

import click

from prowess.runtime.tool_results import activation_record
from prowess.surfaces.cli.consent_terminal import choose_asker
from prowess.surfaces.cli.invocation import Invocation, complete_skill, json_option
from prowess.surfaces.cli.output import note, print_content, print_json
from prowess.surfaces.cli.using import explained

__all__ = ["command"]

_MOST_FAULTS = 5


@click.command("activate")
@click.argument("name", shell_complete=complete_skill)
@click.argument("arguments", nargs=-1)
@click.option("--session", "session_id", metavar="ID", help="In this session, which remembers it.")
@click.option("--agent", default="", metavar="NAME", help="For this agent of the settings.")
@click.option("--yes", is_flag=True, help="Agree to the skill as it is now, for this one call.")
@json_option
@click.pass_obj
def command(
    invocation: Invocation, name: str, arguments: tuple[str, ...], session_id: str | None, agent: str, yes: bool
) -> None:
    """Switch a skill on and print its instructions, as a model gets them.

    Skills that you have not agreed to ask for consent first. Arguments for the skill come after --.

    \b
    prowess activate repo-survey
    prowess activate release-notes --session monday -- v1.2 "two words"
    """
    with invocation.open() as runtime:
        invocation.check_agent(runtime, agent)
        asker = choose_asker(runtime, yes=yes, as_json=invocation.as_json)
        with runtime.session(session_id, agent=agent, asker=asker) as session, explained(runtime, name, agent=agent):
            activation = session.activate(name, arguments=shlex.join(arguments) if arguments else None)
        faults = () if activation.digest else runtime.files(activation.skill).problems
    for problem in faults[:_MOST_FAULTS]:
        note(f"warning: its files have no digest and no copy: {problem.message} [{problem.code}]")
    if invocation.as_json:
        print_json(activation_record(activation))
        return
    print_content(f"{activation.text}\n")
    if activation.instructions.truncated:
        note("The instructions were cut; see limits.max_skill_md_bytes in the settings.")
