"""The setting `database`."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from prowess.errors import SettingsError
from prowess.state.opening import open_store

_WITHOUT_LIBRARY = """
import sys
sys.modules["psycopg"] = None
from prowess.errors import SettingsError
from prowess.state.opening import open_store
try:
    open_store("postgresql://ann:secret@127.0.0.1/x", state_file="")
except SettingsError as error:
    print(error.code, error.hint)
"""
_LOADED = """
import sys
from prowess.state.opening import open_store
open_store(sys.argv[1], state_file=sys.argv[2]).trust("/a", user="ann")
print(*sorted({"psycopg", "sqlite3"} & sys.modules.keys()))
"""


def _run(script: str, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_nothing_means_the_state_file(tmp_path: Path) -> None:
    with closing(open_store("", state_file=str(tmp_path / "state.db"))) as store:
        store.trust("/a", user="ann")
    assert (tmp_path / "state.db").exists()


@pytest.mark.parametrize("slashes", ["//", "///"])
def test_sqlite_address_means_that_file(tmp_path: Path, slashes: str) -> None:
    with closing(open_store(f"sqlite:{slashes}{tmp_path}/with%20space.db", state_file="/nowhere/state.db")) as store:
        store.trust("/a", user="ann")
    assert (tmp_path / "with space.db").exists()


@pytest.mark.parametrize("database", ["memory", "sqlite:///:memory:"])
def test_memory_leaves_no_file(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(open_store(database, state_file=str(tmp_path / "state.db"))) as store:
        store.trust("/a", user="ann")
        assert store.trusted_projects(user="ann") == {"/a"}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "database",
    [
        *("mysql://ann:secret@host/x", "postgresq://ann:secret@host/x", "sqlite://relative/secret.db"),
        *("sqlite:secret.db", "sqlite:", "sqlite://", "ann:secret", ":memory:", "secret.db", "/secret/state.db"),
    ],
)
def test_other_addresses_are_refused_without_showing_a_password(database: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_store(database, state_file="")
    assert caught.value.code == "database-address"
    assert "sqlite:///absolute/path" in caught.value.hint
    assert "ann:secret" not in caught.value.message


@pytest.mark.parametrize(
    "database",
    [
        *("postgresql://ann:secret@[host/x", "postgresql://%zzsecret@/x", "postgres://ann:secret@host/x?nonsense=1"),
        *("postgresql://ann:se@secret@host/x", "postgresql://ann:se/secret@host/x", "postgresql://ann:1/secret@host/x"),
        "postgresql://ann:secret@host:port/x",
    ],
)
def test_malformed_server_address_is_refused_without_showing_a_password(database: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_store(database, state_file="")
    assert caught.value.code == "database-address"
    assert "secret" not in caught.value.message + caught.value.hint + str(caught.value.__cause__)


def test_missing_library_is_named_with_the_way_to_get_it() -> None:
    assert _run(_WITHOUT_LIBRARY) == "database-library pip install 'prowess[postgres]'"


@pytest.mark.slow
def test_only_the_library_of_the_database_is_loaded(tmp_path: Path, postgres_url: str) -> None:
    assert _run(_LOADED, "", str(tmp_path / "state.db")) == "sqlite3"
    assert _run(_LOADED, postgres_url, "") == "psycopg"
