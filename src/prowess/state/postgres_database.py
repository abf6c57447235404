"""A database in PostgreSQL, for many machines. Its tables are in a schema of their own, `prowess`.

One connection serves statements and listens for notices. When it is lost, it is made again and the transaction is
done again, within a bound; if only the answer to a COMMIT was lost, the server is asked what became of it.
"""

import math
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import TransactionResolutionUnknown

from prowess.errors import SettingsError, WorldError
from prowess.state.database import Row, Transaction
from prowess.state.forks import disconnect_before_forks
from prowess.state.migrations import MIGRATIONS, plan_migration
from prowess.state.postgres_notices import LISTEN, SILENCE_SECONDS, Notices

__all__ = ["PATIENCE_SECONDS", "PostgresDatabase"]

PATIENCE_SECONDS = 10.0
"""How long a lost server is waited for."""

_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 1.0

_NETWORK = {"keepalives_idle": "5", "keepalives_interval": "2", "keepalives_count": "3", "tcp_user_timeout": "10000"}
"""How soon the kernel gives up a silent server, unless the URL says otherwise."""

_SETUP = b"""
SET search_path TO prowess;
SET client_encoding TO 'UTF8';
SET lock_timeout TO '30s';
SET idle_in_transaction_session_timeout TO '30s';
"""
_BEGIN = b"BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_current_xact_id()::text"
_ANNOUNCE = b"""
WITH announced AS (UPDATE revisions SET number = number + 1 RETURNING number)
SELECT pg_notify('prowess', '') FROM announced
"""
_COMMIT = b"COMMIT"
_COMMIT_AND_WAKE = b"NOTIFY prowess_live; COMMIT"
_TEXT = ' TEXT COLLATE "C" '
"""Text in the order of its bytes, as in SQLite, whatever language the server speaks."""
_MIGRATION_LOCK = 0x70726F77657373
"""Any number that no other program uses for its advisory locks: `prowess` in ASCII."""

_PASSING = ("08", "40", "53300", "57P")
"""How the codes of errors begin that another try may not meet: connection, conflict, too many clients, shutdown."""

_T = TypeVar("_T")
_Connection: TypeAlias = "psycopg.Connection[Row]"


class PostgresDatabase:
    """A database in PostgreSQL; the tables are made when it is first used."""

    def __init__(self, url: str, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.lock = threading.Lock()
        self._conninfo, self._place, self._password = _read_url(url)
        self._patience_seconds = patience_seconds
        self._connection: _Connection | None = None
        self._notices = Notices()
        self._announced = 0
        self._read_at = 0.0
        disconnect_before_forks(self)

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows of one statement."""
        with self.lock:
            return self._insist(lambda connection: _rows(connection, statement, parameters))

    def write(self, work: Callable[[Transaction], _T]) -> _T:
        """Return what `work` returns, when the server has committed its changes."""
        unanswered: tuple[str, _T] | None = None

        def attempt(connection: _Connection) -> _T:
            nonlocal unanswered
            if unanswered is not None and _was_committed(connection, unanswered[0]):
                return unanswered[1]
            unanswered = None
            try:
                number = _begin(connection)
                transaction = _PostgresTransaction(connection)
                result = work(transaction)
                unanswered = number, result
                connection.execute(_COMMIT_AND_WAKE if transaction.is_waking else _COMMIT)
            except BaseException:
                _roll_back(connection)
                raise
            return result

        with self.lock:
            return self._insist(attempt)

    def announced(self) -> int:
        """Return the count of announcements; it is read again when the server has said that there is a new one."""
        with self.lock:
            return self._insist(self._count)

    def changes(self) -> int:
        """Return how many notices were heard; it also grows in silence, and with every new connection."""
        with self.lock:
            return self._insist(self._count_changes)

    def close(self) -> None:
        """Close the connection."""
        with self.lock:
            self.disconnect()

    def disconnect(self) -> None:
        """Close the connection. The lock is held."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _insist(self, attempt: Callable[[_Connection], _T]) -> _T:
        """Return what the attempt returns, trying again while the server is away and patience lasts."""
        deadline = time.monotonic() + self._patience_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                return attempt(self._connection or self._connect(deadline))
            except psycopg.Error as error:
                is_lost = self._connection is not None and self._connection.closed
                if is_lost:
                    self.disconnect()
                if not is_lost and not _is_passing(error):
                    raise self._unusable(error) from error
                if time.monotonic() + pause > deadline:
                    raise self._unreachable(error) from error
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _connect(self, deadline: float) -> _Connection:
        seconds = max(1, math.ceil(deadline - time.monotonic()))
        connection = psycopg.connect(self._conninfo, autocommit=True, connect_timeout=seconds)
        try:
            connection.execute(_SETUP + LISTEN)
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        self._notices.follow(connection)
        self._connection = connection
        return connection

    def _migrate(self, connection: _Connection) -> None:
        """Bring the schema to this program's version, one process at a time."""
        if not plan_migration(_schema_version(connection), place=self._place):
            return
        # The lock comes before the transaction: within one, what others have made meanwhile may stay unseen.
        connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
        with connection.transaction():
            missing = plan_migration(_schema_version(connection), place=self._place)
            if missing:
                _apply(connection, missing)
        connection.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATION_LOCK,))

    def _count(self, connection: _Connection) -> int:
        self._notices.catch_up(connection)
        if self._notices.is_news or time.monotonic() - self._read_at > SILENCE_SECONDS:
            self._notices.is_news = False
            ((self._announced,),) = _rows(connection, "SELECT number FROM revisions", ())
            self._read_at = time.monotonic()
        return self._announced

    def _count_changes(self, connection: _Connection) -> int:
        self._notices.catch_up(connection)
        return self._notices.count()

    def _unusable(self, error: psycopg.Error) -> WorldError:
        return WorldError(
            f"the state in {self._place} cannot be used: {self._say(error)}",
            hint="check the database and what its user may do there",
            code="state-unusable",
        )

    def _unreachable(self, error: psycopg.Error) -> WorldError:
        return WorldError(
            f"the state in {self._place} cannot be reached: {self._say(error)}",
            hint="check that the server runs, and the address, name and password in the setting `database`",
            code="state-unreachable",
        )

    def _say(self, error: psycopg.Error) -> str:
        """Return what went wrong, in one line and without the password."""
        text = " ".join(str(error).split())
        return text.replace(self._password, "***") if self._password else text


