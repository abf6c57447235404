"""What a runtime remembers: for whom, and for how long."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from prowess.activation.consent import Answer
from prowess.activation.grants import Decision
from prowess.errors import Refused
from prowess.runtime import Runtime
from prowess.settings import load_settings
from tests.runtime.opening import ONLY_MINE
from tests.runtime.people import Person, try_activate
from tests.skills_on_disk import Home, write_skill
from tests.state.values import end_turn, make_events, make_turn

_DAY = 86_400.0
_OPEN = f'{ONLY_MINE}[activation]\nconsent = "never"\n'
"""Nobody is asked."""


@pytest.fixture(autouse=True)
def alpha(root: Path) -> Path:
    """The folder of the one skill that there is."""
    return write_skill(root, "alpha")


class _Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def open_as(home: Home, clock: _Clock) -> Callable[..., Runtime]:
    """Opens a runtime of any user over the one database of this machine."""

    def opened(user: str, *, keep_days: int = 30, text: str = _OPEN) -> Runtime:
        home.write_settings(f'user = "{user}"\nkeep_receipts_days = {keep_days}\n{text}')
        return Runtime(load_settings(), clock=clock)

    return opened


def _ids(runtime: Runtime) -> list[str]:
    return [record.id for record in runtime.sessions()]


# Decisions


@pytest.mark.requirement("K1")
def test_later_refusal_ends_the_consent_of_a_session(runtime: Runtime) -> None:
    session = runtime.session("chat", asker=Person(Answer.ALLOW_FOR_SESSION))
    assert try_activate(session, "alpha") == "session"
    runtime.decide("alpha", Decision.REFUSE)
    session.deactivate("alpha")
    assert try_activate(session, "alpha") == "refused"


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("revoked", ["agents:alpha", "agents:twins/alpha"])
def test_skill_that_shares_its_files_with_another_can_be_revoked(runtime: Runtime, root: Path, revoked: str) -> None:
    write_skill(root, "twins/alpha")
    for name in ("agents:alpha", "agents:twins/alpha"):
        runtime.decide(name, Decision.ALLOW)
    assert (runtime.revoke(revoked), runtime.grants()) == (1, ())
    with pytest.raises(Refused, match="needs the user's consent"):
        runtime.session("chat").activate("alpha")


@pytest.mark.requirement("K1")
def test_skill_whose_files_have_changed_is_revoked_for_all_its_files(runtime: Runtime, root: Path) -> None:
    write_skill(root, "beta")
    for body in ("Do it so.\n", "Do it otherwise.\n"):
        write_skill(root, "alpha", body=body)
        runtime.decide("alpha", Decision.ALLOW)
    runtime.decide("beta", Decision.ALLOW)
    assert (runtime.revoke("alpha"), [grant.name for grant in runtime.grants()]) == (2, ["beta"])


@pytest.mark.requirement("K7")
def test_project_is_trusted_by_the_user_who_said_so(home: Home, open_as: Callable[..., Runtime]) -> None:
    write_skill(home.project / ".agents" / "skills", "of-the-project")
    text = '[sources]\ndirectories = [".agents/skills"]\n'
    with open_as("bob", text=text) as of_bob, open_as("ann", text=text) as of_ann:
        assert of_bob.trust() == (str(home.project), True)
        assert [[skill.name for skill in one.view().visible] for one in (of_bob, of_ann)] == [["of-the-project"], []]
        assert (of_bob.trusted_projects(), of_ann.trusted_projects()) == ({str(home.project)}, frozenset())
        assert of_ann.untrust() == (str(home.project), False)
        assert of_ann.trust() == (str(home.project), True)
        assert of_bob.untrust() == (str(home.project), True)
        assert [[skill.name for skill in one.view().visible] for one in (of_bob, of_ann)] == [[], ["of-the-project"]]


# How long


@pytest.mark.requirement("R91", "R92")
def test_tidying_of_one_user_leaves_the_chats_of_another(open_as: Callable[..., Runtime], clock: _Clock) -> None:
    with open_as("ann", keep_days=365) as of_ann:
        of_ann.session("chat").activate("alpha")
    clock.now += 3 * _DAY
    with open_as("bob", keep_days=1) as of_bob:
        of_bob.session("chat").activate("alpha")
    with open_as("ann", keep_days=365) as of_ann:
        assert [receipt.name for receipt in of_ann.session("chat").active()] == ["alpha"]


@pytest.mark.requirement("K6")
def test_runtime_that_stays_open_tidies_once_a_day(open_as: Callable[..., Runtime], clock: _Clock) -> None:
    with open_as("ann", keep_days=2) as runtime:
        for hour, known in ((0, ["0"]), (47, ["47", "0"]), (60, ["60", "47", "0"]), (72, ["72", "60", "47"])):
            clock.now = 1_000_000_000.0 + hour * 3_600
            runtime.session(str(hour)).activate("alpha")
            assert _ids(runtime) == known


@pytest.mark.requirement("R92")
@pytest.mark.parametrize("use", ["prompt", "receive"])
def test_chat_that_is_used_without_activating_anything_is_kept(
    open_as: Callable[..., Runtime], clock: _Clock, use: str
) -> None:
    with open_as("ann") as runtime:
        runtime.session("used").activate("alpha")
        runtime.session("idle").activate("alpha")
    for _ in range(8):
        clock.now += 5 * _DAY
        with open_as("ann") as runtime:
            session = runtime.session("used")
            session.prompt() if use == "prompt" else session.receive("hello")
    with open_as("ann") as runtime:
        runtime.session("new").activate("alpha")
        assert sorted(_ids(runtime)) == ["new", "used"]
        assert [receipt.name for receipt in runtime.session("used").active()] == ["alpha"]


def test_use_of_a_session_is_noted_once_an_hour(open_as: Callable[..., Runtime], clock: _Clock) -> None:
    with open_as("ann") as runtime:
        session = runtime.session("chat")
        session.activate("alpha")
        start, noted = clock.now, list[float]()
        for seconds in (60, 120, 3_600, 3_720, 7_320):
            clock.now = start + seconds
            session.receive("hello")
            noted.append(runtime.sessions()[0].used_at - start)
        assert noted == [60, 60, 60, 3_720, 7_320]


def test_message_to_a_session_without_skills_leaves_no_database(home: Home, runtime: Runtime) -> None:
    runtime.session("chat").receive("hello")
    assert not (home.prowess / "state.db").exists()


def test_state_that_cannot_be_written_serves_a_conversation(
    home: Home, runtime: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    session = runtime.session("unwritable", asker=Person(Answer.ALLOW_ONCE))
    session.activate("alpha")
    with closing(sqlite3.connect(home.prowess / "state.db", isolation_level=None)) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE UPDATE ON sessions BEGIN SELECT RAISE(ABORT, 'no room left'); END"
        )
    assert session.receive("hello").text == "hello"
    (message,) = [record.message for record in caplog.records]
    assert message.startswith("session 'unwritable': its use is not noted: ")
    assert message.endswith("no room left")


# Conversations


def _talk(runtime: Runtime, session: str, *, at: float, user: str = "ann") -> None:
    """Have a turn in a conversation, at a moment."""
    last = runtime.store.last_event(user=user, session=session)
    events = make_events(last + 1, last + 2, turn=f"t{at}", at=at)
    assert runtime.store.append_events(user=user, session=session, events=events, model="offline")
    runtime.store.record_turn(end_turn(make_turn(f"t{at}", user=user, session=session, at=at)))


def test_conversations_and_turns_are_those_of_the_user(open_as: Callable[..., Runtime], clock: _Clock) -> None:
    with open_as("ann") as runtime:
        _talk(runtime, "a", at=clock.now)
        _talk(runtime, "b", at=clock.now + 1)
        _talk(runtime, "b", at=clock.now + 2)
        _talk(runtime, "a", at=clock.now + 3, user="bob")
        assert [(one.id, one.turns) for one in runtime.conversations()] == [("b", 2), ("a", 1)]
        assert [one.id for one in runtime.conversations(limit=1)] == ["b"]
        assert [turn.session for turn in runtime.turns()] == ["b", "b", "a"]
        assert [len(runtime.turns(session)) for session in ("a", "b", "c")] == [1, 2, 0]
        assert (len(runtime.turns("b", limit=1)), len(runtime.turns(parent=""))) == (1, 3)
        assert runtime.turns(parent="t1") == ()


def test_models_are_counted_ever_or_of_the_last_days(open_as: Callable[..., Runtime], clock: _Clock) -> None:
    with open_as("ann") as runtime:
        for days in (0, 3, 20):
            _talk(runtime, "a", at=clock.now - days * _DAY)
        counted = {days: [one.turns for one in runtime.model_usage(days=days)] for days in (1, 3, 7, None)}
        assert counted == {1: [1], 3: [2], 7: [2], None: [3]}


def test_conversation_can_be_named_and_the_name_taken_back(open_as: Callable[..., Runtime], clock: _Clock) -> None:
    with open_as("ann") as runtime:
        _talk(runtime, "a", at=clock.now)
        titles: list[str] = []
        for title in ("Taxes", ""):
            assert runtime.name_conversation("a", title)
            titles.append(runtime.conversations()[0].title)
        assert titles == ["Taxes", "Fill in the form"]
        assert not runtime.name_conversation("b", "Taxes")


@pytest.mark.requirement("R91")
def test_forgotten_conversation_ends_its_session_too(open_as: Callable[..., Runtime], clock: _Clock) -> None:
    with open_as("ann") as runtime:
        for session in ("both", "active"):
            runtime.session(session).activate("alpha")
        for session in ("both", "said"):
            _talk(runtime, session, at=clock.now)
        assert [runtime.forget_conversation(session) for session in ("both", "said", "active", "nope")] == [
            *(True, True, True, False)
        ]
        assert (runtime.sessions(), runtime.conversations()) == ((), ())
        assert runtime.store.events(user="ann", session="both") == ()
        assert [receipt.is_open for receipt in runtime.receipts()] == [False, False]
        assert len(runtime.turns()) == 2


def test_conversation_of_a_task_is_found_by_its_id_while_it_goes_on(
    open_as: Callable[..., Runtime], clock: _Clock
) -> None:
    with open_as("ann", text=f'{_OPEN}sessions = "task"\n') as runtime:
        runtime.session("task").activate("alpha")
        (key,) = _ids(runtime)
        assert key != "task"
        _talk(runtime, key, at=clock.now)
        assert (len(runtime.turns("task")), runtime.name_conversation("task", "Taxes")) == (1, True)
        assert runtime.forget_conversation("task")
        assert (runtime.conversations(), runtime.sessions(), runtime.turns("task")) == ((), (), ())


@pytest.mark.requirement("R91")
def test_ended_session_keeps_its_conversation_until_it_is_too_old(
    open_as: Callable[..., Runtime], clock: _Clock
) -> None:
    with open_as("ann", keep_days=2) as runtime:
        runtime.session("a").activate("alpha")
        _talk(runtime, "a", at=clock.now)
        assert runtime.end_session("a")
        assert len(runtime.store.events(user="ann", session="a")) == 2
        clock.now += 3 * _DAY
        runtime.session("b").activate("alpha")
        assert (runtime.conversations(), runtime.turns()) == ((), ())
        assert runtime.store.events(user="ann", session="a") == ()
