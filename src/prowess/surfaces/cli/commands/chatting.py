"""`prowess chat`."""

import sys

import click

from prowess.surfaces.cli.invocation import Invocation, json_lines_option

__all__ = ["command"]


@click.command("chat")
@click.option("--print", "message", metavar="TEXT", help="Answer this and end; - reads it from standard input.")
@click.option("--session", "chat_id", metavar="ID", help="Go on with this conversation, or begin it.")
@click.option("--continue", "goes_on", is_flag=True, help="Go on with the conversation that was used last.")
@click.option("--model", metavar="NAME", help="The model that answers; without it that of the settings.")
@click.option("--agent", default="", metavar="NAME", help="As this agent of the settings.")
@click.option("--yes", is_flag=True, help="With --print: agree to all that is asked in this one turn.")
@json_lines_option
@click.pass_obj
def command(
    invocation: Invocation,
    message: str | None,
    chat_id: str | None,
    goes_on: bool,
    model: str | None,
    agent: str,
    yes: bool,
) -> int:
    """Talk with a model that uses your skills.

    A message may call for a skill: /name at its start, $name anywhere. /help says what else can be typed. Ctrl-C
    cancels a turn, Ctrl-D leaves. With --print the answer goes to standard output, and with --json each event as a
    line. Without a terminal, every line of standard input is a message.

    \b
    prowess chat
    prowess chat --continue --model anthropic:NAME
    prowess chat --print "/repo-survey What is this project?"
    git diff | prowess chat --print - --json
    """
    if invocation.as_json and message is None:
        raise click.UsageError("--json is for one turn: give --print TEXT as well")
    if yes and message is None:
        raise click.UsageError("--yes is for one turn: give --print TEXT as well")
    if chat_id is not None and goes_on:
        raise click.UsageError("give --session or --continue")
    from prowess.surfaces.cli.chat.beginning import Wanted, chat

    wanted = Wanted(chat_id, goes_on=goes_on, model=model, agent=agent, yes=yes, as_json=invocation.as_json)
    with invocation.open() as runtime:
        invocation.check_agent(runtime, agent)
        return chat(runtime, wanted, message=_read(message))


def _read(message: str | None) -> str | None:
    """Return the message that --print gives, read from standard input if that is meant."""
    if message is None:
        return None
    from prowess.surfaces.cli.chat.line_input import MAX_MESSAGE_BYTES, clean_message

    raw = sys.stdin.buffer.read(MAX_MESSAGE_BYTES + 1) if message == "-" else message.encode("utf-8", "surrogateescape")
    text = clean_message(raw)
    if not text.strip():
        raise click.UsageError("there is nothing to answer: the message is empty")
    return text
