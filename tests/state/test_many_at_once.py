"""Many threads and processes on one store, some of which die."""

import json
import random
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

import psycopg
import pytest

from prowess.catalog.switches import Switch, SwitchKey
from prowess.state.opening import open_store
from prowess.state.store import StateStore
from tests.state.processes import prepare, start, wait_for_all
from tests.state.values import make_grant, make_receipt
from tests.state.workload import expect_everything, work

_WORK = """
from tests.state.workload import work
found = set()
threads = [threading.Thread(target=lambda n=n: found.update(work(store, f"{arguments[0]}.{n}"))) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(sorted(found)))
"""
_REPLACE_FOR_EVER = """
start = int(arguments[0])
for n in range(start, start + 100_000):
    store.activate(make_receipt(f"r{n}", digest=f"d{n}", at=float(n)))
    store.set_grant(make_grant(f"d{n}"))
    print(n, flush=True)
"""
_REPORT_CHANGES = """
seen = store.version()
print("ready", flush=True)
for _ in range(int(arguments[0])):
    while store.version() == seen:
        time.sleep(0.005)
    seen = store.version()
    print(time.monotonic(), flush=True)
"""


@pytest.mark.slow
@pytest.mark.requirement("K1", "K6")
def test_32_threads_lose_nothing_and_double_nothing(store: StateStore) -> None:
    workers = [str(number) for number in range(32)]
    with ThreadPoolExecutor(len(workers)) as threads:
        found = threads.map(partial(work, store), workers)
    expect_everything(store, workers, same=set[str]().union(*found))


@pytest.mark.slow
@pytest.mark.requirement("K1", "K6")
def test_8_processes_with_4_threads_each_lose_nothing_and_double_nothing(url: str) -> None:
    outputs = wait_for_all(prepare(_WORK, url, str(who)) for who in range(8))
    same = {id_ for output in outputs for id_ in json.loads(output)}
    with closing(open_store(url, state_file="")) as store:
        expect_everything(store, [f"{who}.{thread}" for who in range(8) for thread in range(4)], same=same)


@pytest.mark.slow
@pytest.mark.requirement("K6")
def test_killed_processes_leave_whole_changes_and_a_usable_store(url: str) -> None:
    done = 0
    with closing(open_store(url, state_file="")) as store:
        store.version()
        for _ in range(6):
            with start(_REPLACE_FOR_EVER, url, str(done)) as writer:
                assert writer.stdout is not None
                reported = [int(writer.stdout.readline())]
                time.sleep(random.uniform(0.0, 0.1))
                writer.kill()
                reported += [
                    int(line) for line in writer.stdout.read().splitlines(keepends=True) if line.endswith("\n")
                ]
            _wait_until_alone(url)
            receipts, grants = store.receipts(user="ann", limit=1_000_000), store.grants(user="ann")
            done = len(receipts)
            assert reported[-1] + 1 <= done <= reported[-1] + 3  # The last report may not have got out.
            assert [receipt.id for receipt in receipts] == [f"r{n}" for n in reversed(range(done))]
            assert [receipt.ended_at for receipt in receipts] == [None, *(float(n) for n in reversed(range(1, done)))]
            assert done - 1 <= len(grants) <= done
            if len(grants) < done:
                store.set_grant(make_grant(f"d{done - 1}"))
            assert store.version() == 1 + done  # What was granted was announced, and nothing else.


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
def test_decisions_reach_another_process_within_a_second(shared_store: StateStore, url: str) -> None:
    shared_store.trust("/before", user="ann")
    changes: list[Callable[[], object]] = [
        lambda: shared_store.set_switch("", SwitchKey("core:pdf"), Switch.OFF),
        lambda: shared_store.set_grant(make_grant()),
        lambda: shared_store.trust("/a", user="ann"),
        lambda: shared_store.untrust("/a", user="ann"),
    ]
    with start(_REPORT_CHANGES, url, str(len(changes))) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        for change in changes:
            time.sleep(0.02)
            change()
            made_at = time.monotonic()
            assert float(other.stdout.readline()) - made_at < 1.0
        assert other.wait(30) == 0


@pytest.mark.slow
def test_activations_elsewhere_do_not_count_as_decisions(shared_store: StateStore, url: str) -> None:
    shared_store.trust("/a", user="ann")
    before = shared_store.version()
    wait_for_all([prepare("store.activate(make_receipt())\nstore.open_session(make_session())", url)])
    assert shared_store.active(user="ann", session="chat") == (make_receipt(),)
    assert shared_store.version() == before


# Forks

_FORK = """
store.trust("/before", user="ann")
ready, closed = os.pipe(), os.pipe()
child = os.fork()
if not child:
    store.trust("/child/1", user="ann")
    os.write(ready[1], b".")
    os.read(closed[0], 1)
    store.trust("/child/2", user="ann")
    assert store.trusted_projects(user="ann") >= {"/before", "/parent/1", "/child/1", "/child/2"}
    store.close()
    os._exit(0)
store.trust("/parent/1", user="ann")
os.read(ready[0], 1)
store.close()
os.write(closed[1], b".")
assert os.waitpid(child, 0)[1] == 0
store.trust("/parent/2", user="ann")
"""
_FORK_AMONG_THREADS = """
import signal
ended = threading.Event()
def work(who):
    while not ended.is_set():
        store.trust(f"/{who}", user="ann")
        store.version()
        store.untrust(f"/{who}", user="ann")
threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
for thread in threads: thread.start()
for n in range(8):
    time.sleep(0.01)
    child = os.fork()
    if not child:
        signal.alarm(30)
        store.version()
        store.trust(f"/child/{n}", user="ann")
        store.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, n
ended.set()
for thread in threads: thread.join()
"""


@pytest.mark.slow
def test_forked_process_has_a_connection_of_its_own(url: str) -> None:
    wait_for_all([prepare(_FORK, url)])
    with closing(open_store(url, state_file="")) as store:
        assert store.trusted_projects(user="ann") == {"/before", "/child/1", "/child/2", "/parent/1", "/parent/2"}


@pytest.mark.slow
def test_fork_among_busy_threads_leaves_no_lock_behind(url: str) -> None:
    wait_for_all([prepare(_FORK_AMONG_THREADS, url)])
    with closing(open_store(url, state_file="")) as store:
        assert store.trusted_projects(user="ann") == {f"/child/{n}" for n in range(8)}


def test_forked_process_goes_on_with_a_copy_of_memory() -> None:
    script = """
store.trust("/before", user="ann")
child = os.fork()
store.trust("/child" if not child else "/parent", user="ann")
assert store.trusted_projects(user="ann") == {"/before", "/parent" if child else "/child"}
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    wait_for_all([prepare(script, "memory")])


@pytest.mark.slow
def test_killed_writer_releases_its_lock(shared_store: StateStore, url: str) -> None:
    """A process that dies in the middle of a transaction."""
    shared_store.trust("/a", user="ann")
    script = """
def hang(transaction):
    transaction.run("INSERT INTO trust (owner, path) VALUES ('ann', '/half')")
    transaction.announce()
    print("writing", flush=True)
    time.sleep(60)
store._database.write(hang)
"""
    with start(script, url) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        writer.kill()
    before = shared_store.version()
    shared_store.trust("/b", user="ann")
    assert (shared_store.trusted_projects(user="ann"), shared_store.version()) == ({"/a", "/b"}, before + 1)
    assert writer.returncode == -signal.SIGKILL
