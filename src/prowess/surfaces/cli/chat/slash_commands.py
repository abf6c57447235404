"""Lines that begin with `/` and are for Prowess: what is there, what is on, which model answers, and how to leave."""

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prowess.agent.chat_model import ChatModel
from prowess.agent.events import Done
from prowess.agent.model_choice import open_model
from prowess.agent.providers.usability import OFFLINE, survey_providers
from prowess.catalog.views import Reason
from prowess.errors import ProwessError
from prowess.state.conversations import TokenUse
from prowess.surfaces.cli.chat.room import Room
from prowess.surfaces.cli.chat.skill_rows import render_active, render_skills
from prowess.surfaces.tones import Line, Tone
from prowess.surfaces.wording import show_use

__all__ = ["ABOUT", "BeginAnew", "GoOn", "Leave", "Message", "Reply", "UseModel", "answer_line", "remark_on"]

_COMMAND = re.compile(r"/(?P<name>[^\W\d_][\w-]*)(?:\s+(?P<rest>.*))?\Z", re.DOTALL)
"""A name and what it is given; a path such as /etc/hosts is none."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """Nothing else is to be done."""


@dataclass(frozen=True, slots=True)
class Leave:
    """The conversation is over."""


@dataclass(frozen=True, slots=True)
class BeginAnew:
    """A new conversation is to begin."""


@dataclass(frozen=True, slots=True)
class UseModel:
    """Another model is to answer."""

    model: ChatModel


@dataclass(frozen=True, slots=True)
class Message:
    """The line is a message for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a line is answered, and what is to be done then."""

    lines: tuple[Line, ...] = ()
    then: GoOn | Leave | BeginAnew | UseModel = GoOn()


def answer_line(line: str, room: Room) -> Reply | Message:
    """Return the answer to a line that is for Prowess, or the message that it is."""
    found = _COMMAND.match(line.strip())
    if found is None:
        return Message(line)
    try:
        return _answer(line, found["name"], (found["rest"] or "").strip(), room)
    except ProwessError as error:
        return _say(Line(error.message, Tone.BAD), *([Line(f"  {error.hint}", Tone.DIM)] if error.hint else []))


def _answer(line: str, name: str, rest: str, room: Room) -> Reply | Message:
    command = _COMMANDS.get(name)
    if command is not None:
        return command.answer(room, rest)
    names = _list_names(room)
    return Message(line) if name in names else _say(_render_unknown(name, names, room))


def remark_on(message: str, room: Room) -> tuple[Line, ...]:
    """Return what to say of a message that is sent whatever it is: that nobody hears what it seems to call for."""
    found = _COMMAND.match(message.strip())
    names = _list_names(room) if found else []
    if found is None or found["name"] in names:
        return ()
    if found["name"] in _COMMANDS:
        return (Line(f"/{found['name']} is a command at the prompt only; it is sent as text", Tone.DOUBTFUL),)
    return (_render_unknown(found["name"], names, room),)


def _list_names(room: Room) -> list[str]:
    return [skill.name for skill in room.chat.session.view().invocable]


def _render_unknown(name: str, names: list[str], room: Room) -> Line:
    if room.chat.session.view().find(name) is not None:
        return Line(f"skill '{name}' is for the model alone to call for; say what it is to do", Tone.DOUBTFUL)
    explanation = room.runtime.why(name, agent=room.agent.agent)
    if explanation.found and not explanation.visible:
        reasons = "; ".join(_render_reason(one) for one in explanation.reasons)
        return Line(f"skill '{name}' cannot be called for: {reasons}", Tone.DOUBTFUL)
    near = difflib.get_close_matches(name, [*_COMMANDS, *names], n=1)
    guess = f"did you mean /{near[0]}?" if near else "/help says what can be typed, /skills which skills there are"
    return Line(f"no command and no skill '{name}'; {guess}", Tone.DOUBTFUL)


def _render_reason(reason: Reason) -> str:
    return f"{reason.message} ({reason.remedy})" if reason.remedy else reason.message


def _say(*lines: Line) -> Reply:
    return Reply(lines)


# The commands


def _help(_room: Room, _rest: str) -> Reply:
    width = max(len(command.usage) for command in _COMMANDS.values())
    return _say(
        *(Line(f"  {one.usage:<{width}}  {one.about}") for one in _COMMANDS.values()),
        Line(f"  {'/SKILL …':<{width}}  call for a skill at the start of a message; $SKILL anywhere in it"),
        Line("A skill with the name of a command is called by $NAME only.", Tone.DIM),
        Line("Alt-Enter, or \\ at the end of a line, begins another line. Ctrl-C cancels a turn.", Tone.DIM),
    )


def _skills(room: Room, rest: str) -> Reply:
    return Reply(tuple(render_skills(room.chat.session, rest)))


def _why(room: Room, rest: str) -> Reply:
    if not rest:
        return _usage("why")
    explanation = room.runtime.why(rest, agent=room.agent.agent)
    return _say(
        Line(f"{rest}: {'visible' if explanation.visible else 'not visible'} to the model"),
        *_render_reasons((one.code, one.message, one.remedy) for one in explanation.reasons),
    )


def _render_reasons(reasons: Iterator[tuple[str, str, str]]) -> Iterator[Line]:
    for code, message, remedy in reasons:
        yield Line(f"  {code}: {message}")
        if remedy:
            yield Line(f"    {remedy}", Tone.DIM)


def _active(room: Room, _rest: str) -> Reply:
    return Reply(tuple(render_active(room.chat.session.active())))


def _off(room: Room, rest: str) -> Reply:
    if not rest:
        return _usage("off")
    receipt = room.chat.session.deactivate(rest)
    if receipt is None:
        return _say(Line(f"{rest} is not active", Tone.DOUBTFUL))
    return _say(Line(f"{receipt.name} is off; what the model has read of it stays in the conversation"))


def _model(room: Room, rest: str) -> Reply:
    if not rest:
        return _say(Line(f"{room.chat.model.name} answers"), *_render_providers())
    model = open_model(rest, url=room.runtime.settings.model_url)
    return Reply((Line(f"{model.name} answers from now on"),), UseModel(model))


def _render_providers() -> Iterator[Line]:
    usable = [f"{one.provider.prefix}:…" for one in survey_providers() if not one.missing]
    yield Line(f"  usable here: {', '.join([OFFLINE, *usable])}; /model NAME takes another", Tone.DIM)


def _usage_so_far(room: Room, _rest: str) -> Reply:
    done = [one.event for one in room.chat.happenings() if not one.within and isinstance(one.event, Done)]
    if not done:
        return _say(Line("nothing was said yet"))
    use = sum((one.use for one in done), TokenUse())
    counts = f"{_count(len(done), 'turn')}, {_count(use.requests, 'request')}"
    return _say(Line(f"{counts} · {show_use(use, sum(one.seconds for one in done))}"))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _new(_room: Room, _rest: str) -> Reply:
    return Reply(then=BeginAnew())


def _title(room: Room, rest: str) -> Reply:
    if room.runtime.name_conversation(room.chat.id, rest):
        return _say(Line(f"this conversation is called: {rest}" if rest else "this conversation has no title any more"))
    return _say(Line("there is nothing to call so yet; say something first", Tone.DOUBTFUL))


def _quit(_room: Room, _rest: str) -> Reply:
    return Reply(then=Leave())


def _usage(name: str) -> Reply:
    return _say(Line(f"type {_COMMANDS[name].usage}", Tone.DOUBTFUL))


@dataclass(frozen=True, slots=True)
class _Command:
    usage: str
    about: str
    answer: Callable[[Room, str], Reply]


_COMMANDS = {
    "help": _Command("/help", "what can be typed here", _help),
    "skills": _Command("/skills [WORDS]", "the skills, or those that fit some words", _skills),
    "why": _Command("/why NAME", "why the model sees a skill, or why not", _why),
    "active": _Command("/active", "the skills that are on", _active),
    "off": _Command("/off NAME", "switch a skill off", _off),
    "model": _Command("/model [NAME]", "which model answers, or another one from now on", _model),
    "usage": _Command("/usage", "what this conversation has used", _usage_so_far),
    "new": _Command("/new", "begin a new conversation", _new),
    "title": _Command("/title TEXT", "give this conversation a title", _title),
    "quit": _Command("/quit", "leave", _quit),
}

ABOUT = {name: command.about for name, command in _COMMANDS.items()}
"""What each command is for, by its name."""
