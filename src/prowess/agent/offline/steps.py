"""The next step of the offline model: calls, or the answer. A pure function of the request."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prowess.agent.chat_model import ModelRequest
from prowess.agent.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from prowess.agent.offline.acts import Act, Read, Run, Toolbox, make_toolbox
from prowess.agent.offline.answers import Findings, render_answer
from prowess.agent.offline.recollection import Recollection, recollect
from prowess.agent.offline.skill_choice import Focus, decide_focus
from prowess.agent.offline.wishes import read_wish
from prowess.agent.offline.work import MAX_READ_CHARACTERS, Work, plan_work

__all__ = ["MAX_CALLS", "Step", "decide_step"]

MAX_CALLS = 24
"""Calls in one turn."""


@dataclass(frozen=True, slots=True)
class Step:
    """What the model answers to one request: calls, or the text that ends the turn."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


def decide_step(request: ModelRequest) -> Step:
    """Return what comes next. No call is made twice in a turn, and no more than there may be."""
    toolbox = make_toolbox(request.tools)
    memory = recollect(request, toolbox)
    wish = read_wish(memory.text)
    found = decide_focus(memory, wish, toolbox)
    # What was called before a compaction is not known any more, and nothing may be done twice.
    room = 0 if memory.is_compacted else MAX_CALLS - memory.calls
    if not isinstance(found, Focus):
        if room > 0 and memory.result_of(found) is None:
            return Step(calls=_make_calls([found], request, toolbox))
        found = Focus()
    work = plan_work(found.skills, wish)
    acts = list(_find_next(work, memory, toolbox))[: max(room, 0)]
    if acts:
        return Step(calls=_make_calls(acts, request, toolbox))
    return Step(render_answer(Findings(memory, wish, found, work, toolbox)))


def _find_next(work: Work, memory: Recollection, toolbox: Toolbox) -> Iterator[Act]:
    """Return the next file that is to be read; when all have been, or enough, the next script."""
    reads = [read for read, _ in work.reads if memory.result_of(read) is None]
    if reads and toolbox.can(Read) and memory.read_characters < MAX_READ_CHARACTERS:
        yield reads[0]
    elif toolbox.can(Run):
        yield from [run for run in work.runs if memory.result_of(run) is None][:1]


def _make_calls(acts: Sequence[Act], request: ModelRequest, toolbox: Toolbox) -> tuple[ToolCall, ...]:
    """Return calls with ids that no other call of the conversation has: they come from all that was said before."""
    said = hashlib.sha256()
    made = 0
    for message in request.messages:
        made += len(message.calls) if isinstance(message, AssistantMessage) else 0
        said.update(repr(_identify(message)).encode("utf-8", "backslashreplace"))
    mark = said.hexdigest()[:12]
    return tuple(toolbox.make_call(act, call_id=f"offline-{made + n}-{mark}") for n, act in enumerate(acts, start=1))


def _identify(message: Message) -> tuple[object, ...]:
    match message:
        case UserMessage():
            return message.text, message.context
        case AssistantMessage():
            return message.text, [call.id for call in message.calls]
        case ToolMessage():
            return message.call, message.content
