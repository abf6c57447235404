"""Real servers: `prowess serve` in processes of their own, and clients that behave well or badly."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.surfaces.command import PROWESS

__all__ = ["RunningServer", "ServerStarter", "read_to_end"]

_SECONDS = 60.0
_ROOT = Path(__file__).resolve().parents[3]


@dataclass(slots=True)
class RunningServer:
    """One server, and what its first line says."""

    process: subprocess.Popen[bytes]
    url: str
    """With the token, as a person opens it."""
    host: str
    port: int
    token: str
    log: Path
    streams: list[socket.socket] = field(default_factory=list[socket.socket])

    @property
    def origin(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    def client(self, *, logged_in: bool = True) -> httpx.Client:
        """Return a client that sends the token, or none."""
        headers = {"Authorization": f"Bearer {self.token}"} if logged_in and self.token else {}
        return httpx.Client(base_url=self.origin, headers=headers, timeout=_SECONDS, trust_env=False)

    def connect(self, *, receive_bytes: int = 0) -> socket.socket:
        """Return a bare connection, with a small window if it is to be slow."""
        connection = socket.socket()
        if receive_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.settimeout(_SECONDS)
        connection.connect(("127.0.0.1", self.port))
        self.streams.append(connection)
        return connection

    def exchange(self, *parts: bytes) -> bytes:
        """Send bytes as they are, and return all that comes until the server hangs up."""
        connection = self.connect()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for part in parts:
                connection.sendall(part)
        return read_to_end(connection)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the server in good order and return its status."""
        for connection in self.streams:
            connection.close()
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(_SECONDS)

    def read_log(self) -> str:
        return self.log.read_text("utf-8")


def read_to_end(connection: socket.socket) -> bytes:
    """Return all that comes until the other side hangs up."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            received += part
    return received


class ServerStarter:
    """Starts servers on free ports, and ends those that it has started."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="prowess-servers-"))
        self._started: list[RunningServer] = []

    def start(self, *arguments: str, env: Mapping[str, str] | None = None, port: int = 0) -> RunningServer:
        """Start a server and return it once it takes connections."""
        return self._start([PROWESS, "serve", "--port", str(port), "--json", *arguments], env or {})

    def start_with_limits(self, **limits: float) -> RunningServer:
        """Start a server with limits of its own, such as little patience."""
        return self._start([sys.executable, "-m", "tests.surfaces.web.limited_server", json.dumps(limits)], {})

    def _start(self, command: Sequence[str], env: Mapping[str, str]) -> RunningServer:
        log = self._folder / f"log-{len(self._started)}"
        with log.open("wb") as errors:
            process = subprocess.Popen(
                command,
                env={**os.environ, "PYTHONPATH": str(_ROOT), **env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.wait(_SECONDS)
            process.stdout.close()
            raise AssertionError(f"the server did not start: {log.read_text('utf-8')}")
        said = json.loads(line)
        server = RunningServer(process, said["url"], said["host"], said["port"], said["token"], log)
        self._started.append(server)
        return server

    def stop_all(self) -> None:
        """End them all; whoever does not end is killed."""
        shutil.rmtree(self._folder)
        for server in self._started:
            for connection in server.streams:
                connection.close()
            if server.process.poll() is None:
                server.process.terminate()
            try:
                server.process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                server.process.kill()
                server.process.wait()
            if server.process.stdout is not None:
                server.process.stdout.close()
