"""The protocol of a chat model: what a turn asks of whatever answers it."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

from prowess.activation.tools import Tool
from prowess.agent.messages import Message, ToolCall
from prowess.errors import WorldError
from prowess.state.conversations import TokenUse

__all__ = [
    "CallPiece",
    "ChatModel",
    "FinishPiece",
    "ModelFailure",
    "ModelRequest",
    "Piece",
    "RetryPiece",
    "TextPiece",
    "ThinkingPiece",
]


class ModelFailure(WorldError):
    """The provider of a model did not answer, or answered with an error, however often it was asked.

    Codes: `model-unreachable`, `model-timeout`, `model-refused` (key or rights), `model-rate-limited`, `model-too-long`
    (the request is over the context window), `model-broken` (an answer that nobody can read), `model-failed`.
    """

    default_code = "model-failed"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """All that a model is told for one answer."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    timeout_seconds: float = 120.0
    """For the answer to begin, and again between any two pieces of it."""
    attempts: int = 3
    """How often a failing provider is asked, in all."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """The next part of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """The next part of what the model shows of its thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A call that the model wants made, whole."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class RetryPiece:
    """The provider failed and is asked again after some seconds; pieces of the answer before this are void."""

    reason: str
    attempt: int
    """The one that comes, from 2 up."""
    seconds: float


@dataclass(frozen=True, slots=True)
class FinishPiece:
    """The answer is whole. It is always the last piece."""

    use: TokenUse
    native: str = ""
    """For `AssistantMessage.native`."""
    cut: bool = False
    """Whether the provider ended the answer at its limit of length."""


Piece = TextPiece | ThinkingPiece | CallPiece | RetryPiece | FinishPiece


class ChatModel(Protocol):
    """Answers requests. Several may be under way at once.

    Whoever stops iterating, or is cancelled, ends the request: nothing of it goes on.
    """

    @property
    def name(self) -> str:
        """As in the settings: `offline`, or `provider:model`."""
        ...

    @property
    def calls_tools(self) -> bool:
        """Whether it can call tools at all."""
        ...

    @property
    def summarises(self) -> bool:
        """Whether it can be asked to sum up a conversation; else that is truncated."""
        ...

    @property
    def context_window(self) -> int | None:
        """How many tokens it takes, if that is known."""
        ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Return the answer piece by piece. Raise `ModelFailure` if there is none."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
