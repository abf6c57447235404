"""Prowess is killed while a run begins, at whatever instant: no script goes on.

A bubblewrap that had not begun to set up its sandbox may be left waiting for ever; it runs nothing.
"""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress

import pytest

from tests.execution.sandboxes import find_processes, wait_until

_CHILD = """
import os, sys
from prowess.execution.bubblewrap.bubblewrap_sandbox import BubblewrapSandbox
from prowess.execution.jobs import SEARCH_PATH, Job
sandbox, environment = BubblewrapSandbox(), {"PATH": SEARCH_PATH}
sandbox.run(Job(("true",), environment=environment), keep="")
os.write(1, b"go")
sandbox.run(Job(("sh", "-c", "sleep 600; :", sys.argv[1]), environment=environment), keep="")
"""
_ROUNDS = 25


@pytest.mark.slow
@pytest.mark.requirement("R96", "K2")
def test_no_script_goes_on_whose_beginning_was_cut_short() -> None:
    marker = uuid.uuid4().hex
    for _ in range(_ROUNDS):
        process = subprocess.Popen([sys.executable, "-c", _CHILD, marker], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.read(2) == b"go"
        time.sleep(random.uniform(0.0, 0.012))
        process.kill()
        process.wait()
        process.stdout.close()
        assert wait_until(lambda: _find_scripts(marker) == [], seconds=5)
    time.sleep(0.5)
    assert _find_scripts(marker) == []  # Nor did one of them begin later.
    for waiting in find_processes(marker):
        with suppress(ProcessLookupError):
            os.kill(waiting, signal.SIGKILL)


def _find_scripts(marker: str) -> list[int]:
    """Return the processes of runs; bubblewrap's own carry the marker too."""
    return [process for process in find_processes(marker) if _read_name(process) not in ("bwrap", "")]


def _read_name(process: int) -> str:
    with suppress(OSError), open(f"/proc/{process}/comm", encoding="utf-8") as file:
        return file.read().strip()
    return ""
