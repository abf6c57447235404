"""What the messages of a request show: which skills are active, what they say, and what was done in this turn."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prowess.agent.chat_model import ModelRequest
from prowess.agent.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from prowess.agent.offline.acts import Act, Activate, Read, Toolbox
from prowess.agent.offline.catalog_reading import Entry, parse_catalog, parse_gone
from prowess.agent.offline.tool_texts import (
    Instructions,
    cut_instructions,
    find_answers,
    find_instructions,
    find_noted,
    find_plain_instructions,
    find_refused,
    read_activation,
    read_deactivation,
)

__all__ = ["Deed", "Recollection", "read_instructions_of", "recollect"]

_ACTIVE = re.compile(
    r"^Active skills: (.+)\. Their instructions hold; they need not be activated again\.$", re.MULTILINE
)
_FADED = re.compile(r"^Active before: (.+)\. Activate them again before you go by them\.$", re.MULTILINE)
_TRIGGERED = re.compile(r"^Triggers in the message speak for: (.+)\.$", re.MULTILINE)
_COMPACTED = "This conversation was compacted."
_NO_RESULT = "no result has come back"


@dataclass(frozen=True, slots=True)
class Deed:
    """A call of this turn and what came of it."""

    act: Act
    result: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Recollection:
    """All that the model goes by."""

    text: str = ""
    """The user's last message."""
    suggested: tuple[str, ...] = ()
    triggered: tuple[str, ...] = ()
    """Of those suggested: by triggers."""
    given: tuple[Instructions, ...] = ()
    """The instructions that came with the message."""
    noted: tuple[str, ...] = ()
    """The skills that it calls for and that were active already."""
    answers: tuple[tuple[str, str], ...] = ()
    """Skills that subagents have worked for the message, and what they say."""
    refused: tuple[tuple[str, str], ...] = ()
    """Skills that the message calls for in vain, and why."""
    active: tuple[Instructions, ...] = ()
    """Those of skills that were active before it, the newest last."""
    active_names: tuple[str, ...] = ()
    """What the model was told is active."""
    catalog: tuple[Entry, ...] = ()
    deeds: tuple[Deed, ...] = ()
    calls: int = 0
    """Made in this turn, whatever they were for."""
    is_compacted: bool = False
    """Whether the conversation was compacted in this turn: what was done before is not all known any more."""

    @property
    def read_characters(self) -> int:
        """How much was read in this turn."""
        return sum(len(deed.result) for deed in self.deeds if isinstance(deed.act, Read))

    def find(self, name: str) -> Instructions | None:
        """Return the instructions of a skill, those that came last."""
        latest = (*self.active, *self.given)
        return next((one for one in reversed(latest) if one.name == name), None)

    def result_of(self, act: Act) -> Deed | None:
        """Return what came of an act in this turn; None if it was not done."""
        return next((deed for deed in self.deeds if deed.act == act), None)


def recollect(request: ModelRequest, toolbox: Toolbox) -> Recollection:
    """Return what a request shows."""
    messages = request.messages
    last = max((at for at, one in enumerate(messages) if isinstance(one, UserMessage)), default=len(messages))
    before, turn = messages[:last], messages[last:]
    message = next((one for one in turn if isinstance(one, UserMessage)), UserMessage(""))
    is_compacted = message.context.startswith(_COMPACTED)
    told = "" if is_compacted else cut_instructions(message.context)  # A summary tells what anybody has said.
    return Recollection(
        message.text,
        message.suggested,
        triggered=_names(_TRIGGERED, told),
        given=_find_given(request, message),
        noted=find_noted(told),
        answers=() if is_compacted else find_answers(message.context),
        refused=find_refused(told),
        active=_find_active(before, message, toolbox),
        active_names=_find_active_names(request),
        catalog=_find_catalog(request, toolbox),
        deeds=_find_deeds(turn, toolbox),
        calls=sum(len(one.calls) for one in turn if isinstance(one, AssistantMessage)),
        is_compacted=is_compacted,
    )


# The message


def _find_given(request: ModelRequest, message: UserMessage) -> tuple[Instructions, ...]:
    """Return what came with the message; where no tool can be called, the system prompt holds it."""
    given = _read_context(message) or (() if request.tools else find_instructions(request.system))
    # After a compaction all that is active comes again, the newest first.
    return given[:1] if message.context.startswith(_COMPACTED) else given


def _read_context(message: UserMessage) -> tuple[Instructions, ...]:
    """Return the instructions that came with a message; those in a summary are told from it by their tags alone."""
    if message.context.startswith(_COMPACTED):
        return find_instructions(message.context)
    return find_instructions(message.context) or find_plain_instructions(message.context)


