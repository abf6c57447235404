"""State in one SQLite file, safe with many threads and processes."""

import os
import sqlite3
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from prowess.catalog.switches import Switch, SwitchKey
from prowess.errors import SettingsError, WorldError
from prowess.sources.private_folders import make_private_folder
from prowess.sources.source import is_text
from prowess.state.migrations import MIGRATIONS

__all__ = ["SqliteStore"]

_BUSY_SECONDS = 10.0
_BYTES = "bytes:"
"""Marks a path that is kept by its bytes."""


class SqliteStore:
    """A state store in a file, made when it is first written."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._own_changes = 0

    def switches(self) -> Mapping[tuple[str, SwitchKey], Switch]:
        rows = self._read("SELECT agent, skill, root, position FROM switches")
        return {
            (agent, SwitchKey(_unpack(skill), _unpack(root))): _position(value) for agent, skill, root, value in rows
        }

    def set_switch(self, agent: str, key: SwitchKey, position: Switch) -> None:
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO switches (agent, skill, root, position) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (agent, skill, root) DO UPDATE SET position = excluded.position",
                (agent, _pack(key.skill), _pack(key.root), position.value),
            )

    def trusted_projects(self) -> frozenset[str]:
        return frozenset(_unpack(path) for (path,) in self._read("SELECT path FROM trusted_projects"))

    def trust(self, project: str) -> bool:
        with self._writing() as connection:
            done = connection.execute(
                "INSERT INTO trusted_projects (path) VALUES (?) ON CONFLICT (path) DO NOTHING", (_pack(project),)
            )
            return done.rowcount > 0

    def untrust(self, project: str) -> bool:
        with self._writing() as connection:
            return connection.execute("DELETE FROM trusted_projects WHERE path = ?", (_pack(project),)).rowcount > 0

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
            if self._connection is None and not _is_writable(self._path):
                return _read_only(self._path, statement)
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
            make_private_folder(os.path.dirname(self._path))
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = sqlite3.connect(
                self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                self._migrate(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the schema to this program's version, one process at a time."""
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > len(MIGRATIONS):
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


def _is_writable(path: str) -> bool:
    return os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK)


def _read_only(path: str, statement: str) -> list[tuple[Any, ...]]:
    """Return rows of a database that this user may read but not write; none if it has no schema yet."""
    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro&immutable=1", uri=True)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return connection.execute(statement).fetchall() if version else []
    finally:
        connection.close()


def _position(value: str) -> Switch:
    try:
        return Switch(value)
    except ValueError:
        raise WorldError(
            f"the state knows a switch position '{value}' that this Prowess does not",
            hint="update Prowess, or set the switch again",
            code="state-unusable",
        ) from None


def _pack(path: str) -> str:
    """Return a path as text that a database takes, also if its name on disk is not text."""
    return path if is_text(path) and not path.startswith(_BYTES) else _BYTES + os.fsencode(path).hex()


def _unpack(text: str) -> str:
    return os.fsdecode(bytes.fromhex(text.removeprefix(_BYTES))) if text.startswith(_BYTES) else text