class _PostgresTransaction:
    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self.is_waking = False

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        return _rows(self._connection, statement, parameters)

    def run(self, statement: str, parameters: Sequence[object] = ()) -> int:
        return self._connection.execute(_spell(statement), parameters).rowcount

    def announce(self) -> None:
        self._connection.execute(_ANNOUNCE)

    def wake(self) -> None:
        self.is_waking = True


def _read_url(url: str) -> tuple[str, str, str]:
    """Return what libpq takes, what may be shown of it, and what may not."""
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    except psycopg.Error:
        raise _bad_address() from None  # The message may quote any part of the address, and with it the password.
    user, host, port, name = (given.get(part, "") for part in ("user", "host", "port", "dbname"))
    # With a raw @ or / in it, part of the password is taken for the host, port or name, and would be shown.
    if "@" in host + name or not re.fullmatch("[0-9,]*", port):
        raise _bad_address()
    place = f"postgresql://{user and f'{user}@'}{host}{port and f':{port}'}/{name}"
    return make_conninfo(**{"application_name": "prowess", **_NETWORK, **given}), place, given.get("password", "")


def _bad_address() -> SettingsError:
    return SettingsError(
        "the setting `database` is not a valid address of a PostgreSQL server",
        hint="write it as postgresql://user:password@host:5432/name; in a password, write @ as %40 and / as %2F",
        code="database-address",
    )


def _is_passing(error: psycopg.Error) -> bool:
    """Whether another try may do better. An error without a code comes from this end: nobody answered."""
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return error.sqlstate.startswith(_PASSING)


def _schema_version(connection: _Connection) -> int:
    if connection.execute(b"SELECT to_regclass('prowess.schema_version')").fetchone() == (None,):
        return 0
    row = connection.execute(b"SELECT version FROM prowess.schema_version").fetchone()
    return row[0] if row else 0


def _apply(connection: _Connection, statements: Sequence[str]) -> None:
    if connection.execute(b"SELECT to_regnamespace('prowess')").fetchone() == (None,):
        connection.execute(b"CREATE SCHEMA prowess")
    connection.execute(b"CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
    for statement in statements:
        connection.execute(statement.replace(" TEXT ", _TEXT).encode())
    connection.execute(b"DELETE FROM schema_version")
    connection.execute("INSERT INTO schema_version (version) VALUES (%s)", (len(MIGRATIONS),))


def _begin(connection: _Connection) -> str:
    """Begin a transaction and return the number by which the server knows it."""
    cursor = connection.execute(_BEGIN)
    cursor.nextset()
    ((number,),) = cursor.fetchall()
    return number


def _roll_back(connection: _Connection) -> None:
    """Undo the transaction; a connection that cannot even do that is given up."""
    try:
        connection.execute(b"ROLLBACK")
    except psycopg.Error:
        connection.close()


def _was_committed(connection: _Connection, number: str) -> bool:
    """Whether a transaction was committed whose connection was lost before the server could say so."""
    ((status,),) = connection.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchall()
    if status == "in progress":
        raise TransactionResolutionUnknown("the server is still busy with the transaction")
    return status == "committed"


def _rows(connection: _Connection, statement: str, parameters: Sequence[object]) -> list[Row]:
    return connection.execute(_spell(statement), parameters).fetchall()


def _spell(statement: str) -> bytes:
    """Return a statement with the parameters marked as psycopg wants them."""
    return statement.replace("?", "%s").encode()
