"""Agents over skills on disk, and short ways to talk with them."""

from collections.abc import Iterable, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

import anyio

from prowess.agent.agent import Agent
from prowess.agent.chat import Chat, TurnAnswer
from prowess.agent.chat_model import ChatModel
from prowess.agent.events import Done, Event, Happening
from prowess.runtime import Runtime

__all__ = ["ask", "events_of", "find", "hear", "open_chat", "told", "watch"]

_E = TypeVar("_E")


def open_chat(runtime: Runtime, model: ChatModel, chat_id: str | None = "chat", **options: Any) -> Chat:
    """Return a conversation of an agent with this model."""
    return Agent(runtime, model=model, **options).chat(chat_id)


async def hear(chat: Chat, message: str) -> list[Happening]:
    """Say something, and return all that happens."""
    async with aclosing(chat.stream(message)) as happenings:
        return [happening async for happening in happenings]


def watch(chat: Chat, *messages: str) -> list[Happening]:
    """Say these things one after the other, and return all that happens."""

    async def talk() -> list[Happening]:
        return [happening for message in messages for happening in await hear(chat, message)]

    return anyio.run(talk)


def ask(chat: Chat, *messages: str) -> list[TurnAnswer]:
    """Say these things one after the other, and return the answers."""

    async def talk() -> list[TurnAnswer]:
        return [await chat.say(message) for message in messages]

    return anyio.run(talk)


def events_of(happenings: Iterable[Happening], *, within: str = "") -> list[Event]:
    """Return what happened in the conversation itself, or in a fork of it."""
    return [one.event for one in happenings if one.within == within]


def find(happenings: Iterable[Happening], kind: type[_E]) -> list[_E]:
    """Return all events of a kind, those of forks too."""
    return [one.event for one in happenings if isinstance(one.event, kind)]


def told(happenings: Sequence[Happening]) -> Done:
    """Return the end of a turn, which is the last that happens."""
    event = happenings[-1].event
    assert isinstance(event, Done)
    assert not happenings[-1].within
    return event
