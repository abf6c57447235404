"""What a state store promises of runs, wherever it keeps its state."""

from dataclasses import replace

import pytest

from prowess.activation.receipts import AskedBy, RunReceipt, Usage
from prowess.state.opening import open_store
from prowess.state.store import StateStore
from tests.state.values import end_run, make_grant, make_receipt, make_run, make_session


def test_new_store_knows_no_runs(store: StateStore) -> None:
    assert store.runs(user="ann") == store.runs(user="ann", session="chat") == ()


@pytest.mark.requirement("K6")
def test_run_is_kept_whole(shared_store: StateStore, url: str) -> None:
    run = RunReceipt(
        id="x1",
        user="ann",
        session="chat",
        skill="core:pdf",
        name="pdf",
        digest="d1",
        script="scripts/fill.py",
        arguments="form.pdf --all",
        asked_by=AskedBy.USER,
        agent="main",
        consent="session",
        backend="docker",
        powers=("network", "packages:0123", "secret:TOKEN"),
        at=1700000000.123456,
        ended_at=1700000060.654321,
        exit_status=137,
        timed_out=True,
        seconds=60.530865,
        stdout_bytes=1 << 40,
        stderr_bytes=2,
        output_files=3,
        output_bytes=1 << 33,
    )
    shared_store.record_run(run)
    other = open_store(url, state_file="")
    assert other.runs(user="ann") == shared_store.runs(user="ann") == (run,)
    other.close()


@pytest.mark.requirement("K6")
@pytest.mark.parametrize("exit_status", [0, 1, None])
def test_run_is_there_from_its_beginning_and_once_after_its_end(store: StateStore, exit_status: int | None) -> None:
    begun = make_run()
    store.record_run(begun)
    store.record_run(begun)
    assert store.runs(user="ann") == (begun,)
    ended = end_run(begun, exit_status=exit_status)
    store.record_run(ended)
    store.record_run(ended)
    assert store.runs(user="ann") == (ended,)


@pytest.mark.requirement("K6")
def test_recording_again_replaces_what_was_not_known_at_the_beginning(store: StateStore) -> None:
    store.record_run(replace(make_run(), backend="", powers=()))
    store.record_run(end_run(make_run()))
    assert store.runs(user="ann") == (end_run(make_run()),)


@pytest.mark.requirement("K6")
def test_run_that_has_ended_stays_so(store: StateStore) -> None:
    store.record_run(end_run(make_run()))
    store.record_run(make_run())
    assert store.runs(user="ann") == (end_run(make_run()),)


@pytest.mark.requirement("K6", "R91")
def test_runs_of_one_id_in_other_sessions_and_of_other_users_are_others(store: StateStore) -> None:
    own, of_session, of_bob = make_run(), make_run(session="other", at=2.0), make_run(user="bob")
    for run in (own, of_session, of_bob):
        store.record_run(run)
    store.record_run(end_run(own))
    assert store.runs(user="ann") == (of_session, end_run(own))
    assert store.runs(user="bob") == (of_bob,)


def test_runs_are_listed_newest_first_by_session_up_to_a_limit(store: StateStore) -> None:
    for number in range(6):
        store.record_run(make_run(f"x{number}", session="ab"[number % 2], at=float(number)))
    store.record_run(make_run("of-bob", user="bob", session="a"))
    listed = {
        "all": store.runs(user="ann"),
        "some": store.runs(user="ann", limit=2),
        "of a": store.runs(user="ann", session="a"),
        "of nobody": store.runs(user="ann", session=""),
    }
    assert {name: [run.id for run in runs] for name, runs in listed.items()} == {
        "all": ["x5", "x4", "x3", "x2", "x1", "x0"],
        "some": ["x5", "x4"],
        "of a": ["x4", "x2", "x0"],
        "of nobody": [],
    }


@pytest.mark.requirement("K6")
def test_runs_outlive_their_session_and_make_none(store: StateStore) -> None:
    store.open_session(make_session())
    store.record_run(make_run())
    store.end_session(user="ann", session="chat", at=2.0)
    store.record_run(end_run(make_run()))
    assert (store.runs(user="ann"), store.sessions(user="ann")) == ((end_run(make_run()),), ())


