"""What a state store promises of questions that wait, wherever it keeps its state."""

from dataclasses import replace

import pytest

from prowess.state.live_turns import OpenQuestion
from prowess.state.opening import open_store
from prowess.state.store import StateStore
from tests.state.values import make_question

_TEXTS = ["'; DROP TABLE questions; --", "a\nb", "技能", "/a\udcff", "a\0b", "\ud83d", "bytes:00"]


def _answer(
    store: StateStore, answer: str = "allow-once", *, by: str = "a", question: str = "q1", at: float = 2.0
) -> OpenQuestion | None:
    return store.answer_question(user="ann", session="chat", question=question, answer=answer, answered_by=by, at=at)


def _find(store: StateStore, question: str = "q1") -> OpenQuestion | None:
    return store.find_question(user="ann", session="chat", question=question)


def test_new_store_knows_no_questions(store: StateStore) -> None:
    assert (_find(store), _answer(store)) == (None, None)
    assert store.open_questions(user="ann") == store.open_questions(user="ann", session="chat") == ()


@pytest.mark.requirement("K1")
def test_question_is_kept_whole_and_seen_and_answered_by_others(shared_store: StateStore, url: str) -> None:
    question = OpenQuestion("ann", "chat", "q1", "t1", '{"files": []}', 1700000000.123456)
    shared_store.ask_question(question)
    other = open_store(url, state_file="")
    assert other.find_question(user="ann", session="chat", question="q1") == _find(shared_store) == question
    assert other.open_questions(user="ann") == (question,)
    assert question.is_open
    answered = _answer(other, "allow-always", by="request-1", at=1700000060.654321)
    assert answered == replace(question, answer="allow-always", answered_by="request-1", answered_at=1700000060.654321)
    assert _find(shared_store) == answered
    assert answered is not None
    assert not answered.is_open
    other.close()


@pytest.mark.parametrize("text", _TEXTS)
def test_any_text_is_kept_as_it_is(store: StateStore, text: str) -> None:
    question = OpenQuestion(text, text, text, text, text, 1.0)
    store.ask_question(question)
    assert store.open_questions(user=text, session=text) == (question,)
    answered = store.answer_question(user=text, session=text, question=text, answer=text, answered_by=text, at=2.0)
    assert answered == replace(question, answer=text, answered_by=text, answered_at=2.0)
    assert store.find_question(user=text, session=text, question=text) == answered


def test_asking_again_is_asking_once(store: StateStore) -> None:
    store.ask_question(make_question())
    store.ask_question(replace(make_question(at=5.0), record="{}"))
    assert store.open_questions(user="ann") == (make_question(),)
    answered = _answer(store)
    store.ask_question(make_question())
    assert (_find(store), store.open_questions(user="ann")) == (answered, ())


@pytest.mark.requirement("K1")
def test_first_answer_counts_and_the_second_is_told_of_it(store: StateStore) -> None:
    store.ask_question(make_question())
    first = replace(make_question(), answer="refuse", answered_by="a", answered_at=2.0)
    assert _answer(store, "refuse", by="a", at=2.0) == first
    assert _answer(store, "allow-always", by="b", at=3.0) == first
    assert _answer(store, "refuse", by="a", at=4.0) == first
    assert _find(store) == first


def test_answer_is_bound_to_its_question(store: StateStore) -> None:
    others = (make_question("q2"), make_question(session="other"))
    for question in (make_question(), *others, make_question(user="bob")):
        store.ask_question(question)
    _answer(store)
    assert _answer(store, question="q3") is None
    assert store.open_questions(user="ann") == others
    assert store.open_questions(user="bob") == (make_question(user="bob"),)


def test_open_questions_are_listed_oldest_first_by_session(store: StateStore) -> None:
    questions = [
        make_question(id_, session=session, at=at)
        for id_, session, at in (("q9", "b", 1.0), ("q1", "a", 2.0), ("q2", "a", 2.0), ("q0", "b", 2.0))
    ]
    for question in reversed(questions):
        store.ask_question(question)
    assert store.open_questions(user="ann") == tuple(questions)
    assert store.open_questions(user="ann", session="a") == tuple(questions[1:3])
    assert store.open_questions(user="ann", session="") == ()
