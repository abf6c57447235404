"""Ways to call the command line: as a person does, in a process of its own, or quickly, inside this one."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from prowess.surfaces.cli.main import cli

__all__ = ["PROWESS", "Outcome", "call", "run", "run_on_terminal"]

PROWESS = str(Path(sys.executable).with_name("prowess"))
_SECONDS = 60
_END_OF_INPUT = b"\x04"
_QUESTION = b"efuse for good? "


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.stdout)


def run(
    *arguments: str | bytes, cwd: Path | None = None, env: Mapping[str, str] | None = None, piped: str = ""
) -> Outcome:
    """Run the real command in a process of its own; what is piped comes to its standard input, which is no terminal."""
    done = subprocess.run(
        [PROWESS, *arguments],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        input=piped.encode(),
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def call(*arguments: str) -> Outcome:
    """Call a command that ends well, or says no, inside this process."""
    done = CliRunner().invoke(cli, arguments, prog_name="prowess", standalone_mode=False, catch_exceptions=False)
    value: object = done.return_value
    return Outcome(value if isinstance(value, int) else 0, done.stdout, done.stderr)


def run_on_terminal(
    arguments: Sequence[str], *, streams: str = "stdout stderr", columns: int = 120, typed: str | None = None
) -> Outcome:
    """Run the real command with these streams on pseudo-terminals of their own.

    With something typed, even nothing, standard input is a terminal too. Each line is typed when something is asked,
    since what was typed before that is forgotten; after the last, the input is at its end.
    """
    pairs = {name: pty.openpty() if name in streams.split() else os.pipe() for name in ("stdout", "stderr")}
    keyboard, stdin = os.pipe()[::-1] if typed is None else pty.openpty()
    if typed is None:
        os.close(keyboard)
    keys = iter([] if typed is None else [*(line.encode() for line in typed.splitlines(keepends=True)), _END_OF_INPUT])
    process = subprocess.Popen(
        [PROWESS, *arguments],
        stdin=stdin,
        stdout=pairs["stdout"][1],
        stderr=pairs["stderr"][1],
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "LINES": "50", "LANG": "C.UTF-8"},
    )
    for inner in (stdin, *(inner for _, inner in pairs.values())):
        os.close(inner)
    try:
        said = _read_all(
            {name: outer for name, (outer, _) in pairs.items()}, on_question=lambda: os.write(keyboard, next(keys, b""))
        )
        status = process.wait(_SECONDS)
    finally:
        process.kill()
        if typed is not None:
            os.close(keyboard)
    return Outcome(status, said["stdout"].decode(), said["stderr"].decode())


def _read_all(handles: Mapping[str, int], *, on_question: Callable[[], object]) -> dict[str, bytes]:
    """Read both streams to their ends as they come."""
    import select

    said = dict.fromkeys(handles, b"")
    left = dict(handles)
    while left:
        ready, _, _ = select.select(list(left.values()), [], [], _SECONDS)
        assert ready, "the command says nothing more, and does not end"
        for name in [name for name, handle in left.items() if handle in ready]:
            try:
                part = os.read(left[name], 1 << 16)
            except OSError:  # A pseudo-terminal says so that its other end is closed.
                part = b""
            said[name] += part
            if said[name].endswith(_QUESTION) and part:
                on_question()
            if not part:
                os.close(left.pop(name))
    return said
