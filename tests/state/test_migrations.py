"""The way from every released schema to this program's."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing

import pytest

from prowess.activation.grants import Act
from prowess.catalog.switches import Switch, SwitchKey
from prowess.errors import SettingsError
from prowess.state.migrations import MIGRATIONS, plan_migration
from prowess.state.opening import open_store
from prowess.state.store import StateStore
from tests.postgres import Cluster
from tests.state import version_1, version_2, version_3, version_4
from tests.state.old_schemas import write_old_database
from tests.state.processes import prepare, wait_for_all
from tests.state.values import (
    end_run,
    end_turn,
    make_events,
    make_grant,
    make_live_turn,
    make_question,
    make_receipt,
    make_run,
    make_turn,
)

_OPEN = """
store.trust(f"/new/{arguments[0]}", user="ann")
store.set_grant(make_grant(act=Act.RUN, powers=(arguments[0],)))
store.record_run(make_run(arguments[0]))
store.record_turn(make_turn(arguments[0]))
assert store.append_events(user="ann", session=arguments[0], events=make_events(1, 2))
assert store.claim_turn(make_live_turn(session=arguments[0]))
store.ask_question(make_question(session=arguments[0]))
"""
_FORMER = {
    1: version_1.STATEMENTS,
    2: version_2.STATEMENTS,
    3: version_3.STATEMENTS,
    4: version_4.STATEMENTS,
}
"""What each released schema was made by."""


@pytest.fixture
def old_url(url: str) -> str:
    """The address of a database with the first schema."""
    write_old_database(url, version_1.STATEMENTS, version=1)
    return url


@pytest.fixture
def second_url(url: str) -> str:
    """The address of a database with the second schema."""
    write_old_database(url, version_2.STATEMENTS, version=2)
    return url


@pytest.fixture
def third_url(url: str) -> str:
    """The address of a database with the third schema."""
    write_old_database(url, version_3.STATEMENTS, version=3)
    return url


@pytest.fixture
def fourth_url(url: str) -> str:
    """The address of a database with the fourth schema."""
    write_old_database(url, version_4.STATEMENTS, version=4)
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
    writers = [prepare(_OPEN, old_url, str(who)) for who in range(4)]
    assert wait_for_all(writers) == [""] * 4
    with closing(open_store(old_url, state_file="")) as store:
        assert store.trusted_projects(user="ann") == version_1.TRUSTED | {f"/new/{who}" for who in range(4)}
        assert store.switches() == version_1.SWITCHES
        _expect_runs_of_all(store)


@pytest.mark.requirement("K1", "K6")
def test_all_that_the_second_schema_held_is_kept(second_url: str) -> None:
    with closing(open_store(second_url, state_file="")) as store:
        assert (store.switches(), store.trusted_projects(user="ann")) == (version_2.SWITCHES, version_2.TRUSTED)
        assert store.grants(user="ann") == version_2.GRANTS
        assert (store.sessions(user="ann"), store.receipts(user="ann")) == (version_2.SESSIONS, version_2.RECEIPTS)
        assert (store.prompt_basis(user="ann", session="chat"), store.runs(user="ann")) == ("basis", ())
        assert store.version() == version_2.REVISION


@pytest.mark.requirement("K1")
def test_consent_of_the_second_schema_is_to_use_and_not_to_run(second_url: str) -> None:
    refused, allowed = version_2.GRANTS
    running = make_grant("d1", act=Act.RUN, powers=("network",), at=3.0)
    with closing(open_store(second_url, state_file="")) as store:
        found = [store.find_grant(user="ann", digest="d1", session="s", act=act) for act in Act]
        assert found == [allowed, None]
        store.set_grant(running)
        assert store.grants(user="ann") == (running, refused, allowed)
        assert store.find_former_grant(user="ann", skill=allowed.skill, digest="d9") == allowed
        store.record_run(end_run(make_run()))
    with closing(open_store(second_url, state_file="")) as store:
        assert store.grants(user="ann") == (running, refused, allowed)
        assert store.runs(user="ann") == (end_run(make_run()),)


@pytest.mark.slow
def test_processes_that_migrate_the_second_schema_at_once_do_it_once(second_url: str) -> None:
    assert wait_for_all([prepare(_OPEN, second_url, str(who)) for who in range(4)]) == [""] * 4
    with closing(open_store(second_url, state_file="")) as store:
        assert store.trusted_projects(user="ann") == version_2.TRUSTED | {f"/new/{who}" for who in range(4)}
        assert [one for one in store.grants(user="ann") if one.act is Act.USE] == list(version_2.GRANTS)
        _expect_runs_of_all(store)


@pytest.mark.requirement("K1", "K6")
def test_all_that_the_third_schema_held_is_kept(third_url: str) -> None:
    with closing(open_store(third_url, state_file="")) as store:
        assert (store.switches(), store.trusted_projects(user="ann")) == (version_3.SWITCHES, version_3.TRUSTED)
        assert (store.grants(user="ann"), store.runs(user="ann")) == (version_3.GRANTS, version_3.RUNS)
        assert (store.sessions(user="ann"), store.receipts(user="ann")) == (version_3.SESSIONS, version_3.RECEIPTS)
        assert store.prompt_basis(user="ann", session="chat") == "basis"
        assert store.version() == version_3.REVISION


@pytest.mark.parametrize("version", [1, 2, 3])
def test_conversations_begin_in_every_schema_that_had_none(url: str, version: int) -> None:
    write_old_database(url, _FORMER[version], version=version)
    with closing(open_store(url, state_file="")) as store:
        assert (store.conversations(user="ann"), store.turns(user="ann"), store.model_usage(user="ann")) == ((), (), ())
        assert store.append_events(user="ann", session="chat", events=make_events(1, 3))
        store.record_turn(end_turn(make_turn()))
    with closing(open_store(url, state_file="")) as store:
        assert store.events(user="ann", session="chat") == make_events(1, 3)
        assert store.turns(user="ann") == (end_turn(make_turn()),)


@pytest.mark.slow
def test_processes_that_migrate_the_third_schema_at_once_do_it_once(third_url: str) -> None:
    assert wait_for_all([prepare(_OPEN, third_url, str(who)) for who in range(4)]) == [""] * 4
    with closing(open_store(third_url, state_file="")) as store:
        assert store.trusted_projects(user="ann") == version_3.TRUSTED | {f"/new/{who}" for who in range(4)}
        runs = {run for run in store.runs(user="ann") if run.id.startswith("x")}
        assert runs == set(version_3.RUNS)
        _expect_conversations_of_all(store)


@pytest.mark.requirement("K1", "K6")
def test_all_that_the_fourth_schema_held_is_kept(fourth_url: str) -> None:
    with closing(open_store(fourth_url, state_file="")) as store:
        assert (store.switches(), store.trusted_projects(user="ann")) == (version_4.SWITCHES, version_4.TRUSTED)
        assert (store.grants(user="ann"), store.runs(user="ann")) == (version_4.GRANTS, version_4.RUNS)
        assert (store.sessions(user="ann"), store.receipts(user="ann")) == (version_4.SESSIONS, version_4.RECEIPTS)
        assert (store.conversations(user="ann"), store.turns(user="ann")) == (version_4.CONVERSATIONS, version_4.TURNS)
        assert store.events(user="ann", session="chat") == version_4.EVENTS
        assert store.prompt_basis(user="ann", session="chat") == "basis"
        assert store.version() == version_4.REVISION


def test_conversation_of_the_fourth_schema_goes_on(fourth_url: str) -> None:
    with closing(open_store(fourth_url, state_file="")) as store:
        assert store.append_events(user="ann", session="chat", events=make_events(3, 4, turn="t2", at=3.0))
        store.record_turn(end_turn(make_turn("t2", at=2.0)))
    with closing(open_store(fourth_url, state_file="")) as store:
        log = store.events(user="ann", session="chat")
        assert log == (*version_4.EVENTS, *make_events(3, 4, turn="t2", at=3.0))
        assert store.turns(user="ann")[0] == end_turn(make_turn("t2", at=2.0))


@pytest.mark.parametrize("version", _FORMER)
def test_live_turns_and_questions_begin_in_every_schema_that_had_none(url: str, version: int) -> None:
    write_old_database(url, _FORMER[version], version=version)
    with closing(open_store(url, state_file="")) as store:
        assert (store.live_turns(user="ann"), store.open_questions(user="ann")) == ((), ())
        assert store.claim_turn(make_live_turn())
        store.ask_question(make_question())
    with closing(open_store(url, state_file="")) as store:
        assert (store.live_turns(user="ann"), store.open_questions(user="ann")) == (
            (make_live_turn(),),
            (make_question(),),
        )


@pytest.mark.slow
def test_processes_that_migrate_the_fourth_schema_at_once_do_it_once(fourth_url: str) -> None:
    assert wait_for_all([prepare(_OPEN, fourth_url, str(who)) for who in range(4)]) == [""] * 4
    everyone = {str(who) for who in range(4)}
    with closing(open_store(fourth_url, state_file="")) as store:
        assert store.trusted_projects(user="ann") == version_4.TRUSTED | {f"/new/{who}" for who in range(4)}
        assert {turn.id for turn in store.turns(user="ann")} == {"t1", "t2", "f1"} | everyone
        assert {one.id for one in store.conversations(user="ann")} == {"chat"} | everyone
        assert store.events(user="ann", session="chat") == version_4.EVENTS
        _expect_live_turns_of_all(store)


def _expect_runs_of_all(store: StateStore) -> None:
    assert {run.id for run in store.runs(user="ann")} == {str(who) for who in range(4)}
    running = make_grant(act=Act.RUN, powers=("0", "1", "2", "3"))
    assert store.find_grant(user="ann", digest="d1", act=Act.RUN) == running
    _expect_conversations_of_all(store)


def _expect_conversations_of_all(store: StateStore) -> None:
    everyone = {str(who) for who in range(4)}
    assert {turn.id for turn in store.turns(user="ann")} == everyone
    assert {one.id for one in store.conversations(user="ann")} == everyone
    assert {store.last_event(user="ann", session=who) for who in everyone} == {2}
    _expect_live_turns_of_all(store)


def _expect_live_turns_of_all(store: StateStore) -> None:
    everyone = [str(who) for who in range(4)]
    assert [turn.session for turn in store.live_turns(user="ann")] == everyone
    assert [question.session for question in store.open_questions(user="ann")] == everyone


@pytest.mark.slow
@pytest.mark.parametrize(("version", "statements"), _FORMER.items())
def test_schema_that_was_migrated_is_that_of_a_new_database(
    postgres: Cluster, postgres_url: str, version: int, statements: Sequence[str]
) -> None:
    tables = "SELECT table_name, column_name, data_type, collation_name, is_nullable FROM information_schema.columns"
    columns = f"{tables} WHERE table_schema = 'prowess' ORDER BY table_name, ordinal_position"
    indices = "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'prowess' ORDER BY indexname"
    new = postgres.make_database()
    write_old_database(postgres_url, statements, version=version)
    for url in (new, postgres_url):
        with closing(open_store(url, state_file="")) as store:
            store.trust("/a", user="ann")
    for question in (columns, indices):
        assert postgres.ask(question, url=postgres_url) == postgres.ask(question, url=new)


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
    write_old_database(sqlite_url, version_1.STATEMENTS, version=1)
    path = sqlite_url.removeprefix("sqlite://")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE receipts (in_the_way TEXT)")
    with pytest.raises(Exception, match="already exists"):
        open_store(sqlite_url, state_file="").trust("/a", user="ann")
    with closing(sqlite3.connect(path)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert tables == {"switches", "trusted_projects", "receipts"}
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
