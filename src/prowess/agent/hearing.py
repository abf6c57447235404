"""Hear an answer of a model piece by piece, within bounds, and judge what it comes to."""

import math
from dataclasses import replace

from prowess.agent.chat_model import (
    CallPiece,
    FinishPiece,
    ModelFailure,
    Piece,
    RetryPiece,
    TextPiece,
    ThinkingPiece,
)
from prowess.agent.events import Answered
from prowess.agent.messages import ToolCall
from prowess.state.conversations import TokenUse

__all__ = ["MAX_CALLS", "Hearing", "make_sound"]

MAX_CALLS = 64
"""In one answer; a model that wants more gets the first ones, and can ask again."""
MAX_CHARACTERS = 4_000_000
"""Of one answer: its text, its thinking and what it calls tools with."""
_MAX_COUNT = 2**53 - 1
"""The largest number that every part of the way keeps whole."""


class Hearing:
    """What was heard of one answer so far."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ToolCall] = []
        self._characters = 0
        self._finish: FinishPiece | None = None
        self.failed = TokenUse()
        """Requests that came to nothing."""

    @property
    def wanted_calls(self) -> int:
        """How many calls the model wants made."""
        return len(self._calls)

    def hear(self, piece: Piece) -> None:
        """Take the next piece; raise `ModelFailure` if the answer goes on and on."""
        match piece:
            case TextPiece(text):
                self._text.append(text)
                self._measure(text)
            case ThinkingPiece(text):
                self._thinking.append(text)
                self._measure(text)
            case CallPiece(call):
                self._calls.append(call)
                self._measure(call.id + call.tool + call.arguments)
            case RetryPiece():
                self._text, self._thinking, self._calls, self._characters = [], [], [], 0
                self.failed += TokenUse(requests=1)
            case FinishPiece():
                self._finish = piece

    def _measure(self, text: str) -> None:
        self._characters += len(text)
        if self._characters > MAX_CHARACTERS:
            raise ModelFailure(
                f"the model's answer has more than {MAX_CHARACTERS:,} characters",
                hint="ask for less at once, or use another model",
                code="model-broken",
            )

    def conclude(self, known: set[str]) -> Answered:
        """Return the answer; `known` are the ids of calls that the conversation has already."""
        finish = self._finish or FinishPiece(TokenUse(requests=1))
        calls = _number(self._calls[:MAX_CALLS], known)
        return Answered(
            text="".join(self._text),
            calls=calls,
            native=finish.native if calls == tuple(self._calls) else "",
            thinking="".join(self._thinking),
            use=make_sound(finish.use),
            cut=finish.cut,
        )

    def break_off(self) -> Answered:
        """Return what there is of an answer that nobody waits for any more: its text."""
        return Answered(text="".join(self._text), thinking="".join(self._thinking), use=TokenUse(requests=1), cut=True)


def make_sound(use: TokenUse) -> TokenUse:
    """Return what a provider says that it has used as numbers that can be kept and added."""
    cost = use.cost_usd
    return TokenUse(
        _count(use.requests),
        _count(use.input_tokens),
        _count(use.output_tokens),
        _count(use.cached_tokens),
        float(cost) if cost is not None and math.isfinite(cost) and cost >= 0 else None,
    )


def _count(number: float) -> int:
    return min(max(int(number), 0), _MAX_COUNT) if math.isfinite(number) else 0


def _number(calls: list[ToolCall], known: set[str]) -> tuple[ToolCall, ...]:
    """Return calls whose ids no other call of the conversation has."""
    seen = set(known)
    found: list[ToolCall] = []
    for call in calls:
        name, again = call.id or "call", 1
        while name in seen:
            again += 1
            name = f"{call.id or 'call'}-{again}"
        seen.add(name)
        found.append(replace(call, id=name))
    return tuple(found)
