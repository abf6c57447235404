"""Workers: what a server does to its worker stays with the worker, and no server outlives it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from prowess.sources.mcp.draining import Drain
from prowess.sources.mcp.orders import Act, Order
from prowess.sources.mcp.servers import McpServer
from prowess.sources.mcp.workers import Workers

_LARGE_GREETING = """
import json, sys
request = json.loads(sys.stdin.readline())
begin = {"jsonrpc": "2.0", "id": request["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {}}}
begin["result"]["serverInfo"] = {"name": "p", "version": "1"}
sys.stdout.write(json.dumps(begin)[:-2] + ', "x": [{}' + ",{}" * ((31 << 20) // 3) + "]}}\\n")
sys.stdout.flush()
sys.stdin.read()
"""
_REPORTS_ITSELF = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path(sys.argv[1]).write_text(f"{os.getpid()} {os.getppid()}")
time.sleep(600)
"""


def _order(folder: Path, *command: str, seconds: float = 60.0) -> Order:
    server = McpServer("acme", (sys.executable, *command), timeout_seconds=50)
    return Order(Act.LIST, server, str(folder / "mirror"), seconds)


def _peak_megabytes(worker: int) -> int:
    try:
        status = Path(f"/proc/{worker}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) >> 10 if lines else 0


def _is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.requirement("J11")
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_greeting_takes_no_more_memory_than_any_answer(tmp_path: Path) -> None:
    order = msgspec.json.encode(_order(tmp_path, "-c", _LARGE_GREETING))
    command = [sys.executable, "-P", "-m", "prowess.sources.mcp.worker"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as worker:
        assert worker.stdin is not None
        worker.stdin.write(order)
        worker.stdin.close()
        peak = 0
        while worker.poll() is None:
            peak = max(peak, _peak_megabytes(worker.pid))
            time.sleep(0.01)
    assert 100 < peak < 1_400  # It has come to the reading, and no further.


@pytest.mark.slow
@pytest.mark.requirement("J11")
@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_server_of_a_worker_that_was_killed_ends_too(tmp_path: Path) -> None:
    numbers = tmp_path / "numbers"
    outcomes: list[str] = []
    workers = Workers()

    def carry_out() -> None:
        problem = workers.carry_out(_order(tmp_path, "-c", _REPORTS_ITSELF, str(numbers))).problem
        outcomes.append(problem.message if problem else "")

    thread = threading.Thread(target=carry_out)
    thread.start()
    while thread.is_alive() and not (numbers.exists() and numbers.read_text()):
        time.sleep(0.01)
    server, worker = map(int, numbers.read_text().split())
    os.kill(worker, signal.SIGKILL)
    thread.join()
    for _ in range(1_000):
        if _is_alive(server):
            time.sleep(0.01)
    assert not _is_alive(server)
    assert outcomes == ["the server 'acme': what it sent could not be handled: the worker was ended"]


@contextmanager
def _flooding(events: int) -> Generator[str]:
    """Answer each request with events that are no messages, and yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(b"data: [\n\n" * events)

        do_GET = do_DELETE = do_POST  # noqa: N815 - the library's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.slow
@pytest.mark.requirement("J11")
def test_worker_does_not_log_what_a_server_sends(tmp_path: Path) -> None:
    with _flooding(1_000) as url:
        order = Order(Act.LIST, McpServer("acme", url=url, timeout_seconds=2), str(tmp_path / "mirror"), 10.0)
        done = subprocess.run(
            [sys.executable, "-P", "-m", "prowess.sources.mcp.worker"],
            input=msgspec.json.encode(order),
            capture_output=True,
            start_new_session=True,
            check=False,
        )
    assert b"acme" in done.stdout
    assert done.stderr == b""


def test_only_the_end_of_a_complaint_is_kept() -> None:
    source, sink = os.pipe()
    drain = Drain(os.fdopen(source, "rb"), most=300)
    with os.fdopen(sink, "wb") as stream:
        for _ in range(1_000):
            stream.write(b"x" * 10_000)
        stream.write(b"the end")
    assert drain.wait(60.0)
    assert drain.finish() == b"x" * 293 + b"the end"
