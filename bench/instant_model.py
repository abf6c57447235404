"""Models that answer at once, so that what is around them can be measured; and what users say to them."""

import json
import random
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

from bench.prose import DOMAINS, OBJECTS, VERBS
from prowess.agent.chat_model import CallPiece, FinishPiece, ModelRequest, Piece, TextPiece
from prowess.agent.messages import ToolCall, ToolMessage, UserMessage
from prowess.state.conversations import TokenUse

__all__ = ["ANSWER", "LOOK_IT_UP", "InstantModel", "InstantPeer", "make_messages", "open_peer"]

ANSWER = "I have looked at all of them. Two need a decision of yours; the others are as they should be."
LOOK_IT_UP = "Look for a skill first: "
"""Begins a message that is answered after one call of a tool."""
_QUERY = "review release notes"
_TOOL = "search_skills"
_USE = TokenUse(requests=1, input_tokens=100, output_tokens=25)


def make_messages(*, begin: str = "") -> Iterator[str]:
    """Return requests without end, hardly ever the same twice, and the same ones each time."""
    rng = random.Random(11)
    while True:
        first, second = (f"{rng.choice(VERBS)} the {rng.choice(OBJECTS)}" for _ in range(2))
        yield f"{begin}{first} of {rng.choice(DOMAINS)}, then {second} from week {rng.randint(1, 52)}"


class InstantModel:
    """Answers with the same words, after a search for a skill if the message says so."""

    name = "instant"
    calls_tools = True
    summarises = False
    context_window: int | None = 10_000_000

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        last = request.messages[-1]
        if isinstance(last, UserMessage) and last.text.startswith(LOOK_IT_UP):
            yield CallPiece(ToolCall("call", _TOOL, json.dumps({"query": _QUERY})))
        else:
            assert isinstance(last, UserMessage) or (isinstance(last, ToolMessage) and not last.is_error)
            yield TextPiece(ANSWER)
        yield FinishPiece(_USE)

    async def close(self) -> None:
        pass


def open_peer() -> Any:
    """Return pydantic-ai's own Agent, with a model that gives the same answers and a tool of the same name."""
    from pydantic_ai import Agent
    from pydantic_ai.models.function import FunctionModel

    return Agent(FunctionModel(_answer), tools=[search_skills])


class InstantPeer:
    """A conversation with such an agent: in memory, without skills."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self.history: list[Any] = []

    async def say(self, message: str) -> str:
        result = await self._agent.run(message, message_history=self.history)
        self.history = result.all_messages()
        return result.output

    def dump(self) -> bytes:
        """Return the conversation as JSON."""
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        return ModelMessagesTypeAdapter.dump_json(self.history)

    def load(self, dumped: bytes) -> None:
        """Take a conversation up again."""
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        self.history = ModelMessagesTypeAdapter.validate_json(dumped)


def search_skills(query: str) -> str:
    """Find skills."""
    return f"nothing fits {query}"


def _answer(messages: Sequence[Any], _info: object) -> Any:
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, UserPromptPart

    last = messages[-1].parts[-1]
    if isinstance(last, UserPromptPart) and str(last.content).startswith(LOOK_IT_UP):
        return ModelResponse(parts=[ToolCallPart(_TOOL, {"query": _QUERY})])
    return ModelResponse(parts=[TextPart(ANSWER)])
