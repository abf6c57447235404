"""The blocks that a conversation is shown as: frozen values, each with an id that stays.

Ids are made from the turn and from the order of what is kept in the log, never from what others wrote. So two processes
that have read the same log have the same ids.
"""

from dataclasses import dataclass, field
from typing import Any

from prowess.state.conversations import TokenUse

__all__ = [
    "AssistantText",
    "Block",
    "CardState",
    "Compaction",
    "ConsentQuestion",
    "Failure",
    "ForkPanel",
    "Notice",
    "OutputPiece",
    "SkillRef",
    "ToolCard",
    "TurnEnd",
    "UserMessage",
]

_NO_USE = TokenUse()

CardState = str
"""`running`, `done`, `failed`, `refused` or `cancelled`."""


@dataclass(frozen=True, slots=True)
class SkillRef:
    """Which skill a name stood for at that moment."""

    id: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user said; in a fork, what it was asked to do."""

    id: str
    text: str
    at: float = 0.0
    is_task: bool = False


@dataclass(frozen=True, slots=True)
class AssistantText:
    """What a model said, as Markdown."""

    id: str
    text: str
    thinking: str = ""
    is_partial: bool = False
    """Whether more is to come, or it may turn out void."""
    note: str = ""
    """What holds the answer up."""
    is_cut: bool = False
    """Whether it is longer than what is shown."""


@dataclass(frozen=True, slots=True)
class OutputPiece:
    """Something that a script has written."""

    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool call; or a skill that the user's message has switched on, which needs no call."""

    id: str
    tool: str
    role: str = ""
    title: str = ""
    state: CardState = "running"
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    summary: str = ""
    seconds: float = 0.0
    output: tuple[OutputPiece, ...] = ()
    """The end of what the script has written so far; empty when it has ended."""
    output_cut: int = 0
    """Characters that it has written before that."""
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    content: str = ""
    """What the model reads."""
    content_cut: int = 0
    """Characters of it that are not shown."""
    skill: SkillRef | None = None
    loaded: tuple[str, ...] = ()
    """What the user is told of skills that it has switched on."""


@dataclass(frozen=True, slots=True)
class ForkPanel:
    """A subagent that works a skill; what happens in it are the blocks within."""

    id: str
    name: str
    skill: SkillRef
    permissions: tuple[str, ...] = ()
    granted_by: str = ""
    outcome: str = ""
    """Empty while it works."""
    use: TokenUse = _NO_USE
    steps: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ConsentQuestion:
    """A question to the person."""

    id: str
    question: str
    """The id by which it is answered."""
    title: str
    record: dict[str, Any] = field(default_factory=dict[str, Any])
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    """What there is besides: `diffs`."""
    answer: str = ""
    """Empty while it waits."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that the user should know."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a turn could not go on."""

    id: str
    message: str
    hint: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Compaction:
    """The older part of the conversation was replaced."""

    id: str
    text: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn has ended, and what it has used."""

    id: str
    outcome: str
    """As in `Outcome`; `interrupted` if nobody knows."""
    use: TokenUse = _NO_USE
    seconds: float = 0.0


Block = UserMessage | AssistantText | ToolCard | ForkPanel | ConsentQuestion | Notice | Failure | Compaction | TurnEnd
