"""What a state store promises: every change is complete, durable, and seen by others."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.catalog.switches import EVERY_AGENT, Switch, SwitchKey
from prowess.errors import SettingsError, WorldError
from prowess.state.migrations import MIGRATIONS
from prowess.state.sqlite_store import SqliteStore

_WRITE = """
import sys
from prowess.catalog.switches import Switch, SwitchKey
from prowess.state.sqlite_store import SqliteStore
store, who = SqliteStore(sys.argv[1]), sys.argv[2]
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    store.set_switch(who, SwitchKey(f"core:{number}"), Switch.OFF)
    store.trust(f"/{who}/{number}")
store.close()
"""
_HANG = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
connection.execute("INSERT INTO trusted_projects (path) VALUES ('/half')")
print("writing", flush=True)
time.sleep(60)
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "home" / "state.db")


@pytest.fixture
def store(path: str) -> Iterator[SqliteStore]:
    opened = SqliteStore(path)
    yield opened
    opened.close()


def _reopened(path: str) -> tuple[dict[tuple[str, SwitchKey], Switch], frozenset[str]]:
    """Return everything that another process would find."""
    store = SqliteStore(path)
    try:
        return dict(store.switches()), store.trusted_projects()
    finally:
        store.close()


# The contract


def test_new_store_is_empty(store: SqliteStore) -> None:
    assert (store.switches(), store.trusted_projects()) == ({}, frozenset())


def test_reading_makes_no_file(store: SqliteStore, path: str) -> None:
    store.switches()
    store.trusted_projects()
    store.version()
    assert not os.path.exists(os.path.dirname(path))


@pytest.mark.requirement("R37")
@pytest.mark.parametrize("position", Switch)
def test_switch_is_kept(store: SqliteStore, path: str, position: Switch) -> None:
    store.set_switch(EVERY_AGENT, SwitchKey("core:pdf"), position)
    assert store.switches() == {(EVERY_AGENT, SwitchKey("core:pdf")): position}
    assert _reopened(path)[0] == store.switches()


@pytest.mark.requirement("R37")
def test_switch_set_again_replaces_the_former(store: SqliteStore) -> None:
    store.set_switch("a", SwitchKey("core:pdf"), Switch.OFF)
    store.set_switch("a", SwitchKey("core:pdf"), Switch.ON)
    assert store.switches() == {("a", SwitchKey("core:pdf")): Switch.ON}


@pytest.mark.requirement("R37")
def test_switches_of_agents_and_of_roots_are_apart(store: SqliteStore) -> None:
    wanted = {
        ("", SwitchKey("project:pdf", "/a")): Switch.OFF,
        ("", SwitchKey("project:pdf", "/b")): Switch.NAME_ONLY,
        ("x", SwitchKey("project:pdf", "/a")): Switch.USER_ONLY,
        ("x", SwitchKey("project:pdf")): Switch.ON,
    }
    for (agent, key), position in wanted.items():
        store.set_switch(agent, key, position)
    assert store.switches() == wanted


def test_trust_says_whether_it_is_new(store: SqliteStore, path: str) -> None:
    assert [store.trust("/a"), store.trust("/a"), store.trust("/b")] == [True, False, True]
    assert store.trusted_projects() == {"/a", "/b"}
    assert _reopened(path)[1] == {"/a", "/b"}


def test_untrust_says_whether_it_was_trusted(store: SqliteStore) -> None:
    store.trust("/a")
    assert [store.untrust("/a"), store.untrust("/a"), store.untrust("/b")] == [True, False, False]
    assert store.trusted_projects() == frozenset()


@pytest.mark.parametrize("text", ["'; DROP TABLE switches; --", "a\nb", "技能", "%_\\"])
def test_any_text_is_kept_as_it_is(store: SqliteStore, text: str) -> None:
    store.set_switch(text, SwitchKey(text, text), Switch.OFF)
    store.trust(text)
    assert (store.switches(), store.trusted_projects()) == ({(text, SwitchKey(text, text)): Switch.OFF}, {text})


def test_version_stays_while_nothing_is_written(store: SqliteStore) -> None:
    store.trust("/a")
    assert store.version() == store.version()


def test_version_changes_with_every_own_change(store: SqliteStore) -> None:
    versions = [store.version()]
    for project in ("/a", "/b", "/c"):
        store.trust(project)
        versions.append(store.version())
    assert len(set(versions)) == 4


def test_version_changes_when_another_process_writes(store: SqliteStore, path: str) -> None:
    before_the_file = store.version()
    _write_elsewhere(path, "first")
    after_the_file = store.version()
    _write_elsewhere(path, "second")
    assert len({before_the_file, after_the_file, store.version()}) == 3
    assert store.trusted_projects() == {"/first/0", "/second/0"}


def _write_elsewhere(path: str, who: str) -> None:
    subprocess.run([sys.executable, "-c", _WRITE, path, who, "1"], input=b"\n", check=True)


def test_closed_store_opens_again_when_it_is_used(store: SqliteStore) -> None:
    store.trust("/a")
    store.close()
    store.close()
    assert store.trusted_projects() == {"/a"}


# Many at once


def test_threads_lose_nothing(store: SqliteStore) -> None:
    def write(who: int) -> None:
        for number in range(10):
            store.trust(f"/{who}/{number}")

    threads = [threading.Thread(target=write, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.trusted_projects()) == 80


@pytest.mark.slow
def test_processes_lose_nothing(path: str) -> None:
    command = [sys.executable, "-c", _WRITE, path]
    writers = [
        subprocess.Popen([*command, str(who), "20"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) for who in range(8)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"\n")
        writer.stdin.flush()
    complaints = [writer.communicate()[1].decode() for writer in writers]
    assert complaints == [""] * 8
    switches, trusted = _reopened(path)
    assert switches == {(str(who), SwitchKey(f"core:{n}")): Switch.OFF for who in range(8) for n in range(20)}
    assert trusted == {f"/{who}/{n}" for who in range(8) for n in range(20)}


def test_killed_writer_leaves_a_usable_store(store: SqliteStore, path: str) -> None:
    store.trust("/a")
    with subprocess.Popen([sys.executable, "-c", _HANG, path], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        writer.send_signal(signal.SIGKILL)
    store.trust("/b")
    assert store.trusted_projects() == {"/a", "/b"}
    assert _reopened(path)[1] == {"/a", "/b"}


# When the file is not as it should be


def test_newer_schema_is_refused_and_left_alone(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    before = Path(path).read_bytes()
    with pytest.raises(SettingsError) as caught:
        SqliteStore(path).switches()
    assert caught.value.code == "state-too-new"
    assert path in caught.value.message
    assert caught.value.hint
    assert Path(path).read_bytes()[60:64] == before[60:64]  # The version of the schema.


@pytest.mark.parametrize("content", [b"not a database, but long enough to be looked at" * 20, b"\0" * 4096])
def test_damaged_file_is_the_worlds_fault(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(content)
    store = SqliteStore(path)
    with pytest.raises(WorldError) as caught:
        store.trust("/a")
    assert caught.value.code == "state-unusable"
    assert path in caught.value.message
    assert Path(path).read_bytes() == content


def test_folder_in_place_of_the_file_is_the_worlds_fault(path: str) -> None:
    os.makedirs(path)
    with pytest.raises(WorldError):
        SqliteStore(path).trust("/a")


def test_home_that_is_a_file_is_the_worlds_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorldError):
        SqliteStore(str(tmp_path / "file" / "state.db")).trust("/a")


def test_home_is_for_its_owner_only(store: SqliteStore, path: str) -> None:
    store.trust("/a")
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_every_migration_was_applied(store: SqliteStore, path: str) -> None:
    store.trust("/a")
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    finally:
        connection.close()
