"""Many threads and processes on one conversation, some of which die, and how far they have to look."""

import json
import random
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
import pytest

from prowess.state.database import Database, Row, Transaction
from prowess.state.opening import open_store
from prowess.state.postgres_database import PostgresDatabase
from prowess.state.sql_store import SqlStore
from prowess.state.sqlite_database import SqliteDatabase
from prowess.state.store import StateStore
from tests.state.processes import prepare, start, wait_for_all
from tests.state.values import end_turn, make_event, make_events, make_live_turn, make_question, make_turn

_T = TypeVar("_T")
_WINS = 20
_COMPETE = f"""
def go_on(who):
    won = []
    while len(won) < {_WINS}:
        last = store.last_event(user="ann", session="chat")
        if store.append_events(user="ann", session="chat", events=make_events(last + 1, last + 3, turn=who), model=who):
            won.append(last + 1)
    found[who] = won
found, who = {{}}, arguments[0]
threads = [threading.Thread(target=go_on, args=(f"{{who}}.{{n}}",)) for n in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(found))
"""
_SAME = """
for turn in range(30):
    events = make_events(3 * turn + 1, 3 * turn + 3, turn=f"t{turn}")
    assert store.append_events(user="ann", session="chat", events=events)
"""
_ANEW = """
won = 0
for n in range(40):
    if store.append_events(user="ann", session=f"s{n}", events=make_events(1, 2, turn=arguments[0])):
        won += 1
print(won)
"""
_GO_ON_FOR_EVER = """
last = store.last_event(user="ann", session="chat")
for turn in range(last // 3, 100_000):
    store.record_turn(make_turn(f"t{turn}"))
    assert store.append_events(
        user="ann", session="chat", events=make_events(3 * turn + 1, 3 * turn + 3, turn=f"t{turn}"), model="x"
    )
    print(turn, flush=True)
"""
_FORGET = """
for _ in range(60):
    store.forget_conversation(user="ann", session="chat")
    store.forget_receipts(user="ann", before=5.0)
"""
_BEGIN_AGAIN = """
for n in range(120):
    last = store.last_event(user="ann", session="chat")
    at = 1.0 + n % 9
    store.append_events(user="ann", session="chat", events=make_events(last + 1, last + 2, turn=arguments[0], at=at))
"""


def _expect_whole(store: StateStore, winners: dict[str, list[int]]) -> None:
    """Each of the winners has its numbers, whole and alone."""
    events = store.events(user="ann", session="chat")
    by_number = {first: who for who, won in winners.items() for first in won}
    assert len(by_number) == _WINS * len(winners)
    wanted = [make_events(first, first + 2, turn=by_number[first]) for first in sorted(by_number)]
    assert events == tuple(event for part in wanted for event in part)
    assert store.last_event(user="ann", session="chat") == len(events)
    (record,) = store.conversations(user="ann")
    assert (record.turns, record.model) == (len(by_number), events[-1].turn)


@pytest.mark.slow
def test_processes_that_go_on_with_one_conversation_at_once_win_each_number_once(url: str) -> None:
    outputs = wait_for_all(prepare(_COMPETE, url, str(who)) for who in range(4))
    winners = {who: won for output in outputs for who, won in json.loads(output).items()}
    assert len(winners) == 8
    with closing(open_store(url, state_file="")) as store:
        _expect_whole(store, winners)


@pytest.mark.slow
def test_threads_that_go_on_with_one_conversation_at_once_win_each_number_once(store: StateStore) -> None:
    def go_on(who: str) -> list[int]:
        won: list[int] = []
        while len(won) < _WINS:
            last = store.last_event(user="ann", session="chat")
            events = make_events(last + 1, last + 3, turn=who)
            if store.append_events(user="ann", session="chat", events=events, model=who):
                won.append(last + 1)
        return won

    names = [str(number) for number in range(8)]
    with ThreadPoolExecutor(len(names)) as threads:
        winners = dict(zip(names, threads.map(go_on, names), strict=True))
    _expect_whole(store, winners)


