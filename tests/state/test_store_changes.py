"""How a store hears of what others have written."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest

from prowess.state.opening import open_store
from prowess.state.sql_store import SqlStore
from prowess.state.sqlite_database import SqliteDatabase
from prowess.state.store import StateStore
from tests.postgres import Cluster
from tests.state.values import make_event, make_live_turn, make_question


@pytest.fixture
def watcher(url: str, shared_store: StateStore) -> Iterator[StateStore]:
    """Another store in the same place, which has looked around."""
    shared_store.trust("/before", user="ann")
    with closing(open_store(url, state_file="")) as opened:
        opened.trusted_projects(user="ann")
        yield opened


def _writes(store: StateStore) -> dict[str, Callable[[], object]]:
    """Return all that others should hear of, in an order in which each changes something."""
    which = {"user": "ann", "session": "chat"}
    turn = {**which, "turn": "t1"}
    return {
        "claim": lambda: store.claim_turn(make_live_turn()),
        "append": lambda: store.append_events(user="ann", session="chat", events=[make_event()]),
        "draft": lambda: store.beat_turn(**turn, holder="one", at=1.0, draft="{}"),
        "take": lambda: store.take_turn(**turn, beats=1, holder="two"),
        "wish": lambda: store.wish_turn(**turn, wish="cancel"),
        "ask": lambda: store.ask_question(make_question()),
        "answer": lambda: store.answer_question(**which, question="q1", answer="refuse", answered_by="a", at=2.0),
        "release": lambda: store.release_turn(**turn, holder="two"),
        "end": lambda: store.end_turn(**turn, holder="", at=2.0),
        "name": lambda: store.name_conversation(**which, title="Taxes"),
        "forget": lambda: store.forget_conversation(**which),
        "decide": lambda: store.trust("/a", user="ann"),
    }


def _notices(store: StateStore) -> int:
    """Return the number right after it has changed, so that half a second of silence is not meant."""
    before = store.changes()
    deadline = time.monotonic() + 30.0
    while store.changes() == before:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return store.changes()


def test_own_writes_are_heard_of(store: StateStore) -> None:
    store.trust("/before", user="ann")
    for name, write in _writes(store).items():
        before = store.changes()
        write()
        assert store.changes() > before, name


def test_writes_of_another_connection_are_heard_of(watcher: StateStore, shared_store: StateStore) -> None:
    for name, write in _writes(shared_store).items():
        before = watcher.changes()
        write()
        deadline = time.monotonic() + 30.0
        while watcher.changes() == before:
            assert time.monotonic() < deadline, name
            time.sleep(0.001)


def test_number_stays_in_a_file_while_nobody_writes(sqlite_url: str) -> None:
    with closing(open_store(sqlite_url, state_file="")) as store:
        assert [store.changes(), store.changes()] == [0, 0]
        store.claim_turn(make_live_turn())
        before = store.changes()
        store.live_turns(user="ann")
        with closing(open_store(sqlite_url, state_file="")) as other:
            other.live_turns(user="ann")
        assert [store.changes() for _ in range(100)] == [before] * 100


def test_file_that_comes_into_being_is_heard_of(sqlite_url: str) -> None:
    with closing(open_store(sqlite_url, state_file="")) as store:
        before = store.changes()
        with closing(open_store(sqlite_url, state_file="")) as other:
            other.claim_turn(make_live_turn())
        assert store.changes() > before
        assert store.live_turns(user="ann") == (make_live_turn(),)


def test_whatever_happened_while_a_store_was_closed_is_heard_of(watcher: StateStore, shared_store: StateStore) -> None:
    before = watcher.changes()
    watcher.close()
    shared_store.claim_turn(make_live_turn())
    assert watcher.changes() > before
    assert watcher.live_turns(user="ann") == (make_live_turn(),)


def test_failed_work_is_not_heard_of() -> None:
    with closing(SqliteDatabase(":memory:")) as database:
        SqlStore(database).claim_turn(make_live_turn())
        before = database.changes()
        with pytest.raises(ZeroDivisionError):
            database.write(lambda it: (it.run("DELETE FROM live_turns"), it.wake(), 1 // 0))
        assert database.changes() == before


# What is particular to a server


@pytest.mark.slow
def test_server_tells_of_every_write_and_not_only_silence_does(postgres_url: str) -> None:
    with (
        closing(open_store(postgres_url, state_file="")) as store,
        psycopg.connect(postgres_url, autocommit=True) as listener,
    ):
        listener.execute("LISTEN prowess").execute("LISTEN prowess_live")
        told: dict[str, list[tuple[str, str]]] = {}
        for name, write in _writes(store).items():
            write()
            told[name] = [(one.channel, one.payload) for one in listener.notifies(timeout=30.0, stop_after=1)]
    assert told.pop("decide") == [("prowess", "")]
    assert set(map(tuple, told.values())) == {(("prowess_live", ""),)}


@pytest.mark.slow
def test_silence_of_a_server_is_no_reason_to_look_all_the_time(postgres_url: str) -> None:
    with closing(open_store(postgres_url, state_file="")) as store:
        first, begun_at = _notices(store), time.monotonic()
        numbers = [store.changes() for _ in range(200)]
        lasted = time.monotonic() - begun_at
        assert numbers[-1] - first <= lasted / 0.5 + 1


@pytest.mark.slow
def test_silence_of_a_server_does_not_last(postgres_url: str) -> None:
    with closing(open_store(postgres_url, state_file="")) as store:
        assert _notices(store) < _notices(store) < _notices(store)


@pytest.mark.slow
def test_beats_without_a_draft_wake_nobody(postgres: Cluster, postgres_url: str) -> None:
    with closing(open_store(postgres_url, state_file="")) as store:
        store.claim_turn(make_live_turn())
        before, begun_at = _notices(store), time.monotonic()
        for _ in range(100):
            assert store.beat_turn(user="ann", session="chat", turn="t1", holder="one", at=1.0)
        grown, lasted = store.changes() - before, time.monotonic() - begun_at
        assert grown <= lasted / 0.5 + 1
        for _ in range(100):
            store.beat_turn(user="ann", session="chat", turn="t1", holder="one", at=1.0, draft="{}")
        assert store.changes() - before - grown >= 100


@pytest.mark.slow
def test_lost_connection_is_a_change(postgres: Cluster, postgres_url: str) -> None:
    with closing(open_store(postgres_url, state_file="")) as store:
        before = store.changes()
        assert postgres.terminate_connections(postgres_url) == 1
        with closing(open_store(postgres_url, state_file="")) as other:
            other.claim_turn(make_live_turn())
        deadline = time.monotonic() + 30.0
        while store.changes() == before:
            assert time.monotonic() < deadline
        assert store.live_turns(user="ann") == (make_live_turn(),)


@pytest.mark.slow
def test_turns_elsewhere_do_not_have_decisions_read_again(postgres_url: str) -> None:
    with closing(open_store(postgres_url, state_file="")) as store:
        before = store.version()
        with closing(open_store(postgres_url, state_file="")) as other:
            other.claim_turn(make_live_turn())
            assert store.version() == before
            changes = store.changes()
            other.trust("/a", user="ann")
            while store.changes() == changes:
                time.sleep(0.001)
        assert store.version() == before + 1
