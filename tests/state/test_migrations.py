"""The way from every released schema to this program's."""

import os
import sqlite3
from contextlib import closing

import pytest

from prowess.catalog.switches import Switch, SwitchKey
from prowess.errors import SettingsError
from prowess.state.migrations import MIGRATIONS, plan_migration
from prowess.state.opening import open_store
from tests.postgres import Cluster
from tests.state import version_1
from tests.state.processes import start, wait_for_all
from tests.state.values import make_grant, make_receipt

_OPEN = """
sys.stdin.readline()
store.trust(f"/new/{arguments[0]}", user="ann")
"""


@pytest.fixture
def old_url(url: str) -> str:
    """The address of a database as the first release left it."""
    if url.startswith("sqlite"):
        path = url.removeprefix("sqlite://")
        os.makedirs(os.path.dirname(path))
        version_1.write_sqlite_file(path)
    else:
        version_1.write_postgres_schema(url)
    return url


def test_no_statement_is_missing_from_todays_schema() -> None:
    assert plan_migration(len(MIGRATIONS), place="here") == ()
    assert plan_migration(0, place="here") == tuple(statement for step in MIGRATIONS for statement in step)


def test_switches_and_trust_of_the_first_release_are_kept(old_url: str) -> None:
    with closing(open_store(old_url, state_file="")) as store:
        assert (store.switches(), store.trusted_projects(user="ann")) == (version_1.SWITCHES, version_1.TRUSTED)
        store.set_grant(make_grant())
        store.activate(make_receipt())
        store.set_switch("", SwitchKey("core:pdf"), Switch.ON)
    with closing(open_store(old_url, state_file="")) as store:
        assert store.switches() == {**version_1.SWITCHES, ("", SwitchKey("core:pdf")): Switch.ON}
        assert (store.trusted_projects(user="ann"), store.trusted_projects(user="bob")) == (version_1.TRUSTED,) * 2
        assert store.grants(user="ann") == (make_grant(),)
        assert store.active(user="ann", session="chat") == (make_receipt(),)


def test_trust_of_the_first_release_can_be_taken_back(old_url: str) -> None:
    with closing(open_store(old_url, state_file="")) as store:
        assert [store.untrust("/old", user="ann"), store.untrust("/old", user="bob")] == [True, False]
        assert store.trusted_projects(user="bob") == version_1.TRUSTED - {"/old"}


@pytest.mark.slow
def test_processes_that_migrate_at_once_do_it_once(old_url: str) -> None:
    writers = [start(_OPEN, old_url, str(who)) for who in range(4)]
    assert wait_for_all(writers) == [""] * 4
    with closing(open_store(old_url, state_file="")) as store:
        assert store.trusted_projects(user="ann") == version_1.TRUSTED | {f"/new/{who}" for who in range(4)}
        assert store.switches() == version_1.SWITCHES


@pytest.mark.slow
def test_newer_schema_on_a_server_is_refused_and_left_alone(postgres: Cluster, postgres_url: str) -> None:
    open_store(postgres_url, state_file="").close()
    with closing(open_store(postgres_url, state_file="")) as store:
        store.trust("/a", user="ann")
    postgres.ask("UPDATE prowess.schema_version SET version = version + 1", url=postgres_url)
    with pytest.raises(SettingsError) as caught:
        open_store(postgres_url, state_file="").trust("/b", user="ann")
    assert (caught.value.code, caught.value.hint) == ("state-too-new", "update Prowess, or use another database")
    assert postgres.ask("SELECT path FROM prowess.trust", url=postgres_url) == [("/a",)]


def test_migration_that_fails_leaves_the_old_schema(sqlite_url: str) -> None:
    path = sqlite_url.removeprefix("sqlite://")
    os.makedirs(os.path.dirname(path))
    version_1.write_sqlite_file(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE receipts (in_the_way TEXT)")
    with pytest.raises(Exception, match="already exists"):
        open_store(sqlite_url, state_file="").trust("/a", user="ann")
    with closing(sqlite3.connect(path)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert tables == {"switches", "trusted_projects", "receipts"}
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
