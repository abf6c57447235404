"""Where messages come from: a person who types with completion and history, a plain terminal, or a pipe."""

import contextlib
import os
import select
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol, TextIO

from prowess.errors import ToolInputError
from prowess.surfaces.cli.chat.completions import Candidate
from prowess.surfaces.cli.chat.history_file import prepare_history
from prowess.surfaces.cli.chat.interrupts import raise_interrupts

__all__ = [
    "GOES_ON",
    "HOW_TO_LEAVE",
    "INDENT",
    "MAX_MESSAGE_BYTES",
    "PROMPT",
    "CompleteLine",
    "LineInput",
    "PipedInput",
    "PlainInput",
    "choose_input",
    "clean_message",
]

MAX_MESSAGE_BYTES = 4 << 20
PROMPT = "> "
INDENT = "  "
HOW_TO_LEAVE = "(Ctrl-D or /quit leaves)"
GOES_ON = "\\"
"""At the end of a line: the message goes on in the next."""

_LOOK_SECONDS = 0.2

CompleteLine = Callable[[str], Sequence[Candidate]]


class LineInput(Protocol):
    """Gives one message after the other."""

    async def read(self) -> str | None:
        """Return the next message; None if there will be no more."""
        ...


def clean_message(raw: bytes) -> str:
    """Return a message as text, whatever bytes it came in; raise if it is too long."""
    if len(raw) > MAX_MESSAGE_BYTES:
        raise ToolInputError(
            f"a message has more than {MAX_MESSAGE_BYTES:,} bytes", hint="say less, or name a file", code="bad-input"
        )
    return raw.decode("utf-8", "replace")


class PipedInput:
    """Reads a message from each line of standard input, which is no terminal. Nothing is asked for."""

    async def read(self) -> str | None:
        parts: list[str] = []
        while raw := _read_raw():
            line = clean_message(raw).rstrip("\r\n")
            parts.append(line.removesuffix(GOES_ON))
            if not line.endswith(GOES_ON):
                break
        return "\n".join(parts) if parts else None


def _read_raw() -> bytes:
    with raise_interrupts():
        return sys.stdin.buffer.readline(MAX_MESSAGE_BYTES + 1)


class PlainInput:
    """Reads from a terminal where the library for better is missing, or where nothing better can be drawn."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    async def read(self) -> str | None:
        parts: list[str] = []
        while True:
            try:
                with raise_interrupts():
                    line = _ask(INDENT if parts else PROMPT)
            except EOFError:
                self._say("")
                return None
            except KeyboardInterrupt:
                self._say("" if parts else HOW_TO_LEAVE)
                parts.clear()
                continue
            parts.append(line.removesuffix(GOES_ON))
            if not line.endswith(GOES_ON):
                return "\n".join(parts).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _ask(prompt: str) -> str:
    on_terminal = sys.stdout.isatty()
    if on_terminal and ("readline" in sys.modules or os.name == "nt"):
        return input(prompt)
    side = sys.stdout if on_terminal else sys.stderr  # Where answers go elsewhere, the prompt must not be among them.
    side.write(prompt)
    side.flush()
    # Not by `input`, which sleeps through a Ctrl-C that comes just before it begins to read.
    while not select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
        pass
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def choose_input(
    complete: CompleteLine, say: Callable[[str], None], *, home: str, stdin: TextIO, stdout: TextIO
) -> tuple[LineInput, str]:
    """Return what fits the streams, and a remark on what would be better, if something would."""
    if not stdin.isatty():
        return PipedInput(), ""
    if not stdout.isatty() or os.environ.get("TERM") == "dumb":
        return PlainInput(say), ""
    try:
        from prowess.surfaces.cli.chat.prompt_input import PromptInput
    except ImportError:
        _use_readline()
        return PlainInput(say), "for completion and history: pip install 'prowess[chat]'"
    return PromptInput(complete, say, history=prepare_history(os.path.join(home, "history"))), ""


def _use_readline() -> None:
    """Let lines be edited, where that library is there: it is enough to load it."""
    with contextlib.suppress(ImportError):
        import_module("readline")
