"""What a script writes while it runs, shown at once: indented, dim, harmless, and not without end."""

from prowess.agent.events import OutputHeard
from prowess.surfaces.cli.chat.columns import measure, split_at_width
from prowess.surfaces.cli.chat.terminal_stream import TerminalStream
from prowess.surfaces.cli.harmless_text import HarmlessStream
from prowess.surfaces.tones import Line, Tone

__all__ = ["LiveLines"]

_MAX_CHARACTERS = 20_000
"""Of one call; the result has all that the limits let through."""
_MARGIN = "  │ "
_TAB = 4


class LiveLines:
    """Writes the output of one call at a time; what comes from another stream begins a new line."""

    def __init__(self, stream: TerminalStream) -> None:
        self._stream = stream
        self._call = ""
        self._source = ""
        self._left = _MAX_CHARACTERS
        self._cleaner = self._make_cleaner()
        self._column = 0

    @staticmethod
    def _make_cleaner() -> HarmlessStream:
        return HarmlessStream(carriage_return="\n")  # A line that is drawn anew would hide what stood there.

    def hear(self, event: OutputHeard, *, indent: str) -> None:
        """Show the next piece."""
        if event.call != self._call:
            self._call, self._source, self._left = event.call, event.stream, _MAX_CHARACTERS
            self._cleaner = self._make_cleaner()
        if event.stream != self._source:
            self._source = event.stream
            self._stream.end_line()
        if self._left <= 0:
            return
        text = self._cleaner.feed(event.text)
        self._write(text[: self._left], margin=f"{indent}{_MARGIN}")
        self._left -= len(text)
        if self._left <= 0:
            self._stream.write_line(Line(f"{_MARGIN}… more of it is not shown", Tone.DIM), indent=indent)

    def _write(self, text: str, *, margin: str) -> None:
        """Write a text with a margin before each line, and before what a line has no room for."""
        for whole in text.splitlines(keepends=True):
            line = whole
            while line:
                if not self._stream.is_line_begun:
                    self._stream.write(margin, Tone.DIM)
                    self._column = measure(margin)
                line = self._fill(line)

    def _fill(self, line: str) -> str:
        """Write what there is room for; return the rest."""
        bare = line.removesuffix("\n").expandtabs(_TAB)
        head, rest = bare, ""
        if self._stream.width is not None:
            head, rest = split_at_width(bare, max(self._stream.width - self._column, 1))
        end = line[-1:] if line.endswith("\n") else ""
        self._stream.write(head + ("\n" if rest else end), Tone.DIM)
        self._column += measure(head)
        return rest + end if rest else ""

    def end(self) -> None:
        """End the line that is begun: something else comes."""
        self._stream.end_line()
