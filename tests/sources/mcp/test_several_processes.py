"""Several processes at work with one server: none of them says ill of it because of the others."""

import logging
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import msgspec
import pytest

from prowess.sources.locks import Hold, hold_lock
from prowess.sources.mcp.hosting import Hosting
from prowess.sources.mcp.mirror import Mirror
from prowess.sources.mcp.orders import Act, Order, Outcome
from prowess.sources.mcp.servers import McpServer
from prowess.sources.mcp.work import carry_out
from tests.sources.mcp.scripts import Acted

pytestmark = [pytest.mark.slow, pytest.mark.requirement("J11")]

_WORKER = [sys.executable, "-P", "-m", "prowess.sources.mcp.worker"]


def test_list_that_waits_for_a_long_fetch_notes_no_failure(tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme")
    acted.add("skill://refunds", {"slow.md": "Slow.\n"})
    acted.refresh()
    before = acted.record
    acted.change(pause=3.0, pause_at="slow.md")
    fetch = Order(Act.FETCH, acted.server, str(acted.mirror), 60.0, "skill-0", "refunds")
    worker = subprocess.Popen(_WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    heard: list[bytes] = []
    fetching = threading.Thread(target=lambda: heard.append(worker.communicate(msgspec.json.encode(fetch))[0]))
    fetching.start()
    while "resources/read skill://refunds/slow.md" not in acted.asked():
        time.sleep(0.01)
    outcome = anyio.run(lambda: carry_out(Order(Act.LIST, acted.server, str(acted.mirror), 0.3)))
    assert outcome.is_busy
    assert outcome.problem is not None
    assert "another process was at work" in outcome.problem.message
    assert acted.record == before
    fetching.join()
    assert msgspec.json.decode(heard[0], type=Outcome) == Outcome()
    assert "skill-0/refunds/slow.md" in acted.held()


def test_list_has_its_whole_time_after_it_has_waited(tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme")
    acted.add("skill://refunds")
    acted.change(pause=1.5, pause_at="skills/list")
    held, ended = threading.Event(), threading.Event()

    def hold() -> None:
        with hold_lock(Mirror(str(acted.mirror)).lock, Hold.ALONE):
            held.set()
            time.sleep(2.0)
        ended.set()

    holding = threading.Thread(target=hold)
    holding.start()
    held.wait()
    outcome = anyio.run(lambda: carry_out(Order(Act.LIST, acted.server, str(acted.mirror), 3.0)))
    assert ended.is_set()
    assert outcome == Outcome()
    assert [one.path for one in acted.record.skills] == ["refunds"]
    holding.join()


def test_host_whose_list_had_to_wait_too_long_keeps_what_it_knows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    acted = Acted(tmp_path / "acme")
    acted.add("skill://refunds")
    server = McpServer("acme", acted.command, timeout_seconds=1)
    hosting = Hosting([server], folder=str(tmp_path / "mirrors"))
    hosting.refresh()
    before = hosting.record(server)
    assert [one.path for one in before.skills] == ["refunds"]
    with caplog.at_level(logging.WARNING, "prowess"), hold_lock(hosting.mirror(server).lock, Hold.ALONE):
        hosting.refresh()
    assert hosting.record(server) == before
    assert "it is asked again later" in caplog.text
    hosting.close()


def test_host_that_cannot_write_down_a_failure_says_so_and_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    acted = Acted(tmp_path / "acme")
    acted.add("skill://refunds")
    (tmp_path / "mirrors").write_text("A file where a folder should be.\n")
    hosting = Hosting([McpServer("acme", acted.command, timeout_seconds=1)], folder=str(tmp_path / "mirrors"))
    with caplog.at_level(logging.WARNING, "prowess"):
        hosting.refresh()
    assert "cannot be written down" in caplog.text
    hosting.close()
