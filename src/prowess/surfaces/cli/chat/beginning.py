"""How a conversation begins: which one, who answers, who is asked, and where it is shown."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from prowess.activation.consent import ConsentAsker
from prowess.agent.agent import Agent
from prowess.agent.events import Happening
from prowess.errors import NotFound, ProwessError, SettingsError
from prowess.policy import SessionMemory
from prowess.runtime import Runtime
from prowess.surfaces.chat_ids import make_chat_id
from prowess.surfaces.cli.chat.chat_asker import ChatAsker
from prowess.surfaces.cli.chat.completions import Candidate, complete_line
from prowess.surfaces.cli.chat.conversation_loop import ConversationLoop
from prowess.surfaces.cli.chat.interrupts import ignore_interrupts
from prowess.surfaces.cli.chat.line_input import choose_input
from prowess.surfaces.cli.chat.one_turn import print_events
from prowess.surfaces.cli.chat.room import Room
from prowess.surfaces.cli.chat.screen import Detail, Screen
from prowess.surfaces.cli.chat.slash_commands import ABOUT, remark_on
from prowess.surfaces.cli.chat.terminal_stream import TerminalStream, open_stream
from prowess.surfaces.cli.chat.turns import run_turn
from prowess.surfaces.cli.consent_terminal import choose_asker, is_somebody_there
from prowess.surfaces.tones import Line, Tone

__all__ = ["Wanted", "chat"]

_NOT_KEPT = 'conversations are not kept under this profile (activation.sessions = "task")'


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the options say."""

    chat_id: str | None
    goes_on: bool
    model: str | None
    agent: str
    yes: bool
    as_json: bool


def chat(runtime: Runtime, wanted: Wanted, *, message: str | None) -> int:
    """Answer one message, or lead a conversation; return the exit status."""
    if message is None:
        return anyio.run(_converse, runtime, wanted)
    return anyio.run(_answer, runtime, wanted, message)


async def _answer(runtime: Runtime, wanted: Wanted, message: str) -> int:
    side = open_stream(sys.stderr)
    screen = Screen(open_stream(sys.stdout), side, detail=Detail.SHORT, attempts=runtime.policy.turns.attempts)
    asker, see = _choose_asker(runtime, wanted, side if is_somebody_there() else None)
    chat_id = _choose_chat(runtime, wanted)
    if chat_id is not None and _forgets(runtime):
        side.write_line(Line(_NOT_KEPT, Tone.DOUBTFUL))
    async with Agent(runtime, model=wanted.model, agent=wanted.agent, asker=asker) as agent:
        room = Room(runtime, agent, chat_id=chat_id)
        try:
            for remark in remark_on(message, room):
                side.write_line(remark)
            if wanted.as_json:
                return (await print_events(room.chat, message)).status
            return (await run_turn(room.chat, message, show=_both(screen.show, see))).status
        finally:
            room.leave()


async def _converse(runtime: Runtime, wanted: Wanted) -> int:
    is_shown = sys.stdin.isatty() and sys.stdout.isatty()
    text = open_stream(sys.stdout)
    side = text if is_shown else open_stream(sys.stderr)
    detail = Detail.FULL if is_shown else Detail.SHORT
    screen = Screen(text, side, detail=detail, attempts=runtime.policy.turns.attempts)
    terminal = side if is_shown or is_somebody_there() else None
    asker, see = _choose_asker(runtime, wanted, terminal)
    chat_id = _choose_chat(runtime, wanted) or make_chat_id(runtime.clock())
    if wanted.chat_id is not None and not is_shown and _forgets(runtime):  # Else the greeting says so.
        side.write_line(Line(_NOT_KEPT, Tone.DOUBTFUL))
    async with Agent(runtime, model=wanted.model, agent=wanted.agent, asker=asker) as agent:
        room = Room(runtime, agent, chat_id=chat_id)

        def complete(typed: str) -> tuple[Candidate, ...]:
            try:
                return complete_line(typed, commands=ABOUT, complete=room.chat.session.complete)
            except (ProwessError, OSError):  # Whoever sends the line is told what is wrong.
                return ()

        def say(remark: str) -> None:
            side.write_line(Line(remark, Tone.DIM))

        lines, remark = choose_input(
            complete, say, home=runtime.settings.place.prowess_home, stdin=sys.stdin, stdout=sys.stdout
        )
        if remark:
            say(remark)
        try:
            loop = ConversationLoop(room, lines, text=text, side=side, show=_both(screen.show, see), detail=detail)
            with ignore_interrupts():  # What the event loop does at one would end the conversation.
                return await loop.run()
        finally:
            room.leave()


def _choose_chat(runtime: Runtime, wanted: Wanted) -> str | None:
    if not wanted.goes_on:
        return wanted.chat_id
    if _forgets(runtime):
        raise SettingsError(_NOT_KEPT, hint="leave --continue out, or take another profile", code="not-kept")
    found = runtime.conversations(limit=1)
    if not found:
        raise NotFound(
            "there is no conversation to go on with", hint="`prowess chat` begins one", code="no-conversation"
        )
    return found[0].id


def _forgets(runtime: Runtime) -> bool:
    return runtime.policy.sessions is SessionMemory.TASK


def _choose_asker(
    runtime: Runtime, wanted: Wanted, terminal: TerminalStream | None
) -> tuple[ConsentAsker, Callable[[Happening], None]]:
    """Return who answers questions, and who must be told what is on the screen.

    `terminal` is where a person sees them; None if nobody does.
    """
    if wanted.yes or wanted.as_json or terminal is None:
        return choose_asker(runtime, yes=wanted.yes, as_json=wanted.as_json), lambda _: None
    asker = ChatAsker(terminal, runtime.changed_texts)
    return asker, asker.see


def _both(show: Callable[[Happening], None], see: Callable[[Happening], None]) -> Callable[[Happening], None]:
    def tell(happening: Happening) -> None:
        show(happening)
        see(happening)

    return tell
