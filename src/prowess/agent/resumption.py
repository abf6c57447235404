"""What is left to do of a turn whose process has ended, by what its log says. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import dropwhile
from typing import TypeVar

from prowess.agent.asking import NOBODY
from prowess.agent.events import (
    Answered,
    Asked,
    Begun,
    CallBegun,
    CallEnded,
    Compacted,
    ConsentAnswered,
    ConsentAsked,
    Done,
    Event,
    Failed,
    ForkBegun,
    ForkEnded,
    Happening,
)
from prowess.agent.messages import ToolCall
from prowess.state.conversations import Outcome, TokenUse

__all__ = ["Closing", "Resumption", "Standing", "decide_resumption"]

_E = TypeVar("_E")
_NOTHING = TokenUse()
_BROKEN_OFF = (
    "The process that carried out this call ended before the call was done. What it did until then may stand. Call it "
    "again if that is needed."
)


class Standing(StrEnum):
    """How far a turn has come."""

    UNKNOWN = "unknown"
    """Nobody has told of it."""
    BEGUN = "begun"
    """The model has not got the message."""
    ASKED = "asked"
    """The model is to be asked, for the first time or again."""
    ANSWERED = "answered"
    """It has an answer, or an error: only its end is missing."""
    OVERTAKEN = "overtaken"
    """Another message has come after it."""
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Closing:
    """An event that ends what was left open."""

    event: Event
    within: str = ""
    """The fork that it happens in; empty for the conversation itself."""
    asked: ConsentAsked | None = None
    """The question that it ends; it may have an answer that the log doesn't know of."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """How to go on with a turn, and what it has come to so far."""

    standing: Standing
    message: str = ""
    """As the user typed it."""
    begun_at: float | None = None
    """In seconds since 1970."""
    system: str = ""
    """What the system prompt says for this turn alone."""
    closings: tuple[Closing, ...] = ()
    """Told before anything else is done: every card, fork and question gets its end, the innermost first."""
    unbegun: tuple[ToolCall, ...] = ()
    """Calls of the last answer that surely have not run."""
    consents: tuple[tuple[ConsentAsked, str], ...] = ()
    """Questions and their answers: nobody is asked once more for what they said no to."""
    text: str = ""
    """Of the last answer that has one."""
    outcome: Outcome = Outcome.ANSWERED
    """Of a turn whose end alone is missing."""
    done: Happening | None = None
    """Its end, if it has one."""
    steps: int = 0
    calls: int = 0
    forks: int = 0
    """Begun in it, those of its forks included."""
    use: TokenUse = _NOTHING
    """Without that of its forks."""
    forked_use: TokenUse = _NOTHING


def decide_resumption(happenings: Sequence[Happening], turn: str) -> Resumption:
    """Return how to go on with the turn of this id in a conversation where all of this has happened."""
    told = [one for one in happenings if one.turn == turn]
    own = [one for one in told if not one.within]
    if not own:
        return Resumption(Standing.UNKNOWN)
    events = [one.event for one in own]
    done = next((one for one in own if isinstance(one.event, Done)), None)
    closings = () if done else tuple(_close(told, within=""))
    joined = [*events, *(one.event for one in closings if not one.within)]
    asked = _find(events, Asked)
    return Resumption(
        _judge(happenings, own),
        message="".join(event.message for event in _find(events, Begun)),
        begun_at=own[0].at,
        system=asked[-1].system if asked else "",
        closings=closings,
        unbegun=_find_unbegun(events),
        consents=tuple(_find_consents(events)),
        text=next((answer.text for answer in reversed(_find(events, Answered)) if answer.text), ""),
        outcome=Outcome.FAILED if _find(events, Failed) else Outcome.ANSWERED,
        done=done,
        steps=_count_steps(events),
        calls=len(_find(events, CallBegun)),
        forks=sum(isinstance(one.event, ForkBegun) for one in told),
        use=_add_use(events),
        forked_use=sum((fork.use for fork in _find(joined, ForkEnded)), _NOTHING),
    )


