"""Many threads and processes on one turn and its questions, some of which die."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace

import pytest

from prowess.state.live_turns import OpenQuestion
from prowess.state.opening import open_store
from prowess.state.postgres_database import PostgresDatabase
from prowess.state.sql_store import SqlStore
from prowess.state.store import StateStore
from tests.state.lossy_proxy import Loss, lossy_proxy
from tests.state.processes import prepare, start, wait_for_all
from tests.state.values import make_live_turn, make_question

_CLAIM = """
print(json.dumps([store.claim_turn(make_live_turn(f"t-{arguments[0]}", session=f"s{n}", holder=arguments[0]))
                  for n in range(40)]))
"""
_HOLD = """
assert store.claim_turn(make_live_turn(holder="dead"))
while True:
    beaten = store.beat_turn(user="ann", session="chat", turn="t1", holder="dead", at=1.0, draft="[]")
    print(beaten.beats, flush=True)
"""
_TAKE = """
which = {"user": "ann", "session": "chat", "turn": "t1"}
print(json.dumps(store.take_turn(**which, beats=int(arguments[1]), holder=arguments[0])))
"""
_ANSWER = """
for n in range(40):
    seen = store.answer_question(
        user="ann", session="chat", question=f"q{n}", answer="refuse", answered_by=arguments[0], at=2.0
    )
    print(seen.answered_by)
