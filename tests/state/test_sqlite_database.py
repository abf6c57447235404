"""What is particular to state in a file."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from prowess.activation.receipts import SessionRecord
from prowess.catalog.switches import Switch, SwitchKey
from prowess.errors import SettingsError, WorldError
from prowess.state.migrations import MIGRATIONS
from prowess.state.sql_store import SqlStore
from prowess.state.sqlite_database import SqliteDatabase
from tests.state import version_1, version_2, version_3, version_4
from tests.state.old_schemas import write_old_file
from tests.state.values import make_event, make_live_turn, make_receipt, make_session, make_turn

_READ = """
import os, sys
import prowess.state.sqlite_database  # Another user may not reach the libraries.
from prowess.state.opening import open_store
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
store = open_store("", state_file=sys.argv[1])
print(sorted(store.trusted_projects(user="ann")), store.version(), len(store.sessions(user="ann")))
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "home" / "state.db")


@pytest.fixture
def store(path: str) -> Iterator[SqlStore]:
    opened = SqlStore(SqliteDatabase(path))
    yield opened
    opened.close()


@pytest.fixture
def public_path() -> Iterator[str]:
    """A place for a file that every user may read; pytest's own folders are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="prowess-"))
    folder.chmod(0o755)
    yield str(folder / "state.db")
    shutil.rmtree(folder)


def test_reading_makes_no_file(store: SqlStore, path: str) -> None:
    store.switches()
    store.trusted_projects(user="ann")
    store.sessions(user="ann")
    assert store.version() == 0
    assert not os.path.exists(os.path.dirname(path))


def test_home_is_for_its_owner_only(store: SqlStore, path: str) -> None:
    store.trust("/a", user="ann")
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_every_migration_was_applied(store: SqlStore, path: str) -> None:
    store.trust("/a", user="ann")
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_file_that_may_only_be_read_is_read(public_path: str) -> None:
    store = SqlStore(SqliteDatabase(public_path))
    store.trust("/a", user="ann")
    store.open_session(make_session())
    store.close()
    assert _read_without_rights(public_path) == "['/a'] 2 1\n"


def test_file_that_may_only_be_read_shows_what_its_owner_has_just_written(public_path: str) -> None:
    with closing(SqlStore(SqliteDatabase(public_path))) as store:
        store.trust("/a", user="ann")
        store.open_session(make_session())
        for path in Path(public_path).parent.iterdir():
            path.chmod(0o444)
        assert _read_without_rights(public_path) == "['/a'] 2 1\n"


def test_file_that_may_only_be_read_shows_what_its_owner_had_written_before_a_crash(public_path: str) -> None:
    crashed = Path(public_path).parent / "crashed"
    with closing(SqlStore(SqliteDatabase(public_path))) as store:
        store.trust("/a", user="ann")
        store.open_session(make_session())
        crashed.mkdir()
        for name in ("state.db", "state.db-wal"):
            shutil.copy(Path(public_path).parent / name, crashed)
            (crashed / name).chmod(0o444)
    crashed.chmod(0o555)
    assert _read_without_rights(str(crashed / "state.db")) == "['/a'] 2 1\n"
    assert sorted(path.name for path in crashed.iterdir()) == ["state.db", "state.db-wal"]


def test_file_whose_log_may_not_be_read_shows_what_stands_in_it(public_path: str) -> None:
    with closing(SqlStore(SqliteDatabase(public_path))) as store:
        store.trust("/a", user="ann")
    with closing(SqlStore(SqliteDatabase(public_path))) as store:
        store.trust("/b", user="ann")
        for path in Path(public_path).parent.iterdir():
            path.chmod(0)
        assert _read_without_rights(public_path) == "['/a'] 2 0\n"


@pytest.mark.parametrize(
    ("version", "statements", "found"),
    [
        (1, version_1.STATEMENTS, "['/old', '/old\\udcff'] 1 0\n"),
        (2, version_2.STATEMENTS, "['/old\\udcff'] 7 1\n"),
        (3, version_3.STATEMENTS, "['/old\\udcff'] 9 1\n"),
        (4, version_4.STATEMENTS, "['/old\\udcff'] 11 1\n"),
    ],
)
def test_file_of_an_older_schema_that_may_only_be_read_is_read(
    public_path: str, version: int, statements: Sequence[str], found: str
) -> None:
    write_old_file(public_path, statements, version=version)
    before = Path(public_path).read_bytes()
    assert _read_without_rights(public_path) == found
    assert Path(public_path).read_bytes() == before


def test_empty_file_that_may_only_be_read_is_an_empty_store(public_path: str) -> None:
    Path(public_path).touch()
    assert _read_without_rights(public_path) == "[] 1 0\n"


def _read_without_rights(path: str) -> str:
    """Return what a user finds who may write neither the file nor its folder."""
    folder = os.path.dirname(path)
    os.chmod(path, 0o444)
    os.chmod(folder, 0o555)
    try:
        done = subprocess.run([sys.executable, "-c", _READ, path], capture_output=True, text=True, check=False)
    finally:
        os.chmod(folder, 0o755)
    assert done.stderr == ""
    return done.stdout


def test_failed_work_leaves_nothing_behind(path: str) -> None:
    database = SqliteDatabase(path)
    with pytest.raises(ZeroDivisionError):
        database.write(
            lambda it: (it.run("INSERT INTO trust (owner, path) VALUES ('ann', '/a')"), it.announce(), 1 // 0)
        )
    assert (database.read("SELECT path FROM trust"), database.announced()) == ([], 1)
    assert database.write(lambda it: it.run("INSERT INTO trust (owner, path) VALUES ('ann', '/b')")) == 1
    database.close()


def test_second_open_receipt_of_a_skill_is_against_the_law_of_the_database(store: SqlStore, path: str) -> None:
    store.activate(make_receipt("r1"))
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("INSERT INTO receipts SELECT owner, session, 'r2', 2, skill, name, digest, asked_by, agent,"
                           " triggered_by, arguments, consent, 0, 0, 2.0, 1, NULL FROM receipts")  # fmt: skip


def test_memory_is_forgotten_when_it_is_closed() -> None:
    store = SqlStore(SqliteDatabase(":memory:"))
    store.trust("/a", user="ann")
    store.close()
    assert store.trusted_projects(user="ann") == frozenset()
    store.close()


def test_two_stores_in_memory_are_apart() -> None:
    with closing(SqlStore(SqliteDatabase(":memory:"))) as one, closing(SqlStore(SqliteDatabase(":memory:"))) as other:
        one.open_session(make_session())
        assert (len(one.sessions(user="ann")), other.sessions(user="ann")) == (1, ())


# When the file is not as it should be


def test_newer_schema_is_refused_and_left_alone(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = Path(path).read_bytes()
    with pytest.raises(SettingsError) as caught:
        SqlStore(SqliteDatabase(path)).switches()
    assert (caught.value.code, caught.value.hint) == ("state-too-new", "update Prowess, or use another database")
    assert path in caught.value.message
    assert Path(path).read_bytes()[60:64] == before[60:64]  # The version of the schema.


@pytest.mark.parametrize("content", [b"not a database, but long enough to be looked at" * 20, b"\0" * 4096])
def test_damaged_file_is_the_worlds_fault_and_left_alone(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(content)
    store = SqlStore(SqliteDatabase(path))
    for attempt in (lambda: store.trust("/a", user="ann"), lambda: store.trusted_projects(user="ann"), store.version):
        with pytest.raises(WorldError) as caught:
            attempt()
        assert caught.value.code == "state-unusable"
        assert path in caught.value.message
    assert Path(path).read_bytes() == content


def test_file_damaged_in_the_middle_is_the_worlds_fault_and_left_alone(store: SqlStore, path: str) -> None:
    for number in range(200):
        store.activate(make_receipt(f"r{number}", skill=f"core:{number}"))
    store.close()
    raw = bytearray(Path(path).read_bytes())
    raw[8192:] = b"\xee" * len(raw[8192:])
    Path(path).write_bytes(raw)
    with pytest.raises(WorldError) as caught:
        store.receipts(user="ann")
    assert caught.value.code == "state-unusable"
    assert os.path.getsize(path) == len(raw)


def test_folder_in_place_of_the_file_is_the_worlds_fault(path: str) -> None:
    os.makedirs(path)
    with pytest.raises(WorldError):
        SqlStore(SqliteDatabase(path)).trust("/a", user="ann")


def test_home_that_is_a_file_is_the_worlds_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorldError):
        SqlStore(SqliteDatabase(str(tmp_path / "file" / "state.db"))).trust("/a", user="ann")


def test_position_that_is_not_known_is_the_worlds_fault(store: SqlStore, path: str) -> None:
    store.set_switch("", SwitchKey("core:pdf"), Switch.OFF)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE switches SET position = 'sideways'")
    with pytest.raises(WorldError, match="'sideways'") as caught:
        store.switches()
    assert caught.value.code == "state-unusable"


@pytest.mark.requirement("R92")
def test_file_holds_names_and_numbers_of_a_session_and_nothing_longer(store: SqlStore, path: str) -> None:
    store.activate(make_receipt())
    with closing(sqlite3.connect(path)) as connection:
        columns = {name for _, name, *_ in connection.execute("PRAGMA table_info(receipts)")}
    assert columns == {
        *("owner", "session", "id", "number", "skill", "name", "digest", "asked_by", "agent", "triggered_by"),
        *("arguments", "consent", "size_bytes", "tokens", "started_at", "in_context", "ended_at"),
    }
    assert store.sessions(user="ann") == (SessionRecord("ann", "chat", "main", 1.0, 1.0, ("pdf",)),)


@pytest.mark.requirement("R92")
def test_what_was_said_stands_in_the_log_and_its_beginning_in_the_title_and_nowhere_else(
    store: SqlStore, path: str
) -> None:
    said = "A form " + 20 * "to fill in "
    store.open_session(make_session())
    store.append_events(user="ann", session="chat", events=[make_event(message=said)])
    store.record_turn(make_turn())
    store.claim_turn(replace(make_live_turn(), message=said, draft=said))
    store.end_turn(user="ann", session="chat", turn="t1", holder="one", at=2.0)
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {name for name in tables if "A form" in str(connection.execute(f"SELECT * FROM {name}").fetchall())}
        whole = {name for name in tables if said in str(connection.execute(f"SELECT * FROM {name}").fetchall())}
    assert (found, whole) == ({"conversations", "events"}, {"events"})


_OPEN_TOGETHER = """
import os, sys, time
from prowess.state.sqlite_database import SqliteDatabase
folder = sys.argv[1]
print("ready", flush=True)
start = float(sys.stdin.readline())
for number in range(40):
    while time.time() < start + number * 0.05:
        pass
    database = SqliteDatabase(f"{folder}/{number}/state.db")
    row = (str(os.getpid()),)
    database.write(lambda transaction: transaction.run("INSERT INTO switches VALUES (?, 'a', 'b', 'on')", row))
"""


@pytest.mark.slow
def test_new_file_may_be_opened_by_many_at_the_same_moment(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _OPEN_TOGETHER, str(tmp_path)]
    pipe = subprocess.PIPE
    children = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(6)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    start = time.time() + 0.2
    for child in children:
        assert child.stdin is not None
        child.stdin.write(f"{start}\n")
        child.stdin.flush()
    assert [child.communicate()[1] for child in children] == [""] * 6
    for number in range(40):
        with closing(sqlite3.connect(tmp_path / str(number) / "state.db")) as connection:
            assert connection.execute("SELECT COUNT(*) FROM switches").fetchone() == (6,)
