"""State in one SQLite file, safe with many threads and processes."""

import os
import sqlite3
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from prowess.catalog.switches import Switch, SwitchKey
from prowess.errors import SettingsError, WorldError
from prowess.state.migrations import MIGRATIONS

__all__ = ["SqliteStore"]

_BUSY_SECONDS = 10.0


class SqliteStore:
    """A state store in a file, made when it is first written."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._own_changes = 0

    def switches(self) -> Mapping[tuple[str, SwitchKey], Switch]:
        rows = self._read("SELECT agent, skill, root, position FROM switches")
        return {(agent, SwitchKey(skill, root)): Switch(position) for agent, skill, root, position in rows}

    def set_switch(self, agent: str, key: SwitchKey, position: Switch) -> None:
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO switches (agent, skill, root, position) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (agent, skill, root) DO UPDATE SET position = excluded.position",
                (agent, key.skill, key.root, position.value),
            )

    def trusted_projects(self) -> frozenset[str]:
        return frozenset(path for (path,) in self._read("SELECT path FROM trusted_projects"))

    def trust(self, project: str) -> bool:
        with self._writing() as connection:
            done = connection.execute(
                "INSERT INTO trusted_projects (path) VALUES (?) ON CONFLICT (path) DO NOTHING", (project,)
            )
            return done.rowcount > 0

    def untrust(self, project: str) -> bool:
        with self._writing() as connection:
            return connection.execute("DELETE FROM trusted_projects WHERE path = ?", (project,)).rowcount > 0

    def version(self) -> int:
        rows = self._read("PRAGMA data_version")
        of_others = int(rows[0][0]) if rows else 0
        return of_others * 1_000_003 + self._own_changes

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _read(self, statement: str) -> list[tuple[Any, ...]]:
        """Return all rows; none while there is no file yet, which reading does not make."""
        with self._lock, self._translated():
            if self._connection is None and not os.path.exists(self._path):
                return []
            return self._open().execute(statement).fetchall()

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        """Give a connection in a transaction that ends with the block: kept if it succeeds, else undone."""
        with self._lock, self._translated():
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            self._own_changes += 1

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise WorldError(
                f"the state in {self._path} cannot be used: {error}",
                hint="check the disk and the permissions; a damaged file can be moved away, which forgets its state",
                code="state-unusable",
            ) from error

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            connection = sqlite3.connect(
                self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA journal_mode = WAL")
            self._migrate(connection)
            self._connection = connection
        return self._connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the schema to this program's version, one process at a time."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > len(MIGRATIONS):
            connection.close()
            raise SettingsError(
                f"the state in {self._path} was written by a newer Prowess (schema {version}, known {len(MIGRATIONS)})",
                hint="update Prowess, or use another PROWESS_HOME",
                code="state-too-new",
            )
        if version == len(MIGRATIONS):
            return
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        for step in MIGRATIONS[version:]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
