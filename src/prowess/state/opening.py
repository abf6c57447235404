"""The setting `database` as a store. A process loads the library of the one database that it uses."""

import os
import re
from urllib.parse import unquote, urlsplit

from prowess.errors import SettingsError
from prowess.state.database import Database
from prowess.state.sql_store import SqlStore
from prowess.state.store import StateStore

__all__ = ["describe_database", "open_store"]

_SQLITE = "sqlite://"
_POSTGRES = ("postgresql://", "postgres://")


def open_store(database: str, *, state_file: str) -> StateStore:
    """Return the store that the setting names: nothing for `state_file`, `memory`, or an address."""
    if database.startswith(_POSTGRES):
        return SqlStore(_open_postgres(database))
    return SqlStore(_open_sqlite(_find_file(database, state_file=state_file)))


def describe_database(database: str, *, state_file: str) -> str:
    """Return where state is kept, for people; without anything that could be a password."""
    if database.startswith(_POSTGRES):
        place = urlsplit(database)
        return f"PostgreSQL {place.path.lstrip('/') or 'of this user'} at {place.hostname or 'this machine'}"
    path = _find_file(database, state_file=state_file)
    return "SQLite in memory" if path == ":memory:" else f"SQLite in {path}"


def _find_file(database: str, *, state_file: str) -> str:
    if not database:
        return state_file
    if database in ("memory", "sqlite:///:memory:"):
        return ":memory:"
    path = unquote(database.removeprefix(_SQLITE))
    if re.match(r"/[A-Za-z]:[/\\]", path):  # sqlite:///C:/state.db
        path = path[1:]
    if database.startswith(_SQLITE) and os.path.isabs(path):
        return os.path.normpath(re.sub("^/+", "/", path))
    # Only the kind is shown: what follows may hold a password.
    raise SettingsError(
        f"the setting `database` names no database that Prowess knows: '{database.partition(':')[0]}'",
        hint="leave it empty, or write memory, sqlite:///absolute/path or postgresql://user@host/name",
        code="database-address",
    )


def _open_sqlite(path: str) -> Database:
    from prowess.state.sqlite_database import SqliteDatabase

    return SqliteDatabase(path)


def _open_postgres(url: str) -> Database:
    try:
        from prowess.state.postgres_database import PostgresDatabase
    except ImportError as error:
        raise SettingsError(
            f"PostgreSQL needs a library that is not installed: {error}",
            hint="pip install 'prowess[postgres]'",
            code="database-library",
        ) from error
    return PostgresDatabase(url)