@pytest.mark.requirement("K6")
def test_runs_neither_switch_a_skill_on_nor_off(store: StateStore) -> None:
    store.record_run(make_run(skill="core:zip"))
    receipt = store.activate(make_receipt())
    store.record_run(end_run(make_run("x2", at=2.0)))
    assert store.active(user="ann", session="chat") == (receipt,)
    assert (store.open_skills(user="ann"), store.held_digests()) == ({"core:pdf"}, {"d1"})


# Usage


@pytest.mark.requirement("K6")
def test_usage_counts_the_runs_of_each_skill(store: StateStore) -> None:
    store.activate(make_receipt("r1", skill="core:pdf", tokens=10, at=1.0))
    store.activate(make_receipt("r2", skill="core:git", at=2.0))
    for number, skill in enumerate(["core:pdf", "core:zip", "core:pdf", "core:zip", "core:zip", "core:tar"]):
        store.record_run(make_run(f"x{number}", session=f"s{number}", skill=skill, at=3.0 + number))
    store.record_run(end_run(make_run("x0", session="s0", at=3.0)))
    store.record_run(make_run("of-bob", user="bob"))
    pdf, git = Usage("core:pdf", "pdf", 1, 1, 10, 5.0, 2), Usage("core:git", "git", 1, 1, 25, 2.0, 0)
    zip_, tar = Usage("core:zip", "zip", 0, 0, 0, 7.0, 3), Usage("core:tar", "tar", 0, 0, 0, 8.0, 1)
    assert store.usage(user="ann") == (pdf, git, zip_, tar)
    assert store.usage(user="bob") == (Usage("core:pdf", "pdf", 0, 0, 0, 1.0, 1),)


@pytest.mark.requirement("K6")
def test_usage_since_a_moment_counts_runs_that_began_since(store: StateStore) -> None:
    store.activate(make_receipt(at=1.0))
    for number in (2, 3):
        store.record_run(end_run(make_run(f"x{number}", at=float(number))))
    runs = [[(one.activations, one.runs) for one in store.usage(user="ann", since=since)] for since in (1.0, 2.5, 4.0)]
    assert runs == [[(1, 2)], [(0, 1)], []]


@pytest.mark.parametrize(("activated_at", "run_at", "name"), [(1.0, 2.0, "run"), (2.0, 1.0, "on"), (1.0, 1.0, "on")])
def test_usage_calls_a_skill_by_its_latest_name(
    store: StateStore, activated_at: float, run_at: float, name: str
) -> None:
    store.activate(make_receipt(name="on", at=activated_at))
    store.record_run(make_run("x0", name="former", at=0.5))
    store.record_run(make_run("x1", name="run", at=run_at))
    last = max(activated_at, run_at)
    assert store.usage(user="ann") == (Usage("core:pdf", name, 1, 1, 25, last, 2),)


def test_sessions_and_recent_skills_are_counted_by_activations_alone(store: StateStore) -> None:
    store.record_run(make_run())
    assert (store.count_sessions(user="ann"), store.recent_skills(user="ann", since=0.0, limit=9)) == (0, ())


# Forgetting


@pytest.mark.requirement("K6", "R91")
def test_forgetting_takes_runs_that_began_before_and_none_of_another_user(store: StateStore) -> None:
    store.open_session(make_session(at=9.0))
    runs = [
        make_run("x1", at=1.0),
        end_run(make_run("x2", at=2.0)),
        make_run("x3", at=3.0),
        end_run(make_run("x4", at=4.0)),
    ]
    for run in runs:
        store.record_run(run)
        store.record_run(replace(run, user="bob"))
    store.activate(make_receipt(at=1.0))
    store.deactivate(user="ann", session="chat", skill="core:pdf", at=2.0)
    store.set_grant(make_grant())
    assert store.forget_receipts(user="ann", before=3.0) == 1
    assert store.runs(user="ann") == (runs[3], runs[2])
    assert len(store.runs(user="bob")) == 4
    assert store.grants(user="ann") == (make_grant(),)
