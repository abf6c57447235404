"""A host goes on asking, although for a while no worker can be started."""

import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from prowess.sources.mcp.hosting import Hosting
from prowess.sources.mcp.orders import Act, Order
from prowess.sources.mcp.servers import McpServer
from prowess.sources.mcp.workers import Workers
from tests.sources.mcp.scripts import Acted

pytestmark = pytest.mark.requirement("J11")

_NOWHERE = "/nowhere/at/all"
_GONE = "a worker for it cannot be started: No such file or directory"


def _until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("act", list(Act))
@pytest.mark.parametrize(("owner", "name"), [(tempfile, "tempdir"), (sys, "executable")], ids=["file", "process"])
def test_worker_that_cannot_be_started_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str, act: Act
) -> None:
    monkeypatch.setattr(owner, name, _NOWHERE)
    order = Order(act, McpServer("acme", ("true",)), str(tmp_path), 1.0, "skill-0", "refunds")
    problem = Workers().carry_out(order).problem
    assert problem is not None
    assert (problem.code, problem.message) == ("mcp-unreachable", f"the server 'acme': {_GONE}")


@pytest.mark.slow
def test_host_goes_on_asking_after_workers_could_not_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acted = Acted(tmp_path / "acme")
    acted.add("skill://refunds")
    failed: list[str] = []

    def hear(failure: threading.ExceptHookArgs) -> None:
        failed.append(str(failure))

    monkeypatch.setattr(threading, "excepthook", hear)
    server = McpServer("acme", acted.command, refresh_seconds=1)
    hosting = Hosting([server], folder=str(tmp_path / "mirrors"))
    hosting.attend()
    assert [one.path for one in hosting.record(server).skills] == ["refunds"]
    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "tempdir", _NOWHERE)
        _until(lambda: failed or hosting.record(server).failure)
        problems = [problem.code for source in hosting.sources() for problem in source.problems]
    assert problems == ["mcp-unreachable"]
    _until(lambda: hosting.record(server).failure is None)
    hosting.close()
    assert failed == []
