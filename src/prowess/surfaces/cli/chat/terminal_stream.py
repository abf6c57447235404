"""A stream that people read: it knows its colours and its width, and whether a line is begun."""

import shutil
from collections.abc import Callable
from typing import TextIO

from prowess.skill.deception import make_printable
from prowess.surfaces.cli.chat.columns import cut_to_width, wrap_to_width
from prowess.surfaces.cli.output import encodable
from prowess.surfaces.tones import Line, Row, Tone, has_colours, paint

__all__ = ["TerminalStream", "open_stream"]

_USUAL_SIZE = (80, 24)


class TerminalStream:
    """Writes texts as they are, and lines that are harmless."""

    def __init__(self, stream: TextIO, *, coloured: bool = False, find_width: Callable[[], int] | None = None) -> None:
        self._stream = stream
        self._coloured = coloured
        self._find_width = find_width
        """For a terminal only."""
        self.is_line_begun = False
        """Whether what comes next would stand in the middle of a line."""

    @property
    def is_terminal(self) -> bool:
        """Whether a person sees it, and no program reads it."""
        return self._find_width is not None

    @property
    def width(self) -> int | None:
        """How many columns there are; None if it is no terminal."""
        return None if self._find_width is None else self._find_width()

    def write(self, text: str, tone: Tone = Tone.PLAIN) -> None:
        """Write a text, which must be harmless, and let it go at once."""
        if not text:
            return
        shown = encodable(text, self._stream)
        if self._coloured and tone is not Tone.PLAIN:
            shown = "\n".join(paint(part, tone) for part in shown.split("\n"))
        self._stream.write(shown)
        self._stream.flush()
        self.is_line_begun = not text.endswith("\n")

    def end_line(self) -> None:
        """End a line that is begun."""
        if self.is_line_begun:
            self.write("\n")

    def write_line(self, line: Line, *, indent: str = "") -> None:
        """Write one line, whatever is in it, and no more. To the width of a terminal it is wrapped, and a `Row` cut."""
        self.end_line()
        for text in self._fit(make_printable(f"{indent}{line.text}"), line):
            self.write(text, line.tone)
            self.write("\n")

    def _fit(self, text: str, line: Line) -> list[str]:
        if self.width is None:
            return [text]
        return [cut_to_width(text, self.width)] if isinstance(line, Row) else wrap_to_width(text, self.width)


def open_stream(stream: TextIO) -> TerminalStream:
    """Return a stream as it is: with colours and a width if it is a terminal."""
    if not stream.isatty():
        return TerminalStream(stream)
    return TerminalStream(
        stream, coloured=has_colours(stream), find_width=lambda: shutil.get_terminal_size(_USUAL_SIZE).columns
    )