def _judge(happenings: Sequence[Happening], own: Sequence[Happening]) -> Standing:
    events = [one.event for one in own]
    if _find(events, Done):
        return Standing.DONE
    answers = _find(events, Answered)
    if _find(events, Failed) or (answers and not answers[-1].calls):
        return Standing.ANSWERED
    if _is_overtaken(happenings, own[0].turn):
        return Standing.OVERTAKEN
    return Standing.ASKED if _find(events, Asked) else Standing.BEGUN


def _is_overtaken(happenings: Sequence[Happening], turn: str) -> bool:
    """Whether another turn has begun since this one."""
    since = dropwhile(lambda one: one.turn != turn, happenings)
    return any(isinstance(one.event, Begun) and one.turn != turn and not one.within for one in since)


def _find(events: Sequence[Event], kind: type[_E]) -> list[_E]:
    return [event for event in events if isinstance(event, kind)]


def _find_unbegun(events: Sequence[Event]) -> tuple[ToolCall, ...]:
    answers = _find(events, Answered)
    begun = {event.call for event in events if isinstance(event, CallBegun | CallEnded)}
    return tuple(call for call in answers[-1].calls if call.id not in begun) if answers else ()


def _find_consents(events: Sequence[Event]) -> Iterator[tuple[ConsentAsked, str]]:
    asked = {event.question: event for event in _find(events, ConsentAsked)}
    for answered in _find(events, ConsentAnswered):
        if answered.question in asked:
            yield asked[answered.question], answered.answer


def _count_steps(events: Sequence[Event]) -> int:
    """Return how many answers a model gave; others come from a subagent, or from Prowess itself."""
    return sum(answer.use.requests > 0 for answer in _find(events, Answered))


def _add_use(events: Sequence[Event]) -> TokenUse:
    return sum((event.use for event in events if isinstance(event, Answered | Compacted)), _NOTHING)


# What was left open


def _close(told: Sequence[Happening], *, within: str) -> Iterator[Closing]:
    """Yield the ends of all that is open in the conversation itself, or in a fork of it."""
    events = [one.event for one in told if one.within == within]
    questions: dict[str, ConsentAsked] = {}
    forks: dict[str, ForkBegun] = {}
    calls: dict[str, CallBegun] = {}
    for event in events:
        match event:
            case ConsentAsked():
                questions[event.question] = event
            case ConsentAnswered():
                questions.pop(event.question, None)
            case ForkBegun():
                forks[event.fork] = event
            case ForkEnded():
                forks.pop(event.fork, None)
            case CallBegun():
                calls[event.call] = event
            case CallEnded():
                calls.pop(event.call, None)
            case _:
                pass
    for question in questions.values():
        unheard = ConsentAnswered(call=question.call, question=question.question, answer=NOBODY)
        yield Closing(unheard, within, asked=question)
    for fork in forks.values():
        yield from _close_fork(told, fork, within=within)
    wanted = {call.id: call for answer in _find(events, Answered) for call in answer.calls}
    for call in calls.values():
        yield Closing(_break_off(call, wanted.get(call.call)), within)


def _close_fork(told: Sequence[Happening], fork: ForkBegun, *, within: str) -> Iterator[Closing]:
    inside = list(_close(told, within=fork.fork))
    yield from inside
    own = [one.event for one in told if one.within == fork.fork]
    ended = [*own, *(one.event for one in inside if one.within == fork.fork)]
    use = _add_use(own) + sum((inner.use for inner in _find(ended, ForkEnded)), _NOTHING)
    steps = _count_steps(own)
    if _find(own, Begun) and not _find(own, Done):
        yield Closing(Done(text="", outcome=Outcome.CANCELLED, use=use, steps=steps), fork.fork)
    ended_fork = ForkEnded(call=fork.call, fork=fork.fork, outcome=Outcome.CANCELLED, use=use, steps=steps)
    yield Closing(ended_fork, within)


def _break_off(begun: CallBegun, wanted: ToolCall | None) -> CallEnded:
    return CallEnded(
        call=begun.call,
        tool=wanted.tool if wanted else begun.tool,
        role=begun.role,
        content=_BROKEN_OFF,
        state="cancelled",
        summary="broken off: its process ended",
    )
