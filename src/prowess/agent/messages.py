"""What stands in a conversation, in words that belong to no provider."""

from dataclasses import dataclass

__all__ = ["AssistantMessage", "Message", "ToolCall", "ToolMessage", "UserMessage"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model wants called."""

    id: str
    tool: str
    """As the model spelled it."""
    arguments: str
    """JSON, as the model wrote it; it may be broken."""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a user said, and what goes with it."""

    text: str
    context: str = ""
    """What Prowess adds for the model: changes of the catalog, instructions that the user called for."""
    suggested: tuple[str, ...] = ()
    """Names of skills that triggers or the search speak for, the best first."""


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What a model answered."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    native: str = ""
    """The answer as its provider's library keeps it, as JSON, with what only that provider understands."""


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """What came of a call."""

    call: str
    """The call's id."""
    tool: str
    content: str
    is_error: bool = False


Message = UserMessage | AssistantMessage | ToolMessage
