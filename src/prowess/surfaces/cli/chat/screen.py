"""Show the events of a conversation as they come: the answer as a text that grows, all else in lines beside it."""

from dataclasses import replace
from enum import StrEnum

from prowess.agent.events import (
    Answered,
    Begun,
    CallBegun,
    CallEnded,
    Compacted,
    ConsentAnswered,
    Done,
    Event,
    Failed,
    ForkBegun,
    ForkEnded,
    Happening,
    Noticed,
    OutputHeard,
    Resumed,
    Retried,
    SkillLoaded,
    TextHeard,
    ThinkingHeard,
)
from prowess.state.conversations import Outcome
from prowess.surfaces.cli.chat.cards import (
    render_call,
    render_compaction,
    render_consent,
    render_done,
    render_fork,
    render_join,
    render_loaded,
    render_result,
    render_resumption,
    render_retry,
)
from prowess.surfaces.cli.chat.live_lines import LiveLines
from prowess.surfaces.cli.chat.terminal_stream import TerminalStream
from prowess.surfaces.cli.harmless_text import HarmlessStream
from prowess.surfaces.tones import Line, Tone

__all__ = ["Detail", "Screen"]


class Detail(StrEnum):
    """How much is shown beside the answer."""

    FULL = "full"
    SHORT = "short"
    """For scripts: no live output, nothing about use, no empty lines."""


class _Part(StrEnum):
    ANSWER = "answer"
    REST = "rest"


class Screen:
    """Writes answers to one stream and the rest to another, which may be the same.

    On a terminal an answer grows, with all that is said on the way to it. A program gets it whole, and nothing else:
    what was said before a call, or before an answer broke off, is none.
    """

    def __init__(self, text: TerminalStream, side: TerminalStream, *, detail: Detail, attempts: int) -> None:
        self._text = text
        self._side = side
        self._detail = detail
        self._attempts = attempts
        self._cleaner = HarmlessStream()
        self._has_heard = False
        """Whether something of the answer that is under way was shown."""
        self._thinks = False
        self._last: _Part | None = None
        """What was written last in this turn."""
        self._forks: dict[str, ForkBegun] = {}
        self._live = LiveLines(side)

    def show(self, happening: Happening) -> None:
        """Show what has happened."""
        if happening.within:
            self._show_inside(happening)
            return
        match happening.event:
            case Begun():
                self._last = None
            case TextHeard(text=text):
                self._say(self._cleaner.feed(text))
            case ThinkingHeard() if not self._thinks and self._detail is Detail.FULL:
                self._thinks = True
                self._write(Line("· thinking …", Tone.DIM))
            case Answered():
                self._end_answer(happening.event)
            case Retried():
                self._void()
                self._write(render_retry(happening.event, attempts=self._attempts))
            case Resumed():
                self._void()
                self._write_card(happening.event)
            case Failed() as failed:
                self._write(Line(f"error: {failed.message}", Tone.BAD))
                if failed.hint:
                    self._write(Line(f"hint: {failed.hint}", Tone.DIM))
            case Done() as done:
                self._end(done)
            case OutputHeard() as heard:
                self._hear(heard)
            case event:
                self._write_card(event)

    # The answer

    def _say(self, text: str) -> None:
        if not text or not self._text.is_terminal:
            return
        self._has_heard = True
        self._turn_to(_Part.ANSWER)
        self._text.write(text)

    def _end_answer(self, event: Answered) -> None:
        if not self._has_heard:  # It did not come in pieces.
            self._say(self._cleaner.feed(event.text))
        self._say(self._cleaner.finish())
        self._text.end_line()
        self._has_heard = self._thinks = False

    def _void(self) -> None:
        """Take note that what was heard does not count; it cannot be taken back from a screen."""
        self._cleaner.finish()
        self._text.end_line()
        self._has_heard = self._thinks = False

    def _end(self, done: Done) -> None:
        self._text.end_line()
        if done.text and not self._text.is_terminal:
            self._text.write(f"{done.text}\n")
        self._cleaner.finish()
        self._has_heard = self._thinks = False
        self._forks.clear()
        if self._detail is Detail.FULL or done.outcome is Outcome.CANCELLED:
            self._write(render_done(done))

    # What goes beside it

    def _write(self, line: Line, *, indent: str = "") -> None:
        self._turn_to(_Part.REST)
        self._live.end()
        self._side.write_line(line, indent=indent)

    def _turn_to(self, part: _Part) -> None:
        """End the line that is begun elsewhere, and keep answers apart from the rest by an empty line."""
        if self._last is part:
            return
        self._text.end_line()
        self._side.end_line()
        if self._last is not None and self._detail is Detail.FULL:
            self._side.write("\n")
        self._last = part

    def _write_card(self, event: Event, *, indent: str = "", label: str = "") -> None:
        line = self._render(event)
        if line is not None:
            self._write(replace(line, text=f"{label}{line.text}"), indent=indent)

    def _render(self, event: Event) -> Line | None:
        match event:
            case CallBegun():
                return render_call(event)
            case CallEnded():
                return render_result(event)
            case ForkBegun():
                self._forks[event.fork] = event
                return render_fork(event)
            case ForkEnded():
                begun = self._forks.get(event.fork)
                return render_join(event, name=begun.name if begun else event.fork)
            case SkillLoaded():
                return render_loaded(event)
            case ConsentAnswered():
                return render_consent(event)
            case Compacted():
                return render_compaction(event)
            case Retried():
                return render_retry(event, attempts=self._attempts)
            case Resumed():
                return render_resumption(event)
            case Noticed():
                return Line(f"· {event.text}", Tone.DIM)
            case Failed():
                return Line(f"error: {event.message}", Tone.BAD)
            case _:
                return None

    # Forks

    def _show_inside(self, happening: Happening) -> None:
        """Show what happens in a subagent, beneath it and with its name; its words are for who has called it."""
        fork = self._forks.get(happening.within)
        indent = "  " * (fork.depth if fork else 1) + "  "
        event = happening.event
        if isinstance(event, OutputHeard):
            self._hear(event, indent=indent)
        else:
            self._write_card(event, indent=indent, label=f"{fork.name} " if fork else "")

    def _hear(self, event: OutputHeard, *, indent: str = "") -> None:
        if self._detail is Detail.FULL:
            self._turn_to(_Part.REST)
            self._live.hear(event, indent=indent)
