"""What every framework needs of a session for a turn. All of it blocks: a person may be asked, a script may run."""

import logging
from collections.abc import Mapping
from typing import NamedTuple

from prowess.activation.tools import Schema
from prowess.errors import ProwessError, WorldError
from prowess.runtime.reception import tell_refusals
from prowess.runtime.session import Session
from prowess.runtime.tool_results import ToolResult, render_error

__all__ = ["OfferedTool", "call_tool", "join_texts", "list_tools", "open_turn", "sync_and_prompt", "sync_skills"]

_LOG = logging.getLogger("prowess")


class OfferedTool(NamedTuple):
    """A tool under a name that every provider takes."""

    name: str
    description: str
    schema: Schema


def open_turn(session: Session, message: str) -> str:
    """Take a user's message; return it as the model should get it, with the instructions of skills that it mentions."""
    sync_skills(session)
    reception = session.receive(message)
    said = reception.text.strip() or message
    session.plan(said)  # A catalog that is larger than its budget shows what fits the first message.
    return join_texts(tell_refusals(reception.refusals), reception.content, said)


def sync_skills(session: Session) -> None:
    """Bring the copies of skills up to date. A disk that fails is no reason to end a conversation."""
    try:
        session.sync()
    except WorldError as error:
        _LOG.warning("the copies of skills are not up to date: %s", error.message)


def sync_and_prompt(session: Session) -> str:
    """Return what the system prompt says of skills, after their copies were brought up to date."""
    sync_skills(session)
    return session.prompt(dialect="openai")


def list_tools(session: Session) -> tuple[OfferedTool, ...]:
    """Return the tools that the model is offered now."""
    functions = (tool["function"] for tool in session.tools("openai"))
    return tuple(OfferedTool(one["name"], one["description"], one["parameters"]) for one in functions)


def call_tool(session: Session, tool: str, arguments: Mapping[str, object] | str) -> ToolResult:
    """Carry out a call; whatever goes wrong, the model gets a result."""
    try:
        return session.call(tool, arguments)
    except ProwessError as error:  # The disk or the database fails.
        return render_error(tool, None, session.policy.tools, error, names=())


def join_texts(*texts: str | None) -> str:
    """Return the texts that are not empty, one after the other."""
    return "\n\n".join(text for text in texts if text)
