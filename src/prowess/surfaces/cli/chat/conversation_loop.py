"""The conversation: a line is read, answered and shown, until there are no more lines."""

from collections.abc import Callable, Iterable

from prowess.agent.events import Happening, make_failed
from prowess.errors import ProwessError
from prowess.state.conversations import Outcome
from prowess.surfaces.cli.chat.greetings import render_greeting, render_name, render_return
from prowess.surfaces.cli.chat.line_input import LineInput
from prowess.surfaces.cli.chat.room import Room
from prowess.surfaces.cli.chat.screen import Detail
from prowess.surfaces.cli.chat.slash_commands import BeginAnew, GoOn, Leave, Message, Reply, UseModel, answer_line
from prowess.surfaces.cli.chat.terminal_stream import TerminalStream
from prowess.surfaces.cli.chat.turns import TurnEnd, run_turn
from prowess.surfaces.tones import Line, Tone

__all__ = ["ConversationLoop"]


class ConversationLoop:
    """Leads one conversation after the other in a room. Answers go to `text`, remarks to `side`."""

    def __init__(
        self,
        room: Room,
        lines: LineInput,
        *,
        text: TerminalStream,
        side: TerminalStream,
        show: Callable[[Happening], None],
        detail: Detail,
    ) -> None:
        self._room = room
        self._lines = lines
        self._text = text
        self._side = side
        self._show = show
        self._detail = detail
        self._has_said = False
        """Whether something was said in this conversation, by this process."""

    async def run(self) -> int:
        """Lead conversations until somebody leaves, or until the lines end.

        Return the exit status: for lines that a program gave, the worst of their turns.
        """
        worst = 0
        if self._detail is Detail.FULL:
            self._say(render_greeting(self._room))
            self._side.write("\n")
        while (line := await self._lines.read()) is not None:
            if not line.strip():
                continue
            match answer_line(line, self._room):
                case Message(text):
                    worst = max(worst, await self._answer(text))
                case Reply(lines, then):
                    self._print(lines)
                    if isinstance(then, Leave):
                        break
                    await self._follow(then)
            if self._detail is Detail.FULL:
                self._side.write("\n")
        self._take_leave()
        return 0 if self._detail is Detail.FULL else worst

    async def _answer(self, message: str) -> int:
        self._has_said = True
        try:
            end = await run_turn(self._room.chat, message, show=self._show, on_interrupt=self._break_line)
        except ProwessError as error:  # Nothing was answered; the next line may fare better.
            self._say([Line(f"error: {error.message}", Tone.BAD)])
            self._say([Line(f"hint: {error.hint}", Tone.DIM)] if error.hint else [])
            end = TurnEnd(Outcome.FAILED, make_failed(error))
        return end.status

    def _break_line(self) -> None:
        """Take note of the mark that a terminal makes at Ctrl-C."""
        self._side.is_line_begun = self._side.is_terminal

    async def _follow(self, step: GoOn | BeginAnew | UseModel) -> None:
        match step:
            case BeginAnew():
                self._take_leave()
                self._room.begin_anew()
                self._say(render_name(self._room))
            case UseModel(model):
                await self._room.use_model(model)
            case GoOn():
                pass

    def _take_leave(self) -> None:
        if self._has_said:
            self._say(render_return(self._room))
        self._has_said = False

    def _print(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._text.write_line(line)

    def _say(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._side.write_line(line)
