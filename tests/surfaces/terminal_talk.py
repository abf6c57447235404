"""A person at a terminal: types when something is said, and reads what comes back."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

from tests.surfaces.command import PROWESS

__all__ = ["CTRL_C", "CTRL_D", "Talk"]

CTRL_C, CTRL_D = "\x03", "\x04"
_SECONDS = 60
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")
_READY = b"\x1b[?2004h"
_AT_A_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Starts a program whose terminal sends it the signals of its keys."""


class Talk:
    """The command line in a process of its own, with a terminal for all its streams. It is ended with the block."""

    def __init__(self, arguments: Sequence[str], *, columns: int = 100, env: Mapping[str, str] | None = None) -> None:
        self._terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        without = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", _AT_A_TERMINAL, PROWESS, *arguments],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            env={**without, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PROMPT_TOOLKIT_NO_CPR": "1", **(env or {})},
        )
        os.close(inner)
        self._raw = b""
        self._read_to = 0
        """How much of what was said has been read."""
        self._prompted_to = 0
        """How much of what was written lies before the last prompt."""

    def __enter__(self) -> "Talk":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._terminal)

    @property
    def raw(self) -> str:
        """All that was written to the terminal."""
        return self._raw.decode("utf-8", "replace")

    @property
    def said(self) -> str:
        """All that was said, as text: without what moves the cursor and changes colours."""
        return _SEQUENCE.sub("", self.raw).replace("\r\n", "\n").replace("\r", "")

    def type(self, keys: str) -> None:
        """Type these keys."""
        os.write(self._terminal, keys.encode())

    def expect(self, text: str) -> str:
        """Wait until this was said, after what was waited for before; return what was said up to its end."""
        until = time.monotonic() + _SECONDS
        while (found := self.said.find(text, self._read_to)) < 0:
            assert self._hear(until), f"not said: {text!r}; said: {self.said[self._read_to :]!r}"
        start, self._read_to = self._read_to, found + len(text)
        return self.said[start : self._read_to]

    def expect_prompt(self) -> None:
        """Wait until the next line can be typed: lines may be pasted from then on."""
        until = time.monotonic() + _SECONDS
        while (found := self._raw.find(_READY, self._prompted_to)) < 0:
            assert self._hear(until), f"no prompt; said: {self.said[self._read_to :]!r}"
        self._prompted_to = found + len(_READY)

    def enter(self, line: str) -> None:
        """Wait for the prompt, and enter a line."""
        self.expect_prompt()
        self.type(f"{line}\r")

    def end(self) -> tuple[int, str]:
        """Wait for the prompt, and end the conversation; return as `leave` does."""
        self.expect_prompt()
        self.type(CTRL_D)
        return self.leave()

    def leave(self) -> tuple[int, str]:
        """Wait until the program has ended; return its status, and what it has said since."""
        until = time.monotonic() + _SECONDS
        while self._hear(until):
            pass
        return self.process.wait(_SECONDS), self.said[self._read_to :]

    def _hear(self, until: float) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], max(until - time.monotonic(), 0))
        if not ready:
            return False
        try:
            part = os.read(self._terminal, 1 << 16)
        except OSError:  # A pseudo-terminal says so that its other end is closed.
            return False
        self._raw += part
        return bool(part)
