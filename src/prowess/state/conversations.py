"""Conversations as they are remembered: what happened in them, and what each turn has cost."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["ConversationRecord", "LoggedEvent", "ModelUsage", "Outcome", "TokenUse", "TurnReceipt"]


@dataclass(frozen=True, slots=True)
class TokenUse:
    """What requests to a model have used."""

    requests: int = 0
    input_tokens: int = 0
    """All that were sent, those from the provider's cache included."""
    output_tokens: int = 0
    cached_tokens: int = 0
    """Of those sent: read from the provider's cache."""
    cost_usd: float | None = None
    """What the provider is known to charge for it; None if that is not known."""

    def __add__(self, other: "TokenUse") -> "TokenUse":
        costs = [use.cost_usd for use in (self, other) if use.cost_usd is not None]
        return TokenUse(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            sum(costs) if costs else None,
        )


class Outcome(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    CANCELLED = "cancelled"
    """By the user, or at the end of a fork's time."""
    FAILED = "failed"
    STOPPED = "stopped"
    """At its bound of steps."""


@dataclass(frozen=True, slots=True)
class TurnReceipt:
    """One turn of a conversation, or of a fork. Names and numbers, never what was said."""

    id: str
    user: str
    session: str
    model: str
    agent: str = ""
    at: float = 0.0
    """When it began, in seconds since 1970."""
    ended_at: float | None = None
    """None while it goes on, and for ever if its process died meanwhile."""
    outcome: Outcome | None = None
    steps: int = 0
    """Requests to the model for this answer; `use` counts all, those of summaries too."""
    calls: int = 0
    """Of tools."""
    use: TokenUse = TokenUse()
    """Without that of its forks, which have receipts of their own."""
    parent: str = ""
    """For a fork: the turn that has called for it. Its session is the fork's own."""
    skill: str = ""
    """For a fork: the id of its skill, its name and its digest."""
    name: str = ""
    digest: str = ""
    permissions: tuple[str, ...] = ()
    """For a fork: the tags that it was granted."""
    granted_by: str = ""
    """For a fork: whom they are attributed to, as in `deploy Skill`."""

    @property
    def is_open(self) -> bool:
        """Whether its end is not known yet."""
        return self.ended_at is None


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """How much one model was used."""

    model: str
    turns: int
    """Of conversations."""
    forks: int
    use: TokenUse
    """Of both. What it cost is the sum of what is known, and None if nothing is."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One thing that happened in a conversation."""

    number: int
    """From 1 up, without gaps within a conversation."""
    turn: str
    """The turn's id."""
    kind: str
    data: str
    """The event as JSON."""
    at: float = 0.0
    within: str = ""
    """The fork that it happened in; empty for the conversation itself."""


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """One conversation, as it is listed."""

    user: str
    id: str
    """The session's."""
    title: str = ""
    model: str = ""
    """That answered last."""
    created_at: float = 0.0
    used_at: float = 0.0
    turns: int = 0
