"""What a state store promises of turns under way, wherever it keeps its state."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from prowess.state.live_turns import LiveTurn
from prowess.state.opening import open_store
from prowess.state.store import StateStore
from tests.state.values import make_events, make_live_turn, make_question, make_session

_TEXTS = ["'; DROP TABLE live_turns; --", "a\nb", "技能", "/a\udcff", "a\0b", "\ud83d", "bytes:00"]


def _beat(store: StateStore, holder: str = "one", *, draft: str | None = None) -> LiveTurn | None:
    return store.beat_turn(user="ann", session="chat", turn="t1", holder=holder, at=1.0, draft=draft)


def _take(store: StateStore, holder: str = "two", *, beats: int = 0, turn: str = "t1") -> bool:
    return store.take_turn(user="ann", session="chat", turn=turn, beats=beats, holder=holder)


def _release(store: StateStore, holder: str = "one") -> None:
    store.release_turn(user="ann", session="chat", turn="t1", holder=holder)


def _end(store: StateStore, turn: str = "t1", *, at: float = 2.0) -> None:
    """End a turn, as its holder does."""
    found = _find(store)
    store.end_turn(user="ann", session="chat", turn=turn, holder=found.holder if found else "", at=at)


def _wish(store: StateStore, wish: str = "cancel", *, turn: str = "t1") -> bool:
    return store.wish_turn(user="ann", session="chat", turn=turn, wish=wish)


def _find(store: StateStore) -> LiveTurn | None:
    return store.live_turn(user="ann", session="chat")


def test_new_store_knows_no_live_turns(store: StateStore) -> None:
    assert (_find(store), store.live_turns(user="ann")) == (None, ())
    assert (_beat(store), _take(store), _wish(store)) == (None, False, False)
    _release(store)
    _end(store)
    assert store.live_turns(user="ann") == ()


def test_turn_is_kept_whole_and_seen_by_others(shared_store: StateStore, url: str) -> None:
    turn = LiveTurn("ann", "chat", "t1", "Fill in", "small", "one", 1 << 40, 1700000000.123456, 5.5, "{}", "x")
    assert shared_store.claim_turn(turn)
    other = open_store(url, state_file="")
    assert other.live_turn(user="ann", session="chat") == _find(shared_store) == turn
    assert other.live_turns(user="ann") == (turn,)
    other.close()


@pytest.mark.parametrize("text", _TEXTS)
def test_any_text_is_kept_as_it_is(store: StateStore, text: str) -> None:
    turn = LiveTurn(text, text, text, text, text, text, 0, 1.0, 1.0, text, text)
    assert [store.claim_turn(turn), store.claim_turn(turn)] == [True, True]
    beaten = store.beat_turn(user=text, session=text, turn=text, holder=text, at=1.0, draft=text + text)
    assert beaten == replace(turn, beats=1, draft=text + text)
    assert store.take_turn(user=text, session=text, turn=text, beats=1, holder=text)
    assert store.wish_turn(user=text, session=text, turn=text, wish=text)
    store.release_turn(user=text, session=text, turn=text, holder=text)
    assert store.live_turns(user=text) == (replace(turn, holder="", beats=3, draft=text + text),)
    store.end_turn(user=text, session=text, turn=text, holder="", at=1.0)
    assert store.live_turns(user=text) == ()


def test_session_has_one_turn_at_a_time(store: StateStore) -> None:
    assert store.claim_turn(make_live_turn())
    others = [make_live_turn("t2"), make_live_turn("t2", holder="two"), make_live_turn(holder="two")]
    assert [store.claim_turn(other) for other in others] == [False] * 3
    _release(store)
    assert not store.claim_turn(make_live_turn("t2", holder="two"))
    assert _find(store) == replace(make_live_turn(), holder="", beats=1)
    _end(store)
    assert store.claim_turn(make_live_turn("t2", holder="two"))
    assert _find(store) == make_live_turn("t2", holder="two")


def test_claiming_again_changes_nothing(store: StateStore) -> None:
    assert store.claim_turn(make_live_turn())
    beaten = _beat(store, draft="{}")
    assert store.claim_turn(replace(make_live_turn(), message="another", begun_at=9.0))
    assert _find(store) == beaten


def test_turns_are_listed_in_the_order_of_their_beginning(store: StateStore) -> None:
    turns = [make_live_turn(session=session, at=at) for session, at in (("b", 1.0), ("c", 1.0), ("a", 2.0))]
    for turn in reversed(turns):
        assert store.claim_turn(turn)
    assert store.live_turns(user="ann") == tuple(turns)


@pytest.mark.requirement("R91")
def test_turns_of_other_sessions_and_users_are_others(store: StateStore) -> None:
    own, of_session, of_bob = make_live_turn(), make_live_turn(session="other", at=2.0), make_live_turn(user="bob")
    assert [store.claim_turn(turn) for turn in (own, of_session, of_bob)] == [True] * 3
    _beat(store, draft="{}")
    assert _take(store, beats=1)
    _wish(store)
    _release(store, "two")
    assert (store.live_turns(user="ann")[1], store.live_turns(user="bob")) == (of_session, (of_bob,))
    _end(store)
    assert (store.live_turns(user="ann"), store.live_turns(user="bob")) == ((of_session,), (of_bob,))


# Signs of life


def test_beats_grow_and_a_draft_stays_until_there_is_a_new_one(store: StateStore) -> None:
    turn = make_live_turn()
    store.claim_turn(turn)
    beaten = [_beat(store, draft=draft) for draft in (None, "[1]", None, "[2]", "")]
    drafts = ("", "[1]", "[1]", "[2]", "")
    assert beaten == [replace(turn, beats=beats, draft=draft) for beats, draft in enumerate(drafts, 1)]
    assert _find(store) == beaten[-1]


def test_moment_of_the_last_beat_is_kept(store: StateStore) -> None:
    store.claim_turn(make_live_turn())
    store.beat_turn(user="ann", session="chat", turn="t1", holder="one", at=7.5)
    assert _find(store) == replace(make_live_turn(), beats=1, beat_at=7.5)


def test_former_holder_cannot_end_a_turn_that_another_has_taken(store: StateStore) -> None:
    store.claim_turn(make_live_turn())
    store.ask_question(make_question())
    assert _take(store)
    store.end_turn(user="ann", session="chat", turn="t1", holder="one", at=2.0)
    assert _find(store) == replace(make_live_turn(holder="two"), beats=1)
    assert len(store.open_questions(user="ann")) == 1
    _end(store)
    assert (_find(store), store.open_questions(user="ann")) == (None, ())


def test_holder_hears_of_a_wish_with_its_next_beat(store: StateStore) -> None:
    store.claim_turn(make_live_turn())
    assert [_wish(store), _wish(store), _wish(store, turn="t2")] == [True, True, False]
    assert _beat(store) == replace(make_live_turn(), beats=1, wish="cancel")
    assert _take(store, beats=1)
    assert _beat(store, "two") == replace(make_live_turn(holder="two"), beats=3, wish="cancel")
    assert _wish(store, "")
    assert _beat(store, "two") == replace(make_live_turn(holder="two"), beats=4)


def test_beat_of_a_former_holder_or_a_former_turn_is_none_and_changes_nothing(store: StateStore) -> None:
    store.claim_turn(make_live_turn())
    assert _take(store)
    assert _beat(store, draft="late") is None
    assert _find(store) == replace(make_live_turn(holder="two"), beats=1)
    _end(store)
    assert _beat(store, "two") is None
    store.claim_turn(make_live_turn("t2", holder="two"))
    assert _beat(store, "two", draft="late") is None
    assert _find(store) == make_live_turn("t2", holder="two")


# Taking over


def test_turn_whose_holder_is_silent_is_taken_once(store: StateStore) -> None:
    store.claim_turn(make_live_turn())
    assert _beat(store, draft="{}") is not None
    assert [_take(store, "two", beats=1), _take(store, "three", beats=1)] == [True, False]
    assert _find(store) == replace(make_live_turn(holder="two"), beats=2, draft="{}")


def test_turn_that_has_given_a_sign_of_life_is_not_taken(store: StateStore) -> None:
    store.claim_turn(make_live_turn())
    _beat(store)
    assert [_take(store, beats=beats) for beats in (0, 2)] == [False, False]
    assert not _take(store, beats=1, turn="t2")
    assert _find(store) == replace(make_live_turn(), beats=1)


def test_taking_again_is_taking_once(store: StateStore) -> None:
    store.claim_turn(make_live_turn())
    assert [_take(store), _take(store)] == [True, True]
    assert _find(store) == replace(make_live_turn(holder="two"), beats=1)
    _beat(store, "two")
    assert not _take(store)


def test_released_turn_is_anybodys(store: StateStore) -> None:
    store.claim_turn(make_live_turn())
    for _ in range(2):
        _release(store)
        assert _find(store) == replace(make_live_turn(holder=""), beats=1)
    assert _beat(store) is None
    assert [_take(store, "two", beats=1), _take(store, "three", beats=1)] == [True, False]
    _release(store, "one")
    assert _find(store) == replace(make_live_turn(holder="two"), beats=2)


# The end


def test_ending_twice_is_ending_once_and_leaves_another_turn_alone(store: StateStore) -> None:
    store.claim_turn(make_live_turn())
    _end(store, "t2")
    assert _find(store) == make_live_turn()
    for _ in range(2):
        _end(store)
        assert _find(store) is None
    store.claim_turn(make_live_turn("t2"))
    _end(store)
    assert _find(store) == make_live_turn("t2")


def test_end_withdraws_the_questions_of_the_turn_that_have_no_answer(store: StateStore) -> None:
    store.claim_turn(make_live_turn())
    questions = [make_question("q1"), make_question("q2"), make_question("q3", turn="t2")]
    for question in (*questions, make_question(session="other"), make_question(user="bob")):
        store.ask_question(question)
    answered = store.answer_question(
        user="ann", session="chat", question="q1", answer="refuse", answered_by="a", at=1.5
    )
    for at in (2.0, 3.0):
        _end(store, at=at)
        found = [store.find_question(user="ann", session="chat", question=one.id) for one in questions]
        assert found == [answered, replace(questions[1], answer="nobody", answered_at=2.0), questions[2]]
    assert store.open_questions(user="ann") == (questions[2], make_question(session="other"))
    assert store.open_questions(user="bob") == (make_question(user="bob"),)


# Forgetting


@pytest.mark.requirement("R91")
@pytest.mark.parametrize("events", [(), make_events(1, 2)])
def test_forgotten_conversation_takes_its_turn_and_its_questions(store: StateStore, events: tuple[()]) -> None:
    """Also before anything of it stands in the log."""
    store.append_events(user="ann", session="chat", events=events)
    for user, session in (("ann", "chat"), ("ann", "other"), ("bob", "chat")):
        store.claim_turn(make_live_turn(user=user, session=session))
        store.ask_question(make_question(user=user, session=session))
    store.ask_question(make_question("q2"))
    store.answer_question(user="ann", session="chat", question="q2", answer="refuse", answered_by="a", at=1.0)
    known = [store.forget_conversation(user="ann", session="chat") for _ in range(2)]
    assert known == [bool(events), False]
    assert store.live_turns(user="ann") == (make_live_turn(session="other"),)
    assert store.open_questions(user="ann") == (make_question(session="other"),)
    assert store.find_question(user="ann", session="chat", question="q2") is None
    assert (store.live_turns(user="bob"), store.open_questions(user="bob")) == (
        (make_live_turn(user="bob"),),
        (make_question(user="bob"),),
    )


@pytest.mark.requirement("R91")
def test_forgetting_receipts_takes_turns_that_began_before_and_questions_that_nobody_waits_with(
    store: StateStore,
) -> None:
    for user in ("ann", "bob"):
        for session, at in (("dead", 1.0), ("new", 3.0)):
            store.claim_turn(make_live_turn(user=user, session=session, at=at))
            for question, asked_at in (("answered", 2.0), ("open", 2.0), ("late", 3.0)):
                store.ask_question(make_question(question, user=user, session=session, at=asked_at))
            store.answer_question(
                user=user, session=session, question="answered", answer="refuse", answered_by="a", at=4.0
            )
    assert [store.forget_receipts(user="ann", before=3.0) for _ in range(2)] == [0, 0]
    assert [turn.session for turn in store.live_turns(user="ann")] == ["new"]
    ids = ("answered", "open", "late")
    kept = [
        [store.find_question(user="ann", session=session, question=id_) is not None for id_ in ids]
        for session in ("dead", "new")
    ]
    assert kept == [[False, False, True], [False, True, True]]
    assert (len(store.live_turns(user="bob")), len(store.open_questions(user="bob"))) == (2, 4)


# What they are not


def test_live_turns_are_no_decisions_and_make_no_session(store: StateStore) -> None:
    store.trust("/a", user="ann")
    before = store.version()
    steps: list[Callable[[], object]] = [
        lambda: store.claim_turn(make_live_turn()),
        lambda: _beat(store, draft="{}"),
        lambda: _take(store, beats=1),
        lambda: _wish(store),
        lambda: store.ask_question(make_question()),
        lambda: store.answer_question(
            user="ann", session="chat", question="q1", answer="refuse", answered_by="a", at=2.0
        ),
        lambda: _release(store, "two"),
        lambda: _end(store),
    ]
    for step in steps:
        step()
    assert (store.version(), store.sessions(user="ann"), store.conversations(user="ann")) == (before, (), ())


def test_turn_outlives_the_end_of_its_session(store: StateStore) -> None:
    store.open_session(make_session())
    store.claim_turn(make_live_turn())
    store.end_session(user="ann", session="chat", at=2.0)
    assert _beat(store) == replace(make_live_turn(), beats=1)
