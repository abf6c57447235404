"""What a script writes, shown while it runs: as it is where a program may be reading, harmless on a terminal."""

import codecs
import sys
from typing import TextIO

from prowess.execution.jobs import Stream
from prowess.surfaces.cli.harmless_text import HarmlessStream
from prowess.surfaces.cli.output import encodable, note

__all__ = ["LiveOutput"]


class LiveOutput:
    """Hears a run. A script could send a terminal commands, so control characters are shown and not obeyed."""

    def __init__(self, *, quiet: bool, limit_bytes: int) -> None:
        self._quiet = quiet
        self._limit = limit_bytes
        self._left = dict.fromkeys(Stream, limit_bytes)
        """How much more of each stream is passed on."""
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {stream: decoder("replace") for stream in Stream}
        self._cleaners = {stream: HarmlessStream() for stream in Stream}

    def hear(self, stream: Stream, part: bytes) -> None:
        """Pass on what was written."""
        if self._quiet:
            return
        target = _choose(stream)
        if target is None or not self._left[stream]:
            return  # It was closed before the start, or has had enough.
        part = part[: self._left[stream]]
        self._left[stream] -= len(part)
        self._show(stream, part, target)
        if not self._left[stream]:
            note(f"{stream} is cut here: more than {self._limit:,} bytes are not shown", label="! ", colour="yellow")

    def _show(self, stream: Stream, part: bytes, target: TextIO) -> None:
        if target.isatty():
            text = self._cleaners[stream].feed(self._decoders[stream].decode(part))
            target.write(encodable(text, target))
        else:
            target.buffer.write(part)
        target.flush()

    def say(self, line: str) -> None:
        """Tell what is done before the run."""
        note(line)

    def finish(self) -> None:
        """Pass on what was held back for want of what might have come after it."""
        for stream, decoder in self._decoders.items():
            cleaner = self._cleaners[stream]
            rest = cleaner.feed(decoder.decode(b"", final=True)) + cleaner.finish()
            target = _choose(stream)
            if rest and target is not None:
                target.write(encodable(rest, target))
                target.flush()


def _choose(stream: Stream) -> TextIO | None:
    return sys.stdout if stream is Stream.STDOUT else sys.stderr
