"""`prowess sessions` and `prowess usage`: what they show of conversations, turns and models."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from prowess.errors import NotFound
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.state.conversations import LoggedEvent, Outcome
from prowess.state.store import StateStore
from tests.skills_on_disk import Home, write_skill
from tests.state.values import end_turn, make_events, make_turn
from tests.surfaces.command import call, run, run_on_terminal

_NEW_YEAR = 1_767_225_600.0
_USER = "local"
_LATER = _NEW_YEAR + 3_600


@pytest.fixture
def store(home: Home) -> Iterator[StateStore]:
    with Runtime(load_settings()) as runtime:
        assert runtime.settings.place.user == _USER
        yield runtime.store


def _talk(store: StateStore, session: str, *, turns: int = 1, at: float = _NEW_YEAR, model: str = "offline") -> None:
    for turn in range(turns):
        events: tuple[LoggedEvent, ...] = make_events(2 * turn + 1, 2 * turn + 2, turn=f"t{turn}", at=at + turn)
        assert store.append_events(user=_USER, session=session, events=events, model=model)


def _record_turns(store: StateStore) -> None:
    """Record two turns of monday, of which the first has forked, and the fork has forked too."""
    first = end_turn(make_turn("t1", user=_USER, session="monday", model="anthropic:x", at=_NEW_YEAR), cost_usd=0.25)
    fork = make_turn("f1", user=_USER, session="fork-1", model="anthropic:y", parent="t1", at=_NEW_YEAR + 1)
    inner = replace(make_turn("f2", user=_USER, session="fork-2", parent="f1", at=_NEW_YEAR + 2), permissions=())
    for turn in (
        first,
        end_turn(fork, outcome=Outcome.STOPPED, tokens=50, cost_usd=0.00125),
        end_turn(inner, tokens=7),
        make_turn("t2", user=_USER, session="monday", model="anthropic:x", at=_NEW_YEAR + 3),
        end_turn(make_turn("t1", user="somebody", session="monday"), tokens=9_999),
    ):
        store.record_turn(turn)


# sessions


def test_sessions_are_listed_with_their_conversations(store: StateStore, home: Home) -> None:
    write_skill(home.project / "skills", "a")
    call("--skills", "skills", "activate", "a", "--session", "tuesday")
    _talk(store, "monday", turns=3, model="anthropic:x")
    store.name_conversation(user=_USER, session="monday", title="Taxes")
    rows = call("sessions", "--json").json["sessions"]
    assert [row["id"] for row in rows] == ["tuesday", "monday"]
    assert (rows[0]["active"], rows[0]["title"], rows[0]["model"], rows[0]["turns"]) == (["a"], None, None, 0)
    assert rows[1] == {
        "id": "monday",
        "agent": None,
        "created_at": "2026-01-01T00:00:00Z",
        "used_at": "2026-01-01T00:00:02Z",
        "active": [],
        "title": "Taxes",
        "model": "anthropic:x",
        "turns": 3,
    }


def test_session_with_a_conversation_is_one_row_and_was_used_when_the_later_of_both_was(
    store: StateStore, home: Home
) -> None:
    write_skill(home.project / "skills", "a")
    for session in ("monday", "tuesday"):
        call("--skills", "skills", "activate", "a", "--session", session)
    _talk(store, "monday", at=4_000_000_000.0)
    rows = call("sessions", "--json").json["sessions"]
    assert [(row["id"], row["active"], row["turns"]) for row in rows] == [("monday", ["a"], 1), ("tuesday", ["a"], 0)]
    assert rows[0]["used_at"] == "2096-10-02T07:06:40Z"


def test_people_get_the_turns_and_the_title_of_each_conversation(store: StateStore) -> None:
    _talk(store, "monday", turns=2)
    _talk(store, "tuesday", at=_LATER)
    assert call("sessions").stdout.splitlines() == [
        "tuesday\t2026-01-01T01:00:00Z\t\t\t1\tFill in the form",
        "monday\t2026-01-01T00:00:01Z\t\t\t2\tFill in the form",
    ]


def test_turns_of_a_session_are_shown_with_their_forks(store: StateStore) -> None:
    _record_turns(store)
    found = call("sessions", "monday", "--json").json
    assert (list(found), found["receipts"], found["runs"]) == (["id", "receipts", "runs", "turns"], [], [])
    second, first = found["turns"]
    assert (second["id"], second["ended_at"], second["outcome"], second["forks"]) == ("t2", None, None, [])
    (fork,) = first.pop("forks")
    assert first == {
        "id": "t1",
        "user": _USER,
        "session": "monday",
        "model": "anthropic:x",
        "agent": "main",
        "at": "2026-01-01T00:00:00Z",
        "ended_at": "2026-01-01T00:00:00Z",
        "outcome": "answered",
        "steps": 2,
        "calls": 3,
        "use": {"requests": 2, "input_tokens": 100, "output_tokens": 10, "cached_tokens": 50, "cost_usd": 0.25},
        "parent": "",
        "skill": "",
        "name": "",
        "digest": "",
        "permissions": [],
        "granted_by": "",
    }
    assert (fork["id"], fork["session"], fork["parent"], fork["outcome"]) == ("f1", "fork-1", "t1", "stopped")
    assert (fork["name"], fork["permissions"]) == ("deploy", ["@network", "@workspace"])
    assert (fork["granted_by"], [inner["id"] for inner in fork["forks"]]) == ("deploy Skill", ["f2"])


def test_people_get_a_line_for_each_turn_and_its_forks_below_it(store: StateStore) -> None:
    _record_turns(store)
    assert [line.split("\t") for line in call("sessions", "monday").stdout.splitlines()] == [
        ["2026-01-01T00:00:03Z", "anthropic:x", "open", "0", "0", "0", "0", "", ""],
        ["2026-01-01T00:00:00Z", "anthropic:x", "answered", "2", "3", "100", "10", "$0.2500", ""],
        [
            *("  2026-01-01T00:00:01Z", "anthropic:y", "stopped", "2", "3", "50", "5", "$0.0013"),
            "deploy: @network @workspace, granted by deploy Skill",
        ],
        [
            *("    2026-01-01T00:00:02Z", "offline", "answered", "2", "3", "7", "0", ""),
            "deploy: no permissions, granted by deploy Skill",
        ],
    ]


def test_fork_can_be_looked_at_by_its_own_session(store: StateStore) -> None:
    _record_turns(store)
    assert [turn["id"] for turn in call("sessions", "fork-1", "--json").json["turns"]] == ["f1"]


@pytest.mark.slow
def test_turns_are_a_table_on_a_terminal(store: StateStore) -> None:
    _record_turns(store)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", run_on_terminal(["sessions", "monday"], columns=200).stdout)
    heading, *lines = shown.splitlines()
    assert re.split(r"\s{2,}", heading.strip()) == [
        *("WHEN", "MODEL", "OUTCOME", "STEPS", "CALLS", "TOKENS IN", "TOKENS OUT", "COST", "FORK")
    ]
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 0, 2, 4]


# sessions --forget


def test_forgotten_conversation_is_gone_with_its_session_and_its_receipts_stay(store: StateStore, home: Home) -> None:
    write_skill(home.project / "skills", "a")
    call("--skills", "skills", "activate", "a", "--session", "monday")
    _talk(store, "monday", turns=2)
    _record_turns(store)
    outcome = call("sessions", "--forget", "monday")
    assert outcome.stdout == 'conversation monday is deleted: "Fill in the form", 2 turns; its receipts stay\n'
    assert (store.last_event(user=_USER, session="monday"), call("sessions", "--json").json) == (0, {"sessions": []})
    left = call("sessions", "monday", "--json").json
    assert ([one["name"] for one in left["receipts"]], [one["id"] for one in left["turns"]]) == (["a"], ["t2", "t1"])
    assert left["receipts"][0]["ended_at"] is not None
    with pytest.raises(NotFound):
        call("sessions", "--forget", "monday")


def test_one_conversation_is_found_by_its_id(store: StateStore) -> None:
    _talk(store, "monday")
    _talk(store, "tuesday")
    with Runtime(load_settings()) as runtime:
        found = runtime.find_conversation("monday")
        assert found in runtime.conversations()
        assert (found and found.id, runtime.find_conversation("nope")) == ("monday", None)


def test_programs_are_told_what_was_deleted(store: StateStore) -> None:
    _talk(store, "monday")
    _talk(store, "tuesday")
    assert call("sessions", "--forget", "monday", "--json").json == {
        "id": "monday",
        "ended": True,
        "forgotten": {
            "user": _USER,
            "id": "monday",
            "title": "Fill in the form",
            "model": "offline",
            "created_at": "2026-01-01T00:00:00Z",
            "used_at": "2026-01-01T00:00:00Z",
            "turns": 1,
        },
    }
    assert [row["id"] for row in call("sessions", "--json").json["sessions"]] == ["tuesday"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_session_without_a_conversation_is_ended_and_that_is_said(home: Home, form: str) -> None:
    write_skill(home.project / "skills", "a")
    call("--skills", "skills", "activate", "a", "--session", "monday")
    outcome = call("sessions", "--forget", "monday", *(["--json"] if form == "json" else []))
    if form == "json":
        assert outcome.json == {"id": "monday", "ended": True, "forgotten": None}
    else:
        assert outcome.stdout == "session monday is ended; it had no conversation to delete\n"
    assert call("sessions", "--json").json == {"sessions": []}


def test_ended_session_keeps_its_conversation(store: StateStore, home: Home) -> None:
    write_skill(home.project / "skills", "a")
    call("--skills", "skills", "activate", "a", "--session", "monday")
    _talk(store, "monday", turns=2)
    call("sessions", "--end", "monday")
    assert store.last_event(user=_USER, session="monday") == 4
    (row,) = call("sessions", "--json").json["sessions"]
    assert (row["id"], row["active"], row["turns"], row["used_at"]) == ("monday", [], 2, "2026-01-01T00:00:01Z")
    with pytest.raises(NotFound):
        call("sessions", "--end", "monday")


@pytest.mark.slow
def test_unknown_conversation_is_a_no(home: Home) -> None:
    outcome = run("sessions", "--forget", "nope", "--json")
    assert (outcome.status, outcome.json["error"]["code"]) == (1, "unknown-session")


# usage


def test_usage_has_the_models_with_their_tokens_and_costs(store: StateStore) -> None:
    _record_turns(store)
    found = call("usage", "--json").json
    assert (list(found), found["models"]) == (
        ["sessions", "skills", "models"],
        [
            {
                "model": "anthropic:x",
                "turns": 2,
                "forks": 0,
                "use": {"requests": 2, "input_tokens": 100, "output_tokens": 10, "cached_tokens": 50, "cost_usd": 0.25},
            },
            {
                "model": "anthropic:y",
                "turns": 0,
                "forks": 1,
                "use": {
                    "requests": 2,
                    "input_tokens": 50,
                    "output_tokens": 5,
                    "cached_tokens": 25,
                    "cost_usd": 0.00125,
                },
            },
            {
                "model": "offline",
                "turns": 0,
                "forks": 1,
                "use": {"requests": 2, "input_tokens": 7, "output_tokens": 0, "cached_tokens": 3, "cost_usd": None},
            },
        ],
    )
    assert [line.split("\t") for line in call("usage").stdout.splitlines()] == [
        ["anthropic:x", "2", "0", "100", "10", "$0.2500"],
        ["anthropic:y", "0", "1", "50", "5", "$0.0013"],
        ["offline", "0", "1", "7", "0", ""],
    ]


def test_usage_of_the_last_days_counts_their_turns_only(store: StateStore) -> None:
    _record_turns(store)
    store.record_turn(end_turn(make_turn("t9", user=_USER, session="monday", model="new", at=4_000_000_000.0)))
    assert [row["model"] for row in call("usage", "--days", "1", "--json").json["models"]] == ["new"]
    assert len(call("usage", "--json").json["models"]) == 4
