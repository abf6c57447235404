"""Settings under which sessions are tried, and other processes that open a runtime under the same ones."""

import subprocess
import sys
from collections.abc import Iterable

__all__ = ["ONLY_MINE", "run_python", "start_python", "wait_for_all"]

ONLY_MINE = '[sources]\ndirectories = ["~/.agents/skills"]\n'
"""The user's own skills and no others: they are not of a trusted kind."""

_PROLOGUE = """
import json, sys, threading
from prowess.activation.consent import Answer, CallbackAsker
from prowess.errors import Refused
from prowess.runtime import Runtime
"""


def start_python(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a process that runs the script; it hears and speaks by pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", _PROLOGUE + script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_python(script: str, *arguments: str) -> str:
    """Run the script in a process of its own and return what it has written."""
    (output,) = wait_for_all([start_python(script, *arguments)])
    return output


def wait_for_all(processes: Iterable[subprocess.Popen[str]]) -> list[str]:
    """Give all of them a line to start with; return what each has written, when none has complained."""
    waiting = list(processes)
    for process in waiting:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [process.communicate(timeout=120) for process in waiting]
    complaints = "\n".join(error for _, error in ends if error)
    assert not complaints, complaints
    assert [process.returncode for process in waiting] == [0] * len(waiting)
    return [output for output, _ in ends]
