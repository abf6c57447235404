"""A model that answers by a script, in this process: for tests of what is around a model."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel

from prowess.agent.chat_model import CallPiece, FinishPiece, ModelRequest, Piece, RetryPiece, TextPiece
from prowess.agent.messages import ToolCall
from prowess.state.conversations import TokenUse

__all__ = ["Script", "ScriptedModel", "Wait", "call", "calls", "retry", "say"]


class Wait:
    """A moment in an answer at which the model waits until it is let go on, or for ever."""

    def __init__(self) -> None:
        self.reached = anyio.Event()
        self.go_on = anyio.Event()


Part = Piece | Wait | Exception
Answer = Sequence[Part]
Script = Callable[[ModelRequest], Answer]

USE = TokenUse(requests=1, input_tokens=100, output_tokens=10, cached_tokens=40, cost_usd=0.25)


def say(text: str) -> Answer:
    """An answer in words, which come in two pieces."""
    half = len(text) // 2
    return [TextPiece(text[:half]), TextPiece(text[half:])]


def call(tool: str, call_id: str = "", **arguments: Any) -> Answer:
    """An answer that calls a tool."""
    return [CallPiece(ToolCall(call_id or f"call-{tool}", tool, json.dumps(arguments)))]


def calls(*answers: Answer) -> Answer:
    """An answer that does all that these do."""
    return [part for answer in answers for part in answer]


def retry(text: str) -> Answer:
    """A beginning that is void, because the provider failed."""
    return [TextPiece(text), RetryPiece("the provider failed", 2, 0.0)]


class ScriptedModel:
    """Gives the answers that it was told to, one a request, or what a function makes of the request."""

    name = "scripted"
    calls_tools = True
    summarises = False
    context_window: int | None = None

    def __init__(self, *answers: Answer, script: Script | None = None) -> None:
        self.requests: list[ModelRequest] = []
        self.is_closed = False
        self._answers = list(answers)
        self._script = script

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        self.requests.append(request)
        for part in self._choose(request):
            match part:
                case Wait():
                    part.reached.set()
                    await part.go_on.wait()
                case Exception():
                    raise part
                case _:
                    yield part
                    await anyio.lowlevel.checkpoint()
        yield FinishPiece(USE)

    def _choose(self, request: ModelRequest) -> Answer:
        if self._script is not None:
            return self._script(request)
        assert self._answers, f"the model was not to be asked: {request.messages[-1]}"
        return self._answers.pop(0)

    async def close(self) -> None:
        self.is_closed = True