# What is active


def _find_active(before: Sequence[Message], message: UserMessage, toolbox: Toolbox) -> tuple[Instructions, ...]:
    calls = {call.id: call for one in before if isinstance(one, AssistantMessage) for call in one.calls}
    found: dict[str, Instructions] = {}
    for one in before:
        for name in _find_ended(one, calls, toolbox):
            found.pop(name, None)
        for instructions in _find_begun(one, calls, toolbox):
            found.pop(instructions.name, None)
            found[instructions.name] = instructions
    ended = _find_ended(message, calls, toolbox)
    return tuple(one for name, one in found.items() if name not in ended)


def _find_begun(message: Message, calls: dict[str, ToolCall], toolbox: Toolbox) -> Sequence[Instructions]:
    match message:
        case UserMessage():
            found = _read_context(message)
            return found[::-1] if message.context.startswith(_COMPACTED) else found
        case ToolMessage() if not message.is_error and message.call in calls:
            return _read_result(message, calls[message.call], toolbox)
        case _:
            return ()


def _read_result(message: ToolMessage, call: ToolCall, toolbox: Toolbox) -> Sequence[Instructions]:
    """Return the instructions that a call has brought: one that activates a skill, and no file that looks like them."""
    act = toolbox.read_call(call)
    if isinstance(act, Activate):
        found = read_instructions_of(act, message.content, toolbox)
        return () if found is None else (found,)
    return find_instructions(message.content) if act is None and toolbox.only_activates(call) else ()


def read_instructions_of(act: Activate, result: str, toolbox: Toolbox) -> Instructions | None:
    """Return the instructions that an activation has brought; None if it is the answer of a subagent."""
    if act.prompt:  # Only subagents are given one.
        return None
    # Tools that take arguments give instructions in tags; those of the other profiles do not.
    return read_activation(result, are_tagged=toolbox.takes(Activate, "arguments"))


def _find_ended(message: Message, calls: dict[str, ToolCall], toolbox: Toolbox) -> tuple[str, ...]:
    match message:
        case UserMessage():
            return _names(_FADED, _cut_summary(message))
        case ToolMessage() if message.call in calls and toolbox.read_call(calls[message.call]) is None:
            return (read_deactivation(message.content),)
        case _:
            return ()


def _find_active_names(request: ModelRequest) -> tuple[str, ...]:
    """Return the names that the model was told last, whether in the system prompt or with a message."""
    texts = [request.system, *(_cut_summary(one) for one in request.messages if isinstance(one, UserMessage))]
    told = [text for text in texts if _ACTIVE.search(text) or _FADED.search(text)]
    return _names(_ACTIVE, told[-1]) if told else ()


def _told_texts(request: ModelRequest) -> Iterator[str]:
    yield request.system
    for one in request.messages:
        if isinstance(one, UserMessage) and not one.context.startswith(_COMPACTED):
            yield cut_instructions(one.context)


def _cut_summary(message: UserMessage) -> str:
    """Return what a message tells of the state: of a compaction, what comes last, behind the summary."""
    if not message.context.startswith(_COMPACTED):
        return cut_instructions(message.context)
    last = message.context.rpartition("\n\n")[2]
    return "" if last.endswith(">") else last  # The end of instructions.


# The catalog


def _find_catalog(request: ModelRequest, toolbox: Toolbox) -> tuple[Entry, ...]:
    """Return the skills that the model was told of; if it was told of none, the names that its tool takes."""
    found: dict[str, Entry] = {}
    for text in _told_texts(request):
        found |= {entry.name: entry for entry in parse_catalog(text)}
        for name in parse_gone(text):
            found.pop(name, None)
    return tuple(found.values()) or tuple(map(Entry, toolbox.skill_names()))


# The turn


def _find_deeds(turn: Sequence[Message], toolbox: Toolbox) -> tuple[Deed, ...]:
    results = {one.call: one for one in turn if isinstance(one, ToolMessage)}
    deeds: list[Deed] = []
    for one in turn:
        for call in one.calls if isinstance(one, AssistantMessage) else ():
            act, result = toolbox.read_call(call), results.get(call.id)
            if act is not None and result is not None:
                deeds.append(Deed(act, result.content, result.is_error))
            elif act is not None:
                deeds.append(Deed(act, _NO_RESULT, failed=True))
    return tuple(deeds)


def _names(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    found = pattern.findall(text)
    return tuple(html.unescape(name) for name in found[-1].split(", ")) if found else ()