@pytest.mark.slow
def test_processes_that_append_the_same_events_append_them_once(url: str) -> None:
    assert wait_for_all(prepare(_SAME, url) for _ in range(4)) == [""] * 4
    wanted = [make_events(3 * turn + 1, 3 * turn + 3, turn=f"t{turn}") for turn in range(30)]
    with closing(open_store(url, state_file="")) as store:
        assert store.events(user="ann", session="chat") == tuple(event for part in wanted for event in part)
        assert store.conversations(user="ann")[0].turns == 30


@pytest.mark.slow
def test_of_processes_that_begin_a_conversation_one_begins_it(url: str) -> None:
    won = [int(output) for output in wait_for_all(prepare(_ANEW, url, str(who)) for who in range(4))]
    assert sum(won) == 40
    with closing(open_store(url, state_file="")) as store:
        logs = [store.events(user="ann", session=f"s{n}") for n in range(40)]
        assert logs == [make_events(1, 2, turn=log[0].turn) for log in logs]
        assert sorted(won) == sorted(sum(log[0].turn == str(who) for log in logs) for who in range(4))


@pytest.mark.slow
def test_killed_processes_leave_whole_turns_to_go_on_with(url: str) -> None:
    with closing(open_store(url, state_file="")) as store:
        store.version()
        for _ in range(6):
            with start(_GO_ON_FOR_EVER, url) as writer:
                assert writer.stdout is not None
                reported = int(writer.stdout.readline())
                time.sleep(random.uniform(0.0, 0.1))
                writer.kill()
                reported = max([reported, *map(int, writer.stdout.read().rpartition("\n")[0].split())])
            assert writer.returncode == -signal.SIGKILL
            _wait_until_alone(url)
            events = store.events(user="ann", session="chat")
            turns = len(events) // 3
            assert reported + 1 <= turns <= reported + 2  # The last report may not have got out.
            assert [event.number for event in events] == list(range(1, 3 * turns + 1))
            assert store.last_event(user="ann", session="chat") == 3 * turns
            assert [(one.turns, one.model) for one in store.conversations(user="ann")] == [(turns, "x")]


