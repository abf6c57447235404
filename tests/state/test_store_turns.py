"""What a state store promises of turns, wherever it keeps its state."""

from dataclasses import replace

import pytest

from prowess.state.conversations import ModelUsage, Outcome, TokenUse, TurnReceipt
from prowess.state.opening import open_store
from prowess.state.store import StateStore
from tests.state.values import end_turn, make_session, make_turn


def test_new_store_knows_no_turns(store: StateStore) -> None:
    assert store.turns(user="ann") == store.turns(user="ann", session="chat", parent="t1") == ()
    assert store.model_usage(user="ann") == ()


def test_turn_is_kept_whole(shared_store: StateStore, url: str) -> None:
    fork = TurnReceipt(
        id="f1",
        user="ann",
        session="fork-1",
        model="anthropic:x",
        agent="main",
        at=1700000000.123456,
        ended_at=1700000060.654321,
        outcome=Outcome.STOPPED,
        steps=50,
        calls=49,
        use=TokenUse(51, 1 << 40, 1 << 33, 1 << 39, 12.345678),
        parent="t1",
        skill="core:deploy",
        name="deploy",
        digest="d1",
        permissions=("@network", "@read:/a\udcff", "\0"),
        granted_by="deploy Skill",
    )
    shared_store.record_turn(fork)
    other = open_store(url, state_file="")
    assert other.turns(user="ann") == shared_store.turns(user="ann") == (fork,)
    other.close()


@pytest.mark.parametrize("text", ["'; DROP TABLE turns; --", "a\nb", "技能", "/a\udcff", "a\0b", "\ud83d", "bytes:00"])
def test_any_text_is_kept_as_it_is(store: StateStore, text: str) -> None:
    turn = TurnReceipt(text, text, text, text, text, 1.0, parent=text, skill=text, name=text, digest=text)
    turn = end_turn(replace(turn, permissions=(text, ""), granted_by=text))
    store.record_turn(turn)
    assert store.turns(user=text, session=text, parent=text) == (turn,)
    assert store.model_usage(user=text) == (ModelUsage(text, 0, 1, turn.use),)


@pytest.mark.parametrize("outcome", Outcome)
def test_turn_is_there_from_its_beginning_and_once_after_its_end(store: StateStore, outcome: Outcome) -> None:
    begun = make_turn()
    for turn in (begun, begun, end_turn(begun, outcome=outcome), end_turn(begun, outcome=outcome)):
        store.record_turn(turn)
        assert store.turns(user="ann") == (turn,)


def test_turn_that_has_ended_stays_so(store: StateStore) -> None:
    store.record_turn(end_turn(make_turn()))
    store.record_turn(make_turn())
    assert store.turns(user="ann") == (end_turn(make_turn()),)


def test_recording_again_replaces_what_was_not_known_at_the_beginning(store: StateStore) -> None:
    fork = make_turn("f1", parent="t1")
    store.record_turn(TurnReceipt("f1", "ann", "chat", "", at=0.5))
    store.record_turn(end_turn(fork))
    assert store.turns(user="ann") == (end_turn(fork),)


@pytest.mark.requirement("R91")
def test_turns_of_one_id_in_other_sessions_and_of_other_users_are_others(store: StateStore) -> None:
    own, of_session, of_bob = make_turn(), make_turn(session="other", at=2.0), make_turn(user="bob")
    for turn in (own, of_session, of_bob, end_turn(own)):
        store.record_turn(turn)
    assert (store.turns(user="ann"), store.turns(user="bob")) == ((of_session, end_turn(own)), (of_bob,))


