"""What the operations on conversations take and answer."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from prowess.surfaces.web.conversations.desk import LISTED, MAX_LISTED
from prowess.surfaces.web.conversations.live_conversation import ActiveSkill

__all__ = [
    "AnswerBody",
    "Answered",
    "BegunTurn",
    "Cancelled",
    "CompletionRow",
    "Completions",
    "ConversationList",
    "ConversationQuery",
    "ConversationRow",
    "ConversationState",
    "Deactivated",
    "Deleted",
    "EventsQuery",
    "History",
    "HistoryQuery",
    "Message",
    "NewConversation",
    "Nothing",
    "QuestionRow",
    "Questions",
    "Renamed",
    "Title",
    "TypedQuery",
]

AnswerWord = Literal["allow-once", "allow-for-session", "allow-always", "refuse", "refuse-once"]


class ConversationRow(Struct, kw_only=True):
    """One conversation, as it is listed."""

    user: str
    id: str
    title: str
    model: str
    created_at: str
    used_at: str
    turns: int
    busy: bool
    """Whether a message is being answered in it."""


class ConversationList(Struct, kw_only=True):
    """Conversations, the one used last first."""

    conversations: list[ConversationRow]
    kept: bool
    """Whether they outlive the server."""


class ConversationQuery(Struct, kw_only=True):
    """Which conversations, and how many."""

    query: Annotated[str, Meta(max_length=200)] = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_LISTED)] = LISTED


class NewConversation(Struct, kw_only=True):
    """A conversation that can be spoken in; it comes into being with its first message."""

    id: str


class Nothing(Struct, kw_only=True, forbid_unknown_fields=False):
    """No more need be said."""


class ConversationState(Struct, kw_only=True):
    """One conversation as it is now."""

    id: str
    title: str
    model: str
    busy: bool
    turn: str
    """Of the message that is being answered; empty if none is."""
    last_event: int
    active: list[ActiveSkill]


class Title(Struct, kw_only=True, forbid_unknown_fields=True):
    """What a conversation is to be called; an empty title takes the given one back."""

    title: Annotated[str, Meta(max_length=500)]


class Renamed(Struct, kw_only=True):
    """A conversation that was given a title."""

    id: str
    title: str


class Deleted(Struct, kw_only=True):
    """Whether there was anything to delete."""

    deleted: bool


class Message(Struct, kw_only=True, forbid_unknown_fields=True):
    """What a person says."""

    text: Annotated[str, Meta(min_length=1, max_length=200_000)]
    model: Annotated[str, Meta(max_length=200)] = ""


class BegunTurn(Struct, kw_only=True):
    """A message that is being answered."""

    turn: str


class Cancelled(Struct, kw_only=True):
    """Whether something was under way."""

    cancelled: bool


class EventsQuery(Struct, kw_only=True):
    """From where on, and in which form."""

    form: Literal["records", "blocks"] = "records"
    after: Annotated[int, Meta(ge=0, le=2**53)] = 0
    """The number of the last event that is known; for records."""
    cursor: Annotated[str, Meta(max_length=100)] = ""
    """What is known; for blocks."""


class HistoryQuery(Struct, kw_only=True):
    """From where on."""

    after: Annotated[int, Meta(ge=0, le=2**53)] = 0


class History(Struct, kw_only=True):
    """What happened and is kept."""

    events: list[dict[str, Any]]


class QuestionRow(Struct, kw_only=True):
    """A question of consent."""

    id: str
    turn: str
    answer: str | None
    record: dict[str, Any]


class Questions(Struct, kw_only=True):
    """Questions that wait for an answer."""

    questions: list[QuestionRow]


class AnswerBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """What a person says to a question."""

    answer: AnswerWord


class Answered(Struct, kw_only=True):
    """The answer that counts."""

    answer: str


class TypedQuery(Struct, kw_only=True):
    """What is typed so far."""

    typed: Annotated[str, Meta(max_length=300)] = ""


class CompletionRow(Struct, kw_only=True):
    """A skill that may be meant."""

    name: str
    mention: str
    description: str
    hint: str


class Completions(Struct, kw_only=True):
    """Skills that may be meant."""

    completions: list[CompletionRow]


class Deactivated(Struct, kw_only=True):
    """Whether the skill was on."""

    deactivated: bool