"""


def test_of_8_threads_that_claim_a_session_one_gets_it(store: StateStore) -> None:
    turns = [make_live_turn(f"t{number}", holder=str(number)) for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        won = list(threads.map(store.claim_turn, turns))
    assert sum(won) == 1
    assert store.live_turns(user="ann") == (turns[won.index(True)],)


def test_of_8_connections_that_claim_a_session_one_gets_it(url: str) -> None:
    turns = [make_live_turn(f"t{number}", holder=str(number)) for number in range(8)]
    with ExitStack() as stack:
        stores = [stack.enter_context(closing(open_store(url, state_file=""))) for _ in turns]
        with ThreadPoolExecutor(8) as threads:
            claims = [threads.submit(store.claim_turn, turn) for store, turn in zip(stores, turns, strict=True)]
        won = [claim.result() for claim in claims]
        assert sum(won) == 1
        assert stores[0].live_turns(user="ann") == (turns[won.index(True)],)


@pytest.mark.slow
def test_of_processes_that_claim_a_session_one_gets_it(url: str) -> None:
    outputs = wait_for_all(prepare(_CLAIM, url, str(who)) for who in range(4))
    won: list[list[bool]] = [json.loads(output) for output in outputs]
    assert [sum(claims) for claims in zip(*won, strict=True)] == [1] * 40
    with closing(open_store(url, state_file="")) as store:
        holders = {turn.session: turn.holder for turn in store.live_turns(user="ann")}
    assert holders == {f"s{n}": str([claims[n] for claims in won].index(True)) for n in range(40)}


@pytest.mark.slow
def test_of_processes_that_take_the_turn_of_a_dead_one_one_gets_it(url: str) -> None:
    with start(_HOLD, url) as holder:
        assert holder.stdout is not None
        for _ in range(5):
            holder.stdout.readline()
        holder.kill()
        holder.stdout.read()
    assert holder.returncode == -signal.SIGKILL
    with closing(open_store(url, state_file="")) as store:
        won: list[str] = []
        dead = None
        while not won:  # A server may still finish the last beat of a process that is dead.
            dead = store.live_turn(user="ann", session="chat")
            assert dead is not None
            outputs = wait_for_all(prepare(_TAKE, url, who, str(dead.beats)) for who in ("one", "two"))
            won = [who for who, output in zip(("one", "two"), outputs, strict=True) if json.loads(output)]
        assert dead is not None
        assert len(won) == 1
        assert store.live_turn(user="ann", session="chat") == replace(dead, holder=won[0], beats=dead.beats + 1)
        assert store.beat_turn(user="ann", session="chat", turn="t1", holder="dead", at=1.0) is None


def test_of_16_threads_that_answer_a_question_one_wins_and_all_see_its_answer(store: StateStore) -> None:
    store.ask_question(make_question())

    def answer(number: int) -> OpenQuestion | None:
        choice = "refuse" if number % 2 else "allow-always"
        return store.answer_question(
            user="ann", session="chat", question="q1", answer=choice, answered_by=str(number), at=float(number)
        )

    with ThreadPoolExecutor(16) as threads:
        seen = set(threads.map(answer, range(16)))
    (winner,) = seen
    assert winner is not None
    number = int(winner.answered_by)
    assert winner == replace(
        make_question(),
        answer="refuse" if number % 2 else "allow-always",
        answered_by=str(number),
        answered_at=float(number),
    )
    assert (store.open_questions(user="ann"), store.find_question(user="ann", session="chat", question="q1")) == (
        (),
        winner,
    )


@pytest.mark.slow
def test_processes_that_answer_the_same_questions_see_the_same_answers(url: str) -> None:
    with closing(open_store(url, state_file="")) as store:
        for n in range(40):
            store.ask_question(make_question(f"q{n}"))
        outputs = wait_for_all(prepare(_ANSWER, url, str(who)) for who in range(4))
        found = [store.find_question(user="ann", session="chat", question=f"q{n}") for n in range(40)]
    winners = [question.answered_by for question in found if question is not None]
    assert [output.split() for output in outputs] == [winners] * 4


def test_threads_that_beat_lose_no_beat(store: StateStore) -> None:
    store.claim_turn(make_live_turn())

    def beat(number: int) -> int:
        beaten = store.beat_turn(user="ann", session="chat", turn="t1", holder="one", at=1.0, draft=str(number))
        assert beaten is not None
        return beaten.beats

    with ThreadPoolExecutor(8) as threads:
        beats = list(threads.map(beat, range(64)))
    assert sorted(beats) == list(range(1, 65))


# Connections that are lost


@pytest.mark.slow
@pytest.mark.parametrize("losses", [[Loss.COMMIT], [Loss.ANSWER], [Loss.COMMIT, Loss.COMMIT, Loss.ANSWER]])
def test_lost_commit_is_done_once_and_answered_truly(postgres_url: str, losses: list[Loss]) -> None:
    with lossy_proxy(postgres_url) as proxy, closing(SqlStore(PostgresDatabase(proxy.url))) as store:
        store.version()
        turn, question = make_live_turn(), make_question()
        proxy.lose(losses)
        assert store.claim_turn(turn)
        proxy.lose(losses)
        beaten = replace(turn, beats=1, draft="{}")
        assert store.beat_turn(user="ann", session="chat", turn="t1", holder="one", at=1.0, draft="{}") == beaten
        proxy.lose(losses)
        assert store.take_turn(user="ann", session="chat", turn="t1", beats=1, holder="two")
        proxy.lose(losses)
        assert store.wish_turn(user="ann", session="chat", turn="t1", wish="cancel")
        for asked in (question, make_question("q2")):
            proxy.lose(losses)
            store.ask_question(asked)
        proxy.lose(losses)
        answered = replace(question, answer="refuse", answered_by="a", answered_at=2.0)
        choice = {"answer": "refuse", "answered_by": "a"}
        assert store.answer_question(user="ann", session="chat", question="q1", **choice, at=2.0) == answered
        proxy.lose(losses)
        store.release_turn(user="ann", session="chat", turn="t1", holder="two")
        assert store.live_turns(user="ann") == (replace(beaten, holder="", beats=3, wish="cancel"),)
        proxy.lose(losses)
        store.end_turn(user="ann", session="chat", turn="t1", holder="", at=3.0)
        proxy.expect_all_lost()
        assert (store.live_turns(user="ann"), store.open_questions(user="ann")) == ((), ())
        withdrawn = store.find_question(user="ann", session="chat", question="q2")
        assert withdrawn == replace(make_question("q2"), answer="nobody", answered_at=3.0)
