"""What a state store promises of conversations, wherever it keeps its state."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from prowess.state.conversations import ConversationRecord, LoggedEvent
from prowess.state.opening import open_store
from prowess.state.store import StateStore
from tests.state.values import end_run, make_event, make_events, make_receipt, make_run, make_session, make_turn

_TITLE = "Fill in the form"
_ODD_TEXTS = ["'; DROP TABLE events; --", "a\nb", "技能", "%_\\ ?", "/a\udcff", "a\0b", "\ud83d", "bytes:00", "utf-16:"]


def _append(
    store: StateStore, events: Sequence[LoggedEvent], *, user: str = "ann", session: str = "chat", model: str = ""
) -> bool:
    return store.append_events(user=user, session=session, events=events, model=model)


def _log(store: StateStore, *, user: str = "ann", session: str = "chat") -> tuple[LoggedEvent, ...]:
    """Return the whole log, of which the last number is known too."""
    events = store.events(user=user, session=session)
    assert store.last_event(user=user, session=session) == len(events)
    return events


def _ids(store: StateStore, *, user: str = "ann") -> list[str]:
    return [conversation.id for conversation in store.conversations(user=user)]


def test_new_store_knows_no_conversations(store: StateStore) -> None:
    assert (store.conversations(user="ann"), _log(store)) == ((), ())
    assert not store.name_conversation(user="ann", session="chat", title="x")
    assert not store.forget_conversation(user="ann", session="chat")


# The log


def test_conversation_comes_into_being_with_its_first_event(shared_store: StateStore, url: str) -> None:
    begun = LoggedEvent(1, "t1", "begun", '{"event":"begun","message":"Hello"}', 1700000000.123456)
    inner = LoggedEvent(2, "t1", "begun", '{"event":"begun","message":"Deploy"}', 1700000001.5, "fork-1")
    assert _append(shared_store, [begun, inner], model="anthropic:x")
    other = open_store(url, state_file="")
    record = ConversationRecord("ann", "chat", "Hello", "anthropic:x", 1700000000.123456, 1700000001.5, 1)
    assert (_log(other), other.conversations(user="ann")) == ((begun, inner), (record,))
    other.close()


def test_turns_are_recorded_with_the_events_whatever_becomes_of_these(store: StateStore) -> None:
    first, second = make_turn("t1"), make_turn("t2")
    assert store.append_events(user="ann", session="chat", events=make_events(1, 2), turns=[first])
    assert not store.append_events(user="ann", session="chat", events=make_events(9, 9), turns=[second])
    assert store.append_events(user="ann", session="chat", events=[], turns=[second])
    assert (len(_log(store)), set(store.turns(user="ann"))) == (2, {first, second})


def test_turn_that_somebody_else_has_resumed_is_not_recorded_by_its_former_holder(store: StateStore) -> None:
    resumed = LoggedEvent(3, "t1", "resumed", '{"event":"resumed","id":"1"}', 3.0)
    assert _append(store, make_events(1, 2, turn="t1"))
    assert _append(store, [resumed])
    late, other = make_turn("t1"), make_turn("t2")
    assert not store.append_events(user="ann", session="chat", events=make_events(3, 4, turn="t1"), turns=[late, other])
    assert (_log(store)[-1], store.turns(user="ann")) == (resumed, (other,))
    assert store.append_events(user="ann", session="chat", events=make_events(4, 4, turn="t1"), turns=[late])
    assert set(store.turns(user="ann")) == {late, other}


def test_events_are_appended_in_their_order(store: StateStore) -> None:
    assert _append(store, make_events(1, 2, turn="t1"))
    assert _append(store, make_events(3, 3, turn="t2"))
    assert _append(store, make_events(4, 250, turn="t3"))
    assert _log(store) == make_events(1, 2, turn="t1") + make_events(3, 3, turn="t2") + make_events(4, 250, turn="t3")
    assert store.conversations(user="ann")[0].turns == 3


def test_nothing_appended_is_nothing_changed(store: StateStore) -> None:
    assert _append(store, [], model="x")
    assert store.conversations(user="ann") == ()
    _append(store, make_events(1, 2))
    before = store.conversations(user="ann")
    assert _append(store, [], model="x")
    assert store.conversations(user="ann") == before


@pytest.mark.parametrize(
    "numbers", [[4], [5], [9, 10], [3, 5], [3, 3], [4, 3], [0], [0, 1], [-1, 0], [2, 3, 5], [1, 3]], ids=str
)
def test_number_that_leaves_a_gap_is_refused_and_nothing_is_written(store: StateStore, numbers: list[int]) -> None:
    _append(store, make_events(1, 2))
    before = store.conversations(user="ann")
    assert not _append(store, [make_event(number, turn="t2", at=9.0) for number in numbers], model="other")
    assert (_log(store), store.conversations(user="ann")) == (make_events(1, 2), before)


@pytest.mark.parametrize("number", [0, 2, 100])
def test_conversation_begins_with_number_1_or_not_at_all(store: StateStore, number: int) -> None:
    assert not _append(store, [make_event(number)])
    assert (_log(store), store.conversations(user="ann")) == ((), ())


@pytest.mark.parametrize(
    "other",
    [
        make_event(2, kind="answer", turn="t2"),
        make_event(2, kind="result"),
        make_event(2, kind="answer", message="Something else"),
    ],
    ids=["turn", "kind", "data"],
)
@pytest.mark.parametrize(("before", "after"), [(0, 0), (1, 0), (0, 1), (1, 1), (0, 3), (1, 9)])
def test_number_that_another_event_has_is_refused_and_nothing_is_written(
    store: StateStore, other: LoggedEvent, before: int, after: int
) -> None:
    events = make_events(1, 3)
    _append(store, events, model="one")
    known = store.conversations(user="ann")
    wanted = [*events[:1][:before], other, *(make_event(3 + n, kind="answer", at=9.0) for n in range(after))]
    assert not _append(store, wanted, model="other")
    assert (_log(store), store.conversations(user="ann")) == (events, known)


@pytest.mark.parametrize(("first", "last"), [(1, 5), (1, 1), (1, 3), (2, 4), (5, 5)])
def test_same_events_again_are_a_yes_and_change_nothing(store: StateStore, first: int, last: int) -> None:
    events = make_events(1, 5)
    _append(store, events, model="one")
    known = store.conversations(user="ann")
    again = [replace(event, at=event.at + 7.0) for event in events[first - 1 : last]]
    assert _append(store, again, model="other")
    assert (_log(store), store.conversations(user="ann")) == (events, known)


@pytest.mark.parametrize("first", [1, 2, 3])
def test_new_events_behind_some_that_are_there_are_appended(store: StateStore, first: int) -> None:
    """The answer to an earlier call was lost, and more has happened meanwhile."""
    events = make_events(1, 3) + make_events(4, 6, turn="t2", at=5.0)
    _append(store, events[:3], model="one")
    assert _append(store, events[first - 1 :], model="two")
    assert _log(store) == events
    assert store.conversations(user="ann") == (ConversationRecord("ann", "chat", _TITLE, "two", 1.0, 5.0, 2),)


def test_events_are_read_after_a_number_and_up_to_a_limit(store: StateStore) -> None:
    events = make_events(1, 9)
    _append(store, events)
    read = {
        "after": store.events(user="ann", session="chat", after=6),
        "some": store.events(user="ann", session="chat", limit=2),
        "both": store.events(user="ann", session="chat", after=3, limit=3),
        "end": store.events(user="ann", session="chat", after=9),
        "beyond": store.events(user="ann", session="chat", after=99),
    }
    assert read == {"after": events[6:], "some": events[:2], "both": events[3:6], "end": (), "beyond": ()}


@pytest.mark.requirement("R91")
def test_logs_of_sessions_and_users_are_apart(store: StateStore) -> None:
    for user, session, last in (("ann", "a", 1), ("ann", "b", 2), ("bob", "a", 3)):
        assert _append(store, make_events(1, last), user=user, session=session)
    assert [len(_log(store, session=session)) for session in ("a", "b", "c")] == [1, 2, 0]
    assert (len(_log(store, user="bob", session="a")), sorted(_ids(store)), _ids(store, user="bob")) == (
        3,
        ["a", "b"],
        ["a"],
    )
    assert store.forget_conversation(user="ann", session="a")
    assert (_log(store, session="a"), len(_log(store, user="bob", session="a")), _ids(store)) == ((), 3, ["b"])


@pytest.mark.parametrize("text", _ODD_TEXTS)
def test_any_text_is_kept_as_it_is(store: StateStore, text: str) -> None:
    first = make_event(1, kind=text, turn=text, message=text)
    events = (first, LoggedEvent(2, text, "begun", text, 2.0, text))
    for _ in range(2):
        assert store.append_events(user=text, session=text, events=events, model=text)
    assert not store.append_events(user=text, session=text, events=[replace(events[1], data=text + "x")])
    assert _log(store, user=text, session=text) == events
    (record,) = store.conversations(user=text)
    assert (record.user, record.id, record.model, record.turns) == (text, text, text, 0)
    assert store.name_conversation(user=text, session=text, title=text)
    assert store.forget_conversation(user=text, session=text)


def test_long_events_are_kept_whole(store: StateStore) -> None:
    events = [make_event(1, message="技" * 1_000_000), make_event(2, kind="answer", message="\0" * 100_000)]
    assert _append(store, events)
    assert _log(store) == tuple(events)


# The list


def test_conversations_are_listed_by_their_last_use(store: StateStore) -> None:
    for session, at in (("a", 1.0), ("b", 3.0), ("c", 2.0)):
        _append(store, [make_event(at=at)], session=session)
    assert _ids(store) == ["b", "c", "a"]
    _append(store, [make_event(2, at=4.0)], session="a")
    assert _ids(store) == ["a", "b", "c"]
    assert [one.id for one in store.conversations(user="ann", limit=2)] == ["a", "b"]


def test_conversation_is_found_by_its_id_and_owner(store: StateStore) -> None:
    _append(store, make_events(1, 3), session="first")
    assert store.find_conversation(user="ann", session="first") == store.conversations(user="ann")[0]
    assert store.find_conversation(user="ann", session="second") is None
    assert store.find_conversation(user="bob", session="first") is None


def test_conversation_never_goes_back_in_time(store: StateStore) -> None:
    _append(store, [make_event(1, at=5.0), make_event(2, at=9.0), make_event(3, at=7.0)])
    _append(store, [make_event(4, at=6.0)])
    (record,) = store.conversations(user="ann")
    assert (record.created_at, record.used_at) == (5.0, 9.0)


def test_model_is_that_which_was_given_last(store: StateStore) -> None:
    models = ["", "one", "", "two", ""]
    for number, model in enumerate(models, 1):
        _append(store, [make_event(number)], model=model)
        (record,) = store.conversations(user="ann")
        assert record.model == next((one for one in reversed(models[:number]) if one), "")


def test_turns_of_forks_are_not_turns_of_the_conversation(store: StateStore) -> None:
    _append(store, [make_event(1), make_event(2, within="f1"), make_event(3, kind="answer"), make_event(4)])
    _append(store, [make_event(5, within="f2"), make_event(6, turn="t2")])
    assert store.conversations(user="ann")[0].turns == 3


# Titles


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Fill in the form", "Fill in the form"),
        ("\n\n  Fill  in\tthe form \r\nand send it", "Fill in the form"),
        ("\u202eevil\x1b[31m", "\\u202eevil\\x1b[31m"),
        ("a\0b\ud83d", "a\\x00b\\ud83d"),
        ("技" * 80, "技" * 80),
        ("技" * 81, "技" * 79 + "…"),
        ("word " * 9_999, "word " * 15 + "word…"),
        ("\x1b" * 30, "\\x1b" * 19 + "\\x1…"),
        ("   ", ""),
        ("", ""),
    ],
)
def test_title_is_the_first_line_of_the_first_message(store: StateStore, message: str, title: str) -> None:
    _append(store, [make_event(1, message=message)])
    assert store.conversations(user="ann")[0].title == title


@pytest.mark.parametrize(
    "data", ["", "{", "[]", '"text"', "{}", '{"message":7}', '{"message":null}', "[" * 100_000, "\0", "\ud83d"]
)
def test_event_without_a_message_gives_no_title(store: StateStore, data: str) -> None:
    assert _append(store, [LoggedEvent(1, "t1", "begun", data)])
    assert (store.conversations(user="ann")[0].title, _log(store)[0].data) == ("", data)


def test_title_is_that_of_the_first_turn_and_not_of_a_fork(store: StateStore) -> None:
    _append(store, [make_event(1, kind="notice", message="a"), make_event(2, message="b", within="f1")])
    assert store.conversations(user="ann")[0].title == ""
    _append(store, [make_event(3, message="c"), make_event(4, message="d")])
    _append(store, [make_event(5, message="e")])
    assert store.conversations(user="ann")[0].title == "c"


def test_given_title_is_kept_until_it_is_taken_back(shared_store: StateStore, url: str) -> None:
    _append(shared_store, make_events(1, 2))
    titles: list[str] = []
    for given in ("Taxes", "  Taxes\n2026", "x" * 99, "a\0\ud83d", " \n"):
        assert shared_store.name_conversation(user="ann", session="chat", title=given)
        other = open_store(url, state_file="")
        titles.append(other.conversations(user="ann")[0].title)
        other.close()
    assert titles == ["Taxes", "Taxes", "x" * 79 + "…", "a\\x00\\ud83d", _TITLE]


def test_naming_is_no_use_and_leaves_other_conversations(store: StateStore) -> None:
    for session, at in (("a", 1.0), ("b", 2.0)):
        _append(store, [make_event(at=at)], session=session)
    assert not store.name_conversation(user="bob", session="a", title="x")
    assert store.name_conversation(user="ann", session="a", title="x")
    assert store.conversations(user="ann") == (
        ConversationRecord("ann", "b", _TITLE, "", 2.0, 2.0, 1),
        ConversationRecord("ann", "a", "x", "", 1.0, 1.0, 1),
    )
    _append(store, [make_event(2, message="later")], session="a")
    assert {one.title for one in store.conversations(user="ann")} == {"x", _TITLE}


# Forgetting


@pytest.mark.requirement("R91")
def test_forgotten_conversation_leaves_receipts_and_can_begin_anew(store: StateStore) -> None:
    store.open_session(make_session())
    receipt = store.activate(make_receipt())
    store.record_run(end_run(make_run()))
    store.record_turn(make_turn())
    _append(store, make_events(1, 300), model="one")
    store.name_conversation(user="ann", session="chat", title="Taxes")
    assert [store.forget_conversation(user="ann", session="chat") for _ in range(2)] == [True, False]
    assert (_log(store), store.conversations(user="ann")) == ((), ())
    assert (store.receipts(user="ann"), store.runs(user="ann")) == ((receipt,), (end_run(make_run()),))
    assert store.turns(user="ann") == (make_turn(),)
    assert not _append(store, make_events(301, 302))
    assert _append(store, make_events(1, 2, at=5.0))
    assert store.conversations(user="ann") == (ConversationRecord("ann", "chat", _TITLE, "", 5.0, 5.0, 1),)


def test_conversation_outlives_its_session_and_makes_none(store: StateStore) -> None:
    store.open_session(make_session())
    _append(store, make_events(1, 2))
    store.end_session(user="ann", session="chat", at=2.0)
    assert (_log(store), store.sessions(user="ann")) == (make_events(1, 2), ())
    assert _append(store, make_events(3, 4, turn="t2"))
    assert (len(_log(store)), store.sessions(user="ann")) == (4, ())


@pytest.mark.requirement("R91")
def test_forgetting_receipts_takes_conversations_not_used_since_and_none_of_another_user(store: StateStore) -> None:
    for user in ("ann", "bob"):
        for session, at in (("old", 1.0), ("older", 0.5), ("used", 1.0), ("new", 3.0)):
            _append(store, make_events(1, 3, at=at), user=user, session=session)
        _append(store, make_events(4, 4, at=3.0), user=user, session="used")
    assert store.forget_receipts(user="ann", before=3.0) == 0
    assert (sorted(_ids(store)), len(_ids(store, user="bob"))) == (["new", "used"], 4)
    lengths = [len(_log(store, session=session)) for session in ("old", "older", "used", "new")]
    assert lengths == [0, 0, 4, 3]
    assert len(_log(store, user="bob", session="old")) == 3


def test_conversations_are_no_decisions(store: StateStore) -> None:
    store.trust("/a", user="ann")
    before = store.version()
    _append(store, make_events(1, 2))
    store.name_conversation(user="ann", session="chat", title="x")
    store.record_turn(make_turn())
    store.forget_conversation(user="ann", session="chat")
    assert store.version() == before


# Searching


def _say(store: StateStore, session: str, message: str, answer: str) -> None:
    texts = [("begun", {"event": "begun", "message": message}), ("answer", {"event": "answer", "text": answer})]
    events = [
        replace(make_event(number), kind=kind, data=json.dumps(data, ensure_ascii=False))
        for number, (kind, data) in enumerate(texts, 1)
    ]
    assert _append(store, events, session=session)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("TUESDAY", {"plans"}),
        ("next week", {"plans"}),
        ("100%", {"sums"}),
        ("a_b", {"sums"}),
        ('say "hi"', {"words"}),
        ("Ärger", {"words"}),
        ("message", set[str]()),
        ("nowhere", set[str]()),
        ("given name", {"sums"}),
        ("a\0b\ud83d", set[str]()),
    ],
)
def test_conversations_are_found_by_what_was_said(store: StateStore, query: str, found: set[str]) -> None:
    _say(store, "plans", "What about Tuesday?", "Better next week.")
    _say(store, "sums", "100% of a_b", "All of it.")
    _say(store, "words", 'Who would say "hi"?', "Ärger\nsagt man anders.")
    store.name_conversation(user="ann", session="sums", title="A given name")
    assert {one.id for one in store.search_conversations(user="ann", query=query)} == found
    assert store.search_conversations(user="bob", query=query) == ()


def test_conversation_is_found_however_many_others_came_after_it(store: StateStore) -> None:
    _say(store, "oldest", "What about Tuesday?", "Better next week.")
    later = replace(make_event(1), at=make_event(2).at + 1)
    assert all(_append(store, [later], session=f"later-{number}") for number in range(1_001))
    assert "oldest" not in _ids(store)
    for query in ("tuesday", "next week"):  # The one stands in its title.
        assert [one.id for one in store.search_conversations(user="ann", query=query)] == ["oldest"]
