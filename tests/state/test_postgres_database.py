"""What is particular to state on a server: connections are lost, and servers go away."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import psycopg
import pytest

from prowess.activation.grants import Act
from prowess.errors import WorldError
from prowess.state.database import Transaction
from prowess.state.postgres_database import PostgresDatabase
from prowess.state.sql_store import SqlStore
from tests.postgres import Cluster
from tests.state.lossy_proxy import Loss, lossy_proxy
from tests.state.values import end_run, end_turn, make_events, make_grant, make_receipt, make_run, make_turn

pytestmark = pytest.mark.slow  # A server takes seconds to start and end.


@pytest.fixture
def store(postgres_url: str) -> Iterator[SqlStore]:
    opened = SqlStore(PostgresDatabase(postgres_url))
    yield opened
    opened.close()


def test_everything_is_in_a_schema_of_its_own(postgres: Cluster, store: SqlStore, postgres_url: str) -> None:
    store.trust("/a", user="ann")
    rows = postgres.ask(
        "SELECT schemaname, tablename FROM pg_tables WHERE schemaname !~ '^(pg_|info)'", url=postgres_url
    )
    assert sorted(table for schema, table in rows if schema == "prowess") == [
        *("conversations", "events", "grants", "live_turns", "questions", "receipts", "revisions", "runs"),
        *("schema_version", "sessions", "switches", "trust", "turns"),
    ]
    assert {schema for schema, _ in rows} == {"prowess"}


def test_texts_are_in_the_order_of_their_bytes_whatever_language_the_server_speaks(postgres: Cluster) -> None:
    postgres.ask("CREATE DATABASE english TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'")
    ids = ["core:B", "core:a", "core:a-b", "core:aa", "core:b"]
    with closing(SqlStore(PostgresDatabase(postgres.url("english")))) as store:
        for number, skill in enumerate(reversed(ids)):
            store.activate(make_receipt(f"r{number}", session=skill, skill=skill))
        assert list(store.recent_skills(user="ann", since=0.0, limit=9)) == ids
        assert [session.id for session in store.sessions(user="ann")] == ids


def test_store_holds_one_connection_and_gives_it_back(postgres: Cluster, store: SqlStore, postgres_url: str) -> None:
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'prowess'"
    store.trust("/a", user="ann")
    store.version()
    assert postgres.ask(count) == [(1,)]
    store.close()
    deadline = time.monotonic() + 10.0
    while postgres.ask(count) != [(0,)]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_second_open_receipt_of_a_skill_is_against_the_law_of_the_database(
    postgres: Cluster, store: SqlStore, postgres_url: str
) -> None:
    store.activate(make_receipt("r1"))
    insert = (
        "INSERT INTO prowess.receipts SELECT owner, session, 'r2', 2, skill, name, digest, asked_by, agent,"
        " triggered_by, arguments, consent, 0, 0, 2.0, 1, NULL FROM prowess.receipts"
    )
    with pytest.raises(psycopg.errors.UniqueViolation):
        postgres.ask(insert, url=postgres_url)


def test_failed_work_leaves_nothing_behind(postgres_url: str) -> None:
    with closing(PostgresDatabase(postgres_url)) as database:
        with pytest.raises(ZeroDivisionError):
            database.write(
                lambda it: (it.run("INSERT INTO trust (owner, path) VALUES ('ann', '/a')"), it.announce(), 1 // 0)
            )
        assert (database.read("SELECT path FROM trust"), database.announced()) == ([], 1)
        assert database.write(lambda it: it.run("INSERT INTO trust (owner, path) VALUES ('ann', '/b')")) == 1


# Lost connections


def test_connection_lost_between_calls_is_not_noticed(postgres: Cluster, store: SqlStore, postgres_url: str) -> None:
    store.trust("/a", user="ann")
    before = store.version()
    for project in ("/b", "/c", "/d"):
        assert postgres.terminate_connections(postgres_url) == 1
        assert store.trust(project, user="ann")
    assert postgres.terminate_connections(postgres_url) == 1
    assert store.trusted_projects(user="ann") == {"/a", "/b", "/c", "/d"}
    assert postgres.terminate_connections(postgres_url) == 1
    assert store.version() == before + 3


def test_news_are_heard_after_a_lost_connection(postgres: Cluster, store: SqlStore, postgres_url: str) -> None:
    before = store.version()
    postgres.terminate_connections(postgres_url)
    with closing(SqlStore(PostgresDatabase(postgres_url))) as other:
        other.trust("/a", user="ann")
        made_at = time.monotonic()
    while store.version() == before:
        assert time.monotonic() - made_at < 1.0
    assert store.version() == before + 1


def test_connection_lost_in_a_transaction_does_the_work_again(postgres: Cluster, postgres_url: str) -> None:
    calls: list[int] = []
    with closing(PostgresDatabase(postgres_url)) as database:

        def work(transaction: Transaction) -> int:
            calls.append(transaction.run("INSERT INTO trust (owner, path) VALUES ('ann', '/a')"))
            if len(calls) < 3:
                postgres.terminate_connections(postgres_url)
            return transaction.run("INSERT INTO trust (owner, path) VALUES ('ann', '/b')")

        assert database.write(work) == 1
        assert (calls, database.read("SELECT path FROM trust")) == ([1, 1, 1], [("/a",), ("/b",)])


@pytest.mark.slow
@pytest.mark.parametrize(
    "losses", [[Loss.COMMIT], [Loss.ANSWER], [Loss.COMMIT, Loss.ANSWER], [Loss.COMMIT, Loss.COMMIT, Loss.ANSWER]]
)
def test_lost_commit_is_done_once_and_answered_truly(postgres_url: str, losses: list[Loss]) -> None:
    with lossy_proxy(postgres_url) as proxy, closing(SqlStore(PostgresDatabase(proxy.url))) as store:
        before = store.version()
        proxy.lose(losses)
        assert store.trust("/a", user="ann")
        proxy.lose(losses)
        assert store.untrust("/a", user="ann")
        proxy.lose(losses)
        store.set_grant(make_grant())
        proxy.lose(losses)
        assert store.revoke_grants(user="ann") == 1
        proxy.lose(losses)
        assert store.activate(make_receipt("r1")) == make_receipt("r1")
        proxy.lose(losses)
        second = make_receipt("r2", digest="d2", at=2.0)
        assert store.activate(second) == second
        proxy.lose(losses)
        ended = replace(second, ended_at=3.0)
        assert store.deactivate(user="ann", session="chat", skill="core:pdf", at=3.0) == ended
        for run in (make_run(), end_run(make_run())):
            proxy.lose(losses)
            store.record_run(run)
        for power in ("network", "secret:KEY"):
            proxy.lose(losses)
            store.set_grant(make_grant(act=Act.RUN, powers=(power,)))
        for number in (1, 2):
            proxy.lose(losses)
            events = make_events(2 * number - 1, 2 * number, turn=f"t{number}")
            assert store.append_events(user="ann", session="chat", events=events)
            for turn in (make_turn(f"t{number}"), end_turn(make_turn(f"t{number}"))):
                proxy.lose(losses)
                store.record_turn(turn)
        proxy.lose(losses)
        assert store.name_conversation(user="ann", session="chat", title="Taxes")
        assert store.append_events(user="ann", session="other", events=make_events(1, 3))
        proxy.lose(losses)
        assert store.forget_conversation(user="ann", session="other")
        proxy.expect_all_lost()
        assert store.events(user="ann", session="chat") == make_events(1, 2, turn="t1") + make_events(3, 4, turn="t2")
        assert [(one.title, one.turns) for one in store.conversations(user="ann")] == [("Taxes", 2)]
        assert set(store.turns(user="ann")) == {end_turn(make_turn("t1")), end_turn(make_turn("t2"))}
        assert store.receipts(user="ann") == (ended, replace(make_receipt("r1"), ended_at=2.0))
        assert store.runs(user="ann") == (end_run(make_run()),)
        assert store.grants(user="ann") == (make_grant(act=Act.RUN, powers=("network", "secret:KEY")),)
        assert store.version() == before + 6


@pytest.mark.slow
def test_connections_lost_at_any_moment_lose_nothing_and_double_nothing(
    postgres: Cluster, store: SqlStore, postgres_url: str
) -> None:
    store.trust("/before", user="ann")
    before, ended = store.version(), threading.Event()
    terminated: list[int] = []

    def terminate() -> None:
        while not ended.wait(0.02):
            terminated.append(postgres.terminate_connections(postgres_url))

    saboteur = threading.Thread(target=terminate)
    saboteur.start()
    try:
        for number in range(100):
            assert store.trust(f"/{number}", user="ann")
            receipt = make_receipt(f"r{number}", digest=f"d{number}", at=float(number))
            assert store.activate(receipt) == receipt
            store.set_grant(make_grant(f"d{number}"))
            assert store.append_events(user="ann", session="chat", events=make_events(2 * number + 1, 2 * number + 2))
    finally:
        ended.set()
        saboteur.join()
    assert sum(terminated) > 3
    assert store.trusted_projects(user="ann") == {"/before", *(f"/{number}" for number in range(100))}
    ends = [receipt.ended_at for receipt in store.receipts(user="ann")]
    assert ends == [None, *(float(number) for number in reversed(range(1, 100)))]
    assert len(store.grants(user="ann")) == 100
    assert [event.number for event in store.events(user="ann", session="chat")] == list(range(1, 201))
    assert store.conversations(user="ann")[0].turns == 100
    assert store.version() == before + 200


@pytest.mark.slow
def test_transactions_that_wait_for_each_other_both_succeed(postgres_url: str) -> None:
    both_have_begun = threading.Barrier(2)
    calls: list[str] = []

    def change(first: str, second: str) -> None:
        def work(transaction: Transaction) -> None:
            transaction.run("UPDATE trust SET path = path || '.' WHERE path LIKE ?", (first,))
            calls.append(first)
            if calls.count(first) == 1:
                both_have_begun.wait(30.0)
            transaction.run("UPDATE trust SET path = path || '.' WHERE path LIKE ?", (second,))

        with closing(PostgresDatabase(postgres_url)) as database:
            database.write(work)

    with closing(SqlStore(PostgresDatabase(postgres_url))) as store:
        store.trust("/a", user="ann")
        store.trust("/b", user="ann")
        with ThreadPoolExecutor(2) as threads:
            done = [threads.submit(change, "/a%", "/b%"), threads.submit(change, "/b%", "/a%")]
        assert [future.result() for future in done] == [None, None]
        assert len(calls) == 3
        assert store.trusted_projects(user="ann") == {"/a..", "/b.."}


# Servers that are away, or do not want us


@pytest.mark.slow
def test_stopped_server_is_reported_within_the_bound_and_used_again_later(postgres: Cluster) -> None:
    url = postgres.make_database().replace("prowess@", "prowess:geheim@")
    with closing(SqlStore(PostgresDatabase(url, patience_seconds=1.0))) as store:
        store.trust("/a", user="ann")
        with postgres.stopped():
            for attempt in (
                lambda: store.trust("/b", user="ann"),
                lambda: store.trusted_projects(user="ann"),
                store.version,
            ):
                start = time.monotonic()
                with pytest.raises(WorldError) as caught:
                    attempt()
                assert 0.3 < time.monotonic() - start < 3.0
                assert caught.value.code == "state-unreachable"
                assert url.replace(":geheim", "") in caught.value.message
                assert "geheim" not in caught.value.message + caught.value.hint + str(caught.value.__cause__)
        assert store.trusted_projects(user="ann") == {"/a"}
        assert store.trust("/b", user="ann")


@pytest.mark.slow
def test_server_that_comes_back_in_time_is_not_missed(postgres: Cluster, store: SqlStore) -> None:
    store.trust("/a", user="ann")
    postgres.stop()
    starter = threading.Timer(0.5, postgres.start)
    starter.start()
    try:
        assert store.trust("/b", user="ann")
    finally:
        starter.join()
    assert store.trusted_projects(user="ann") == {"/a", "/b"}


def test_user_without_rights_is_told_at_once(postgres: Cluster, postgres_url: str) -> None:
    postgres.ask("DROP ROLE IF EXISTS guest")
    postgres.ask("CREATE ROLE guest LOGIN")
    start = time.monotonic()
    with pytest.raises(WorldError) as caught:
        SqlStore(PostgresDatabase(postgres_url.replace("prowess@", "guest@"))).trust("/a", user="ann")
    assert time.monotonic() - start < 3.0
    assert caught.value.code == "state-unusable"
    assert "permission denied" in caught.value.message


def test_user_who_owns_nothing_but_the_schema_can_use_it(postgres: Cluster, postgres_url: str) -> None:
    postgres.ask("DROP ROLE IF EXISTS app")
    postgres.ask("CREATE ROLE app LOGIN")
    postgres.ask("CREATE SCHEMA prowess AUTHORIZATION app", url=postgres_url)
    with closing(SqlStore(PostgresDatabase(postgres_url.replace("prowess@", "app@")))) as store:
        assert store.trust("/a", user="ann")


def test_text_too_long_for_an_index_is_the_worlds_fault(store: SqlStore) -> None:
    store.trust("/a", user="ann")
    path = "/" + "".join(chr(0x4E00 + number % 20_000) for number in range(0, 4_000_000, 997))
    with pytest.raises(WorldError) as caught:
        store.trust(path, user="ann")
    assert caught.value.code == "state-unusable"
    assert store.trusted_projects(user="ann") == {"/a"}
