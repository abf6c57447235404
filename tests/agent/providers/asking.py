"""Ways to ask a model of a provider in a test."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TypeVar

import pytest

from prowess.activation.tools import Tool
from prowess.agent.chat_model import FinishPiece, ModelFailure, ModelRequest, Piece, TextPiece
from prowess.agent.messages import AssistantMessage, Message, UserMessage
from prowess.agent.providers.bounding import USUAL_BOUNDS, AnswerBounds
from prowess.agent.providers.provider_model import ProviderModel

__all__ = ["Waits", "ask", "fail_to_ask", "find", "make_model", "make_request", "read_text", "remember"]

_P = TypeVar("_P", bound=Piece)


class Waits:
    """A clock that never waits, and remembers for how long it was asked to."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await asyncio.sleep(0)


def make_model(
    name: str, *, url: str = "", waits: Waits | None = None, bounds: AnswerBounds = USUAL_BOUNDS
) -> ProviderModel:
    """Return a model that waits for no longer than the test wants, and always for as long as it may."""
    return ProviderModel(name, url=url, sleep=(waits or Waits()).sleep, draw=lambda: 1.0, bounds=bounds)


def make_request(
    *messages: Message, system: str = "Be brief.", tools: Sequence[Tool] = (), timeout_seconds: float = 30.0
) -> ModelRequest:
    return ModelRequest(
        system, messages or (UserMessage("Hello"),), tuple(tools), timeout_seconds=timeout_seconds, attempts=3
    )


def ask(model: ProviderModel, request: ModelRequest | None = None) -> list[Piece]:
    """Ask and close, and return all pieces of the answer."""
    return asyncio.run(_ask(model, request or make_request()))


async def _ask(model: ProviderModel, request: ModelRequest) -> list[Piece]:
    try:
        async with aclosing(model.stream(request)) as pieces:
            return [piece async for piece in pieces]
    finally:
        await model.close()


def fail_to_ask(model: ProviderModel, request: ModelRequest | None = None) -> ModelFailure:
    """Ask and close, and return how it failed."""
    with pytest.raises(ModelFailure) as caught:
        ask(model, request)
    return caught.value


def find(pieces: Sequence[Piece], kind: type[_P]) -> list[_P]:
    return [piece for piece in pieces if isinstance(piece, kind)]


def read_text(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in find(pieces, TextPiece))


def remember(pieces: Sequence[Piece], message: AssistantMessage) -> AssistantMessage:
    """Return the message as it is kept, with what its provider wants to see again."""
    (finish,) = find(pieces, FinishPiece)
    return replace(message, native=finish.native)
