"""Make a long conversation short: what was said before becomes a summary, and what must stay is kept apart from it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from prowess.agent.messages import AssistantMessage, Message, ToolMessage, UserMessage
from prowess.agent.transcript import Entry
from prowess.disclosure.instructions import CLOSING_TAG

__all__ = [
    "SUMMARISE",
    "Cut",
    "measure_unseen",
    "plan_cut",
    "quote_request",
    "render_for_summary",
    "shorten",
    "truncate",
]

SUMMARISE = (
    "You sum up a conversation between a user and an assistant, so that the assistant can go on with the summary "
    "alone. Keep what the user wants and has decided, what was found out (names, numbers, paths, quotations that "
    "matter), what was done and what is still to do, and open questions. The instructions of skills are given again "
    "apart from the summary: do not repeat them. Write plain sentences, and nothing that is not in the conversation."
)
_MESSAGE_CHARACTERS = 4_000
"""Of one message that are summed up."""
_LINE_CHARACTERS = 200
"""Of one message that stay in a truncated conversation."""
_LEFT_OUT = re.compile(r"\[([\d,]+) earlier messages are left out\]")
_OPENING = re.compile(r"<skill_content name=\"([^\"]*)\">")


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a conversation is cut."""

    before: tuple[Entry, ...]
    kept: tuple[Entry, ...]

    @property
    def held(self) -> frozenset[str]:
        """Receipts of the skills whose instructions stand in what is kept."""
        return frozenset(receipt for entry in self.kept for receipt in entry.receipts)


def plan_cut(entries: Sequence[Entry], *, keep_tokens: int) -> Cut | None:
    """Return the cut that keeps as many of the last messages as fit; None if there is nothing to cut.

    It lies before a message of the user, else before an answer: never between a call and its result.
    """
    starts = [at for at, entry in enumerate(entries) if at and not isinstance(entry.message, ToolMessage)]
    lengths = _measure_tails(entries)
    fitting = [at for at in starts if lengths[at] <= keep_tokens]
    turns = [at for at in fitting if isinstance(entries[at].message, UserMessage)]
    at = min(turns, default=None) or min(fitting, default=None) or (len(entries) if entries else None)
    return Cut(tuple(entries[:at]), tuple(entries[at:])) if at else None


def _measure_tails(entries: Sequence[Entry]) -> list[int]:
    """Return how long the conversation is from each message on."""
    lengths: list[int] = []
    total = 0
    for entry in reversed(entries):
        total += entry.tokens
        lengths.append(total)
    return lengths[::-1]


def measure_unseen(entries: Sequence[Entry]) -> int:
    """Return the length of what no model has read yet: a message of the user, or the last calls and their results."""
    total = 0
    for entry in reversed(entries):
        if isinstance(entry.message, AssistantMessage) and not total:
            return 0
        total += entry.tokens
        if not isinstance(entry.message, ToolMessage):
            break
    return total


def render_for_summary(entries: Sequence[Entry], *, most_characters: int, earlier: str = "") -> str:
    """Return a part of a conversation as text, the latest of it if it is too long, instructions of skills left out.

    `earlier` is a summary of what came before it, and stands there whole.
    """
    parts = [shown for entry in entries if (shown := _render(entry.message, _MESSAGE_CHARACTERS))]
    kept: list[str] = []
    most_characters -= len(earlier)
    for part in reversed(parts):
        most_characters -= len(part) + 2
        if most_characters < 0 and kept:
            kept.append(f"[{len(parts) - len(kept):,} earlier messages are left out]")
            break
        kept.append(part)
    kept += [f"[In short, what was said before:]\n{earlier}"] if earlier else []
    return "\n\n".join(reversed(kept))


def quote_request(cut: Cut, *, most_characters: int) -> str:
    """Return the user's last message if it is cut off, word for word: it is what is being worked on."""
    if any(isinstance(entry.message, UserMessage) and entry.message.text for entry in cut.kept):
        return ""
    for entry in reversed(cut.before):
        if isinstance(entry.message, UserMessage) and entry.message.text:
            return shorten(entry.message.text, most_characters)
    return ""


def truncate(entries: Sequence[Entry], *, most_characters: int, earlier: str = "") -> str:
    """Return the beginnings of the latest messages, where no model can sum them up.

    `earlier` is what was made so of those before, or a summary of them: its lines go first.
    """
    gone = _LEFT_OUT.match(earlier)
    lines = earlier[gone.end() if gone else 0 :].split("\n") if earlier else []
    lines = [line for line in lines if line.strip()]
    lines += [shown.replace("\n", " ") for entry in entries if (shown := _render(entry.message, _LINE_CHARACTERS))]
    kept: list[str] = []
    for line in reversed(lines):
        most_characters -= len(line) + 1
        if most_characters < 0:
            break
        kept.append(line)
    left_out = len(lines) - len(kept) + (int(gone[1].replace(",", "")) if gone else 0)
    cut = [f"[{left_out:,} earlier messages are left out]"] if left_out else []
    return "\n".join([*cut, *reversed(kept)])


def _leave_out_instructions(text: str) -> str:
    """Return a text with the names of skills in the place of their instructions."""
    parts: list[str] = []
    at = 0
    while (opening := _OPENING.search(text, at)) and (end := text.find(CLOSING_TAG, opening.end())) >= 0:
        parts += [text[at : opening.start()], f"[instructions of skill {opening[1]}]"]
        at = end + len(CLOSING_TAG)
    return "".join([*parts, text[at:]])


def _render(message: Message, characters: int) -> str:
    match message:
        case UserMessage():
            context = _leave_out_instructions(message.context)
            said = f"User: {shorten(message.text, characters)}" if message.text else ""
            return "\n".join(part for part in (shorten(context, characters), said) if part)
        case AssistantMessage():
            calls = [f"[called {call.tool} with {shorten(call.arguments, _LINE_CHARACTERS)}]" for call in message.calls]
            said = [f"Assistant: {shorten(message.text, characters)}"] if message.text else []
            return "\n".join([*said, *calls])
        case ToolMessage():
            content = _leave_out_instructions(message.content)
            return f"[{message.tool} {'failed' if message.is_error else 'returned'}: {shorten(content, characters)}]"


def shorten(text: str, characters: int) -> str:
    """Return as much of the text as that, and a mark if there is more."""
    return text if len(text) <= characters else f"{text[:characters]} […]"