def _wait_until_alone(url: str) -> None:
    """A server still finishes the last transaction of a process that is dead already."""
    if not url.startswith("postgresql"):
        return
    count = b"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'prowess'"
    deadline = time.monotonic() + 30.0
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(count).fetchone() != (1,):
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.mark.slow
def test_conversation_that_is_forgotten_while_others_go_on_is_whole_or_gone(url: str) -> None:
    processes = [prepare(_FORGET, url), *(prepare(_BEGIN_AGAIN, url, str(who)) for who in range(3))]
    wait_for_all(processes)
    with closing(open_store(url, state_file="")) as store:
        events = store.events(user="ann", session="chat")
        assert [event.number for event in events] == list(range(1, len(events) + 1))
        assert store.last_event(user="ann", session="chat") == len(events)
        assert [one.turns for one in store.conversations(user="ann")] == ([len(events) // 2] if events else [])


# How far they look


@dataclass
class _Listening:
    """A database that notes what it is asked."""

    database: Database
    asked: list[tuple[str, tuple[object, ...]]] = field(default_factory=list[tuple[str, tuple[object, ...]]])

    def read(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        self.asked.append((statement, tuple(parameters)))
        return self.database.read(statement, parameters)

    def write(self, work: Callable[[Transaction], _T]) -> _T:
        return self.database.write(lambda transaction: work(_ListeningTransaction(transaction, self.asked)))

    def announced(self) -> int:
        return self.database.announced()

    def changes(self) -> int:
        return self.database.changes()

    def close(self) -> None:
        self.database.close()


@dataclass
class _ListeningTransaction:
    transaction: Transaction
    asked: list[tuple[str, tuple[object, ...]]]

    def rows(self, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        self.asked.append((statement, tuple(parameters)))
        return self.transaction.rows(statement, parameters)

    def run(self, statement: str, parameters: Sequence[object] = ()) -> int:
        self.asked.append((statement, tuple(parameters)))
        return self.transaction.run(statement, parameters)

    def announce(self) -> None:
        self.transaction.announce()

    def wake(self) -> None:
        self.transaction.wake()


def test_nothing_is_looked_for_from_end_to_end(url: str) -> None:
    is_sqlite = url.startswith("sqlite")
    inner = SqliteDatabase(url.removeprefix("sqlite://")) if is_sqlite else PostgresDatabase(url)
    database = _Listening(inner)
    with closing(SqlStore(database)) as store:
        for number in (1, 2, 2, 4):
            store.append_events(user="ann", session="chat", events=[make_event(number)])
        store.events(user="ann", session="chat", after=1)
        store.last_event(user="ann", session="chat")
        store.conversations(user="ann")
        store.name_conversation(user="ann", session="chat", title="x")
        store.record_turn(make_turn())
        store.record_turn(end_turn(make_turn()))
        for session, parent in ((None, None), ("chat", None), (None, "t1")):
            store.turns(user="ann", session=session, parent=parent)
        store.model_usage(user="ann", since=1.0)
        _work_live(store)
        store.forget_conversation(user="ann", session="chat")
        plans = [line for asked in database.asked for line in _explain(inner, is_sqlite, *asked)]
    assert len(database.asked) > 30
    assert [line for line in plans if "Seq Scan" in line or line.startswith("SCAN ")] == []


def _work_live(store: StateStore) -> None:
    """Do whatever can be done with a turn under way and a question."""
    assert store.claim_turn(make_live_turn())
    store.live_turn(user="ann", session="chat")
    store.live_turns(user="ann")
    store.beat_turn(user="ann", session="chat", turn="t1", holder="one", at=1.0, draft="{}")
    assert store.take_turn(user="ann", session="chat", turn="t1", beats=1, holder="two")
    store.wish_turn(user="ann", session="chat", turn="t1", wish="cancel")
    store.ask_question(make_question())
    store.find_question(user="ann", session="chat", question="q1")
    for session in (None, "chat"):
        store.open_questions(user="ann", session=session)
    store.answer_question(user="ann", session="chat", question="q1", answer="refuse", answered_by="a", at=2.0)
    store.release_turn(user="ann", session="chat", turn="t1", holder="two")
    store.end_turn(user="ann", session="chat", turn="t1", holder="", at=2.0)
    store.forget_receipts(user="ann", before=0.0)


def _explain(database: Database, is_sqlite: bool, statement: str, parameters: tuple[object, ...]) -> list[str]:
    """Return the lines of a plan by which a database finds rows."""

    def work(transaction: Transaction) -> list[str]:
        if is_sqlite:
            lines: list[Any] = [row[3] for row in transaction.rows("EXPLAIN QUERY PLAN " + statement, parameters)]
        else:
            transaction.run("SET LOCAL enable_seqscan TO off")  # Of a table with few rows, it would read all.
            lines = [row[0] for row in transaction.rows("EXPLAIN " + statement, parameters)]
        return lines

    return database.write(work)


@pytest.mark.slow
def test_log_of_100_000_events_is_gone_on_with(store: StateStore) -> None:
    for first in range(1, 100_000, 10_000):
        assert store.append_events(user="ann", session="chat", events=make_events(first, first + 9_999))
    for number in range(100_001, 100_101):
        assert store.last_event(user="ann", session="chat") == number - 1
        assert store.append_events(user="ann", session="chat", events=[make_event(number)])
    events = store.events(user="ann", session="chat", after=99_000)
    assert [event.number for event in events] == list(range(99_001, 100_101))