def test_turns_are_listed_newest_first_by_session_and_parent_up_to_a_limit(store: StateStore) -> None:
    for number in range(4):
        store.record_turn(make_turn(f"t{number}", session="ab"[number % 2], at=float(number)))
        store.record_turn(make_turn(f"f{number}", session=f"fork-{number}", parent="t2", at=number + 0.5))
    store.record_turn(make_turn("of-bob", user="bob", session="a", parent="t2"))
    listed = {
        "all": store.turns(user="ann"),
        "some": store.turns(user="ann", limit=2),
        "of a": store.turns(user="ann", session="a"),
        "forks of t2": store.turns(user="ann", parent="t2"),
        "no forks": store.turns(user="ann", parent=""),
        "one fork": store.turns(user="ann", session="fork-1", parent="t2"),
        "of nobody": store.turns(user="ann", session="", parent="t9"),
    }
    assert {name: [turn.id for turn in turns] for name, turns in listed.items()} == {
        "all": ["f3", "t3", "f2", "t2", "f1", "t1", "f0", "t0"],
        "some": ["f3", "t3"],
        "of a": ["t2", "t0"],
        "forks of t2": ["f3", "f2", "f1", "f0"],
        "no forks": ["t3", "t2", "t1", "t0"],
        "one fork": ["f1"],
        "of nobody": [],
    }


def test_turns_outlive_their_session_and_make_none(store: StateStore) -> None:
    store.open_session(make_session())
    store.record_turn(make_turn())
    store.end_session(user="ann", session="chat", at=2.0)
    store.record_turn(end_turn(make_turn()))
    assert (store.turns(user="ann"), store.sessions(user="ann")) == ((end_turn(make_turn()),), ())


# What they add up to


def test_usage_of_models_counts_turns_forks_and_tokens(store: StateStore) -> None:
    turns = [
        end_turn(make_turn("t1", model="small"), tokens=100, cost_usd=0.25),
        end_turn(make_turn("t2", model="small", at=2.0), tokens=200),
        end_turn(make_turn("f1", model="small", session="fork", parent="t1"), tokens=300, cost_usd=0.5),
        end_turn(make_turn("t3", model="large"), tokens=5_000),
        make_turn("t4", model="large", at=3.0),
        end_turn(make_turn("f2", model="of forks only", session="fork", parent="t4"), tokens=0, cost_usd=0.0),
        end_turn(make_turn("t5", model="of nothing"), tokens=0),
        end_turn(make_turn("of-bob", user="bob", model="small"), tokens=9_999),
    ]
    for turn in turns:
        store.record_turn(make_turn(turn.id, user=turn.user, session=turn.session, model="?", at=turn.at))
        store.record_turn(turn)
    assert store.model_usage(user="ann") == (
        ModelUsage("large", 2, 0, TokenUse(2, 5_000, 500, 2_500, None)),
        ModelUsage("small", 2, 1, TokenUse(6, 600, 60, 300, 0.75)),
        ModelUsage("of forks only", 0, 1, TokenUse(2, 0, 0, 0, 0.0)),
        ModelUsage("of nothing", 1, 0, TokenUse(2, 0, 0, 0, None)),
    )


def test_usage_is_the_sum_of_what_the_receipts_say(store: StateStore) -> None:
    turns = [end_turn(make_turn(f"t{n}"), tokens=n, cost_usd=n / 8 if n % 3 else None) for n in range(20)]
    for turn in turns:
        store.record_turn(turn)
    assert store.model_usage(user="ann") == (ModelUsage("offline", 20, 0, sum((t.use for t in turns), TokenUse())),)


def test_usage_of_models_since_a_moment_counts_turns_that_began_since(store: StateStore) -> None:
    for number in (1, 2, 3):
        store.record_turn(end_turn(make_turn(f"t{number}", at=float(number)), tokens=10 * number))
    counted = [[(one.turns, one.use.input_tokens) for one in store.model_usage(user="ann", since=s)] for s in (0, 2, 4)]
    assert counted == [[(3, 60)], [(2, 50)], []]


# Forgetting


@pytest.mark.requirement("R91")
def test_forgetting_takes_turns_that_began_before_and_none_of_another_user(store: StateStore) -> None:
    turns = [
        make_turn("t1", at=1.0),
        end_turn(make_turn("t2", at=2.0)),
        make_turn("t3", at=3.0),
        end_turn(make_turn("t4", at=4.0)),
    ]
    for turn in turns:
        store.record_turn(turn)
        store.record_turn(replace(turn, user="bob"))
    assert store.forget_receipts(user="ann", before=3.0) == 0
    assert store.turns(user="ann") == (turns[3], turns[2])
    assert len(store.turns(user="bob")) == 4
