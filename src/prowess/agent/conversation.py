"""A conversation: a session, the model that answers in it, and what stands in it so far."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

import anyio

from prowess.agent.asking import ObservedAsker
from prowess.agent.chat_model import ChatModel
from prowess.agent.transcript import Transcript
from prowess.policy import Turns
from prowess.runtime.session import Session
from prowess.state.conversations import TokenUse

__all__ = ["Audience", "Conversation", "ForkClock"]

_COMPACT_AT = 0.8
"""Of the context window."""
_BELIEVED_TIMES, _BELIEVED_TOKENS = 4, 50_000
"""A provider is believed a length up to so many times our own count, and so much more for what tools take."""


class Audience(StrEnum):
    """Who hears of what an agent does."""

    USER = "user"
    """A person, who is told when a skill is loaded."""
    NOBODY = "nobody"
    """It works in the background."""


class ForkClock:
    """The time of a fork, and of those around it. It stands still while a person is asked."""

    def __init__(self, scope: anyio.CancelScope, *, above: "ForkClock | None") -> None:
        self._scope = scope
        self._above = above
        self._left = 0.0

    def pause(self) -> None:
        """Stop it, and all above it. In the event loop."""
        self._left = self._scope.deadline - anyio.current_time()
        self._scope.deadline = math.inf
        if self._above is not None:
            self._above.pause()

    def resume(self) -> None:
        """Let it go on, and all above it. In the event loop."""
        self._scope.deadline = anyio.current_time() + self._left
        if self._above is not None:
            self._above.resume()


@dataclass(slots=True)
class Conversation:
    """What the turns of one conversation have in common."""

    session: Session
    model: ChatModel
    transcript: Transcript
    asker: ObservedAsker
    clock: Callable[[], float]
    instructions: str = ""
    """What the application has the model told before it is told of skills."""
    role: str = ""
    """What a subagent is told that it is."""
    audience: Audience = Audience.USER
    is_primed: bool = False
    """Whether this process has told the model of the catalog."""
    told_active: str = field(default="")
    """What the model was last told of active skills."""
    reported_tokens: int = 0
    """How long the provider says that the conversation was, at the last request."""
    measured_tokens: int = 0
    """How long it was then by our count."""
    least_tokens: int = 0
    """What is left after compaction, and cannot be made shorter by another."""
    is_remeasured: bool = True
    """Whether the provider has said how long it is since it was compacted."""
    warned_of_tools: bool = False

    @property
    def turns(self) -> Turns:
        """The bounds of a turn."""
        return self.session.policy.turns

    @property
    def window(self) -> int:
        """How many tokens the model takes."""
        return self.model.context_window or self.session.policy.prompting.context_window

    @property
    def compact_at(self) -> int:
        """The length at which the conversation is compacted."""
        at = self.turns.compact_tokens or int(self.window * _COMPACT_AT)
        return max(at, self.least_tokens + self.least_tokens // 4)

    @property
    def length(self) -> int:
        """How long it is, by our count or by the provider's, with what has come since that was heard."""
        tokens = self.transcript.tokens
        return max(tokens, self.reported_tokens + tokens - self.measured_tokens)

    def begin_again(self) -> None:
        """Forget what stands in it: it is taken from its log anew."""
        self.transcript = Transcript(self.session.count_tokens)
        self.is_primed = False
        self.told_active = ""
        self.reported_tokens = self.least_tokens = 0

    def hear_length(self, use: TokenUse) -> None:
        """Take the provider's word for how long it was before an answer; after compaction, for how short it can be."""
        self.measured_tokens = self.transcript.tokens
        self.reported_tokens = min(use.input_tokens, self.measured_tokens * _BELIEVED_TIMES + _BELIEVED_TOKENS)
        if use.input_tokens and not self.is_remeasured:
            self.is_remeasured = True
            self.least_tokens = min(max(self.least_tokens, self.reported_tokens), self.window)
