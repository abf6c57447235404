"""The conversation as a model gets it: what its events add up to. The same events always give the same messages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prowess.agent.events import Answered, Asked, CallEnded, Compacted, Event, Told
from prowess.agent.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from prowess.disclosure.instructions import defuse

__all__ = ["Entry", "Transcript", "render_summary"]

_UNANSWERED = "The call was ended before it gave a result. What it has done until then may stand."
_SUMMARY = "This conversation was compacted. What was said before, in short:"


@dataclass(frozen=True, slots=True)
class Entry:
    """A message with its length, and the receipts of the skills whose instructions it holds."""

    message: Message
    tokens: int
    receipts: tuple[str, ...] = ()


class Transcript:
    """Takes events in their order. Every call in it has a result: providers refuse a history without."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._entries: list[Entry] = []
        self._pending: dict[str, ToolCall] = {}
        self.system = ""
        self._system_tokens = 0
        self.summary = ""
        """What the last compaction has left of all before it, in the first message."""
        self.call_ids: set[str] = set()
        """Of all calls there ever were in it."""

    @property
    def entries(self) -> Sequence[Entry]:
        """What stands in it, a result in the place of those that are missing."""
        return [*self._entries, *self._missing()]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages alone."""
        return tuple(entry.message for entry in self.entries)

    @property
    def receipts(self) -> frozenset[str]:
        """Of the skills whose instructions stand in it."""
        return frozenset(receipt for entry in self._entries for receipt in entry.receipts)

    @property
    def tokens(self) -> int:
        """Its length, the system prompt included."""
        return self._system_tokens + sum(entry.tokens for entry in self._entries)

    def take(self, event: Event) -> None:
        """Add what an event means for the model."""
        match event:
            case Told():
                self.system, self._system_tokens = event.system, self._count(event.system)
            case Asked():
                self._settle()
                self._add(UserMessage(event.text, event.context, event.suggested), event.receipts)
            case Answered():
                self._settle()
                if event.text or event.calls:
                    self._add(AssistantMessage(event.text, event.calls, event.native))
                    self._pending = {call.id: call for call in event.calls}
                    self.call_ids |= self._pending.keys()
            case CallEnded():
                if self._pending.pop(event.call, None) is not None:
                    message = ToolMessage(event.call, event.tool, event.content, event.is_error)
                    self._add(message, (event.receipt,) if event.receipt else ())
            case Compacted():
                self._compact(event)
            case _:
                pass

    def _add(self, message: Message, receipts: tuple[str, ...] = ()) -> None:
        self._entries.append(Entry(message, self._measure(message), receipts))

    def _measure(self, message: Message) -> int:
        match message:
            case UserMessage():
                return self._count(message.text) + self._count(message.context)
            case AssistantMessage():
                return self._count(message.text) + sum(self._count(call.arguments) + 8 for call in message.calls)
            case ToolMessage():
                return self._count(message.content)

    def _settle(self) -> None:
        """Give calls that ended with their turn a result."""
        self._entries += self._missing()
        self._pending = {}

    def _missing(self) -> list[Entry]:
        tokens = self._count(_UNANSWERED) if self._pending else 0
        return [
            Entry(ToolMessage(call.id, call.tool, _UNANSWERED, is_error=True), tokens)
            for call in self._pending.values()
        ]

    def _compact(self, event: Compacted) -> None:
        self._settle()
        kept = self._entries[len(self._entries) - event.kept_messages :] if event.kept_messages else []
        self._entries = []
        self.summary = event.summary
        self._add(UserMessage(event.request, render_summary(event)), event.receipts)
        self._entries += kept


def render_summary(event: Compacted) -> str:
    """Return what a model reads in the place of what was compacted. No summary can pass for instructions of a skill."""
    return "\n\n".join(part for part in (_SUMMARY, defuse(event.summary), event.attached) if part)
