"""A throw-away PostgreSQL server, from Debian's binaries, on a free port of this machine."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

__all__ = ["Cluster", "postgres"]

_USER = "prowess"
_START_SECONDS = 60.0
_OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "100",
    "autovacuum": "off",
}
# The server ends when its standard input does, so also when the tests are killed.
_GUARDED = '"$@" & read -r _; kill -INT $!; wait $!'


@pytest.fixture(scope="session")
def postgres() -> Iterator["Cluster"]:
    """A running server with no database of ours in it."""
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()


class Cluster:
    """A server with its folder."""

    def __init__(self) -> None:
        self._programs = _find_programs()
        self._folder = Path(tempfile.mkdtemp(prefix="prowess-postgres-"))
        self._server: subprocess.Popen[str] | None = None
        self._port = 0
        self._numbers = count(1)
        self._identity: dict[str, Any] = {}
        if os.geteuid() == 0:  # The server refuses to run as root.
            self._identity = {"user": "postgres", "group": "postgres", "extra_groups": []}
            shutil.chown(self._folder, "postgres", "postgres")
        self._run("initdb", "-D", "data", "-U", _USER, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

    def start(self) -> None:
        """Start the server, on the same port as before if there was one, and wait until it answers."""
        self._port = self._port or _find_free_port()
        options = [f"--{name}={value}" for name, value in {**_OPTIONS, "port": self._port}.items()]
        command = ["sh", "-c", _GUARDED, "sh", str(self._programs / "postgres"), "-D", "data", *options]
        with open(self._folder / "log", "ab") as log:
            self._server = subprocess.Popen(
                command, cwd=self._folder, stdin=subprocess.PIPE, stdout=log, stderr=log, text=True, **self._identity
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._server.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"PostgreSQL did not start:\n{(self._folder / 'log').read_text()}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End the server and all connections."""
        if self._server is not None:
            assert self._server.stdin is not None
            self._server.stdin.close()
            self._server.wait(_START_SECONDS)
            self._server = None

    def remove(self) -> None:
        """End the server and delete all that it held."""
        self.stop()
        shutil.rmtree(self._folder)

    @contextmanager
    def stopped(self) -> Generator[None]:
        """Have the server away for a while."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def url(self, database: str = "postgres", *, password: str = "") -> str:
        """Return the address of a database. Any password will do."""
        user = f"{_USER}:{password}" if password else _USER
        return f"postgresql://{user}@127.0.0.1:{self._port}/{database}"

    def make_database(self) -> str:
        """Make an empty database and return its address."""
        name = f"d{next(self._numbers)}"
        self.ask(f"CREATE DATABASE {name}")
        return self.url(name)

    def terminate_connections(self, url: str) -> int:
        """End all connections to a database; return how many there were."""
        name = url.rpartition("/")[2]
        rows = self.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        return len(rows)

    def ask(self, statement: str, parameters: Sequence[object] = (), *, url: str = "") -> list[tuple[Any, ...]]:
        """Return the rows of a statement, by a connection of its own."""
        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []

    def _answers(self) -> bool:
        try:
            self.ask("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False, **self._identity)
        assert done.returncode == 0, done.stderr


def _find_programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if not found:
        pytest.fail("PostgreSQL is not installed: apt-get install postgresql")
    return found[-1].parent


def _find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
