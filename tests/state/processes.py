"""Other processes that use the same store."""

import subprocess
import sys
from collections.abc import Iterable

__all__ = ["prepare", "start", "wait_for_all"]

_PROLOGUE = """
import json, os, sys, threading, time
from prowess.activation.grants import Act
from prowess.catalog.switches import Switch, SwitchKey
from prowess.state.opening import open_store
from tests.state.values import end_run, make_event, make_events, make_grant, make_receipt, make_run, make_session
from tests.state.values import end_turn, make_live_turn, make_question, make_turn
store, arguments = open_store(sys.argv[1], state_file=""), sys.argv[2:]
"""
_WAIT = """
print("ready", flush=True)
sys.stdin.readline()
"""


def start(script: str, url: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a process that runs the script with `store` and `arguments`; it hears and speaks by pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", f"{_PROLOGUE}{script}\nstore.close()", url, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def prepare(script: str, url: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a process that runs the script when all others begin, too."""
    return start(f"{_WAIT}{script}", url, *arguments)


def wait_for_all(prepared: Iterable[subprocess.Popen[str]]) -> list[str]:
    """Have all of them begin at once; return what each has written, when none has complained."""
    waiting = list(prepared)
    for process in waiting:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "ready\n", process.stderr.read()
    for process in waiting:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [process.communicate(timeout=120) for process in waiting]
    complaints = "\n".join(error for _, error in ends if error)
    assert not complaints, complaints
    assert [process.returncode for process in waiting] == [0] * len(waiting)
    return [output for output, _ in ends]
