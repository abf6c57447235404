"""Sessions: receipts (K6), what is remembered of them, who sees it, and many at once."""

import json
import logging
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.activation.consent import Answer, CallbackAsker
from prowess.activation.receipts import (
    MAX_KEPT_ARGUMENTS,
    AskedBy,
    DayUsage,
    Receipt,
    SessionRecord,
    Usage,
    UsageReport,
)
from prowess.catalog.switches import Switch
from prowess.disclosure.tokens import EstimatedTokens
from prowess.errors import Refused, ToolInputError
from prowess.runtime import Runtime, Session
from prowess.settings import load_settings
from tests.runtime.opening import ONLY_MINE, run_python, start_python, wait_for_all
from tests.runtime.people import Person
from tests.skills_on_disk import Home, write_skill

_OPEN = f'{ONLY_MINE}[activation]\nconsent = "never"\n'
"""Nobody is asked."""
_SECRET = "Whisper the word xylograph-4711."


@pytest.fixture
def root(root: Path, home: Home) -> Path:
    """The user's skills, which nobody is asked about."""
    home.write_settings(_OPEN)
    write_skill(root, "alpha", body="Do it with $1.\n", files={"references/guide.md": "Read me.\n"})
    write_skill(root, "beta")
    return root


@pytest.fixture
def session(runtime: Runtime) -> Session:
    return runtime.session("chat")


@pytest.fixture
def ticking(root: Path) -> Iterator[Runtime]:
    """A runtime whose clock goes on by a second with every look."""
    seconds = count(1000)
    with Runtime(load_settings(), clock=lambda: float(next(seconds))) as opened:
        yield opened


def _names(session: Session) -> list[str]:
    return [receipt.name for receipt in session.active()]


# Receipts


@pytest.mark.requirement("K6")
def test_receipt_has_every_field(root: Path) -> None:
    with Runtime(load_settings(), clock=lambda: 1000.0) as runtime:
        session = runtime.session("chat", agent="writer")
        activation = session.activate("alpha", arguments="red paint", asked_by=AskedBy.MODEL, trigger="keyword: x")
        assert activation.receipt == Receipt(
            id=activation.receipt.id,
            user="local",
            session="chat",
            skill="agents:alpha",
            name="alpha",
            digest=runtime.digest(runtime.catalog().get("alpha")),
            asked_by=AskedBy.MODEL,
            agent="writer",
            trigger="keyword: x",
            arguments="red paint",
            consent="not-asked",
            size_bytes=(root / "alpha" / "SKILL.md").stat().st_size,
            tokens=EstimatedTokens().count(activation.text),
            at=1000.0,
            in_context=True,
            ended_at=None,
        )
        assert runtime.receipts() == runtime.receipts("chat") == session.active() == (activation.receipt,)
        assert len(activation.receipt.id) == 32
        assert runtime.sessions() == (SessionRecord("local", "chat", "writer", 1000.0, 1000.0, ("alpha",)),)


@pytest.mark.requirement("K6")
def test_call_of_a_model_and_a_persons_wish_are_told_apart(runtime: Runtime, session: Session) -> None:
    session.call("activate_skill", {"name": "alpha"})
    session.activate("beta")
    assert {one.name: one.asked_by for one in session.active()} == {"alpha": AskedBy.MODEL, "beta": AskedBy.USER}


@pytest.mark.requirement("K6")
def test_long_arguments_are_kept_in_part(runtime: Runtime, session: Session) -> None:
    long = "x" * (MAX_KEPT_ARGUMENTS + 1)
    activation = session.activate("alpha", arguments=long)
    assert activation.receipt.arguments == long[: MAX_KEPT_ARGUMENTS - 1] + "…"
    assert f"Do it with {long}." in activation.text


@pytest.mark.requirement("J9", "K6", "R120")
def test_second_activation_is_a_note(runtime: Runtime, session: Session) -> None:
    first, second = session.activate("alpha"), session.activate("agents:alpha")
    assert (first.already_active, second.already_active) == (False, True)
    assert second.text == "Skill alpha is already active. Its instructions stand above in this conversation."
    assert second.receipt == first.receipt
    assert len(runtime.receipts()) == 1


@pytest.mark.requirement("J9", "K6")
def test_changed_skill_is_given_again(runtime: Runtime, session: Session, root: Path) -> None:
    first = session.activate("beta")
    write_skill(root, "beta", body="Do another thing.\n")
    second = session.activate("beta")
    assert not second.already_active
    assert "Do another thing." in second.text
    assert session.active() == (second.receipt,)
    newest, oldest = runtime.receipts()
    assert (newest, oldest.id, oldest.is_open) == (second.receipt, first.receipt.id, False)


@pytest.mark.requirement("K6")
def test_other_arguments_give_the_instructions_again(runtime: Runtime, session: Session) -> None:
    red, blue = session.activate("alpha", arguments="red"), session.activate("alpha", arguments="blue")
    assert ["Do it with red." in red.text, "Do it with blue." in blue.text] == [True, True]
    assert session.active() == (blue.receipt,)
    assert (red.receipt.consent, blue.receipt.consent) == ("not-asked", "not-asked")
    again = session.activate("alpha", arguments="blue")
    assert (again.already_active, again.receipt) == (True, blue.receipt)
    assert session.activate("alpha").already_active


@pytest.mark.requirement("K6")
def test_deactivated_skill_is_off_and_can_be_switched_on_again(ticking: Runtime) -> None:
    session = ticking.session("chat")
    first = session.activate("alpha").receipt
    session.activate("beta")
    ended = session.deactivate("alpha")
    assert ended is not None
    assert (ended.id, ended.is_open, (ended.ended_at or 0) > first.at) == (first.id, False, True)
    assert _names(session) == ["beta"]
    assert session.deactivate("alpha") is None
    again = session.activate("alpha")
    assert (again.already_active, again.receipt.id != first.id) == (False, True)
    assert _names(session) == ["beta", "alpha"]


@pytest.mark.requirement("K6")
def test_model_may_deactivate(session: Session) -> None:
    session.activate("alpha")
    results = [session.call("deactivate_skill", {"name": name}) for name in ("alpha", "alpha", "nope")]
    assert [(result.content, result.data["deactivated"]) for result in results] == [
        ("Skill alpha is no longer active.", True),
        ("Skill alpha was not active.", False),
        ("Skill nope was not active.", False),
    ]
    assert session.active() == ()


@pytest.mark.requirement("K6")
def test_usage_counts_activations_and_sessions(ticking: Runtime) -> None:
    """RC21: chats with nothing, with both, and with one."""
    ticking.session("empty").prompt()
    receipts = [ticking.session("one").activate(name).receipt for name in ("alpha", "beta")]
    last = ticking.session("two").activate("alpha").receipt
    ticking.session("two").activate("alpha")
    assert ticking.usage() == UsageReport(
        2,
        (
            Usage("agents:alpha", "alpha", 2, 2, receipts[0].tokens + last.tokens, last.at),
            Usage("agents:beta", "beta", 1, 1, receipts[1].tokens, receipts[1].at),
        ),
    )
    assert len(ticking.sessions()) == 2


@pytest.mark.requirement("K6")
def test_usage_may_be_of_the_last_days(root: Path) -> None:
    now = [0.0]
    with Runtime(load_settings(), clock=lambda: now[0]) as runtime:
        runtime.session("chat").activate("alpha")
        now[0] = 10 * 86_400.0
        runtime.session("chat").activate("beta")
        assert [usage.name for usage in runtime.usage(days=5).skills] == ["beta"]
        assert [usage.name for usage in runtime.usage(days=30).skills] == ["beta", "alpha"]


@pytest.mark.requirement("K6")
def test_usage_may_be_by_day_and_the_first_day_is_whole(root: Path) -> None:
    now = [1.0]
    with Runtime(load_settings(), clock=lambda: now[0]) as runtime:
        runtime.session("chat").activate("alpha")
        now[0] = 2.9 * 86_400
        runtime.session("chat").activate("beta")
        first, last = DayUsage(0, "agents:alpha", "alpha", 1, 0), DayUsage(2, "agents:beta", "beta", 1, 0)
        assert [runtime.usage_by_day(days=days) for days in (1, 2, 3)] == [(last,), (last,), (first, last)]
        assert runtime.usage_by_day() == (first, last)


@pytest.mark.requirement("K6")
def test_old_receipts_and_idle_sessions_are_forgotten(home: Home, root: Path) -> None:
    home.write_settings(f"keep_receipts_days = 7\n{_OPEN}")
    now = [0.0]
    with Runtime(load_settings(), clock=lambda: now[0]) as runtime:
        runtime.session("old").activate("alpha")
    now[0] = 8 * 86_400.0
    with Runtime(load_settings(), clock=lambda: now[0]) as runtime:
        assert [record.id for record in runtime.sessions()] == ["old"]
        runtime.session("new").activate("alpha")
        assert [record.id for record in runtime.sessions()] == ["new"]
        assert [receipt.session for receipt in runtime.receipts()] == ["new"]


# Compaction


@pytest.mark.requirement("J9", "K6")
def test_compacted_conversation_gets_the_newest_instructions_again(runtime: Runtime, session: Session) -> None:
    texts = [session.activate("alpha", arguments="red").text, session.activate("beta").text]
    again = session.reattach()
    assert again.text == "\n\n".join(reversed(texts))
    assert [receipt.name for receipt in again.kept] == ["beta", "alpha"]
    assert again.dropped == ()
    assert session.activate("alpha").already_active


@pytest.mark.requirement("J9", "K6")
def test_what_compaction_dropped_comes_again_in_full(home: Home, root: Path) -> None:
    home.write_settings(f"{_OPEN}[prompt]\nreattach_tokens = 80\n")
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        texts = {name: session.activate(name).text for name in ("alpha", "beta")}
        again = session.reattach()
        assert [[receipt.name for receipt in part] for part in (again.kept, again.dropped)] == [["beta"], ["alpha"]]
        assert [(one.name, one.in_context) for one in session.active()] == [("alpha", False), ("beta", True)]
        assert session.activate("beta").already_active
        anew = session.activate("alpha")
        assert (anew.already_active, anew.text) == (False, texts["alpha"])
        assert [(one.name, one.in_context) for one in session.active()] == [("alpha", True), ("beta", True)]
        assert session.activate("alpha").already_active
        assert len(runtime.receipts()) == 2


@pytest.mark.requirement("K1", "K6")
def test_compacted_conversation_gets_no_files_that_nobody_agreed_to(
    runtime: Runtime, session: Session, root: Path
) -> None:
    session.activate("alpha")
    session.activate("beta")
    write_skill(root, "beta", body="Do another thing.\n")
    again = session.reattach()
    assert [[receipt.name for receipt in part] for part in (again.kept, again.dropped)] == [["alpha"], ["beta"]]
    assert "another thing" not in again.text


# Isolation and memory


@pytest.mark.requirement("R91", "K6")
def test_sessions_do_not_see_each_other(runtime: Runtime) -> None:
    one, two, nameless = runtime.session("one"), runtime.session("two"), runtime.session()
    one.activate("alpha")
    nameless.activate("beta")
    assert [_names(session) for session in (one, two, nameless, runtime.session())] == [["alpha"], [], ["beta"], []]
    assert not two.activate("alpha").already_active
    one.end()
    assert [_names(one), _names(two)] == [[], ["alpha"]]


@pytest.mark.requirement("R91", "K6")
def test_users_do_not_see_each_other(home: Home, runtime: Runtime) -> None:
    runtime.session("chat").activate("alpha")
    home.write_settings(f'user = "bob"\n{_OPEN}')
    with Runtime.open() as of_bob:
        assert _names(of_bob.session("chat")) == []
        assert (of_bob.receipts(), of_bob.sessions(), of_bob.usage()) == ((), (), UsageReport(0, ()))
        assert not of_bob.session("chat").activate("alpha").already_active
        of_bob.end_session("chat")
    assert _names(runtime.session("chat")) == ["alpha"]


@pytest.mark.requirement("R92")
def test_chat_is_found_again_by_another_runtime(runtime: Runtime, session: Session) -> None:
    receipt = session.activate("alpha").receipt
    session.close()
    with Runtime.open() as later:
        assert later.session("chat").active() == (receipt,)
        assert later.session("chat").activate("alpha").already_active
        assert "Active skills: alpha." in later.session("chat").prompt()


@pytest.mark.slow
@pytest.mark.requirement("R92")
def test_chat_is_found_again_by_another_process(root: Path, shared_database: str) -> None:
    switch_on = 'with Runtime.open() as runtime: runtime.session("chat").activate("alpha")'
    assert run_python(switch_on) == ""
    with Runtime.open() as runtime:
        assert _names(runtime.session("chat")) == ["alpha"]
        runtime.session("chat").activate("beta")
    look = 'with Runtime.open() as runtime: print(*(one.name for one in runtime.session("chat").active()))'
    assert run_python(look).split() == ["alpha", "beta"]


@pytest.mark.requirement("R92")
def test_names_are_kept_and_instructions_are_not(home: Home, root: Path) -> None:
    write_skill(root, "gamma", description="Holds a zincograph.", body=_SECRET, files={"note.md": _SECRET})
    home.write_settings(ONLY_MINE)
    with Runtime.open(asker=Person(Answer.ALLOW_ALWAYS)) as runtime:
        session = runtime.session("chat")
        assert _SECRET in session.activate("gamma").text
        session.read("gamma", "note.md")
        session.receive("/gamma please")
        session.reattach()
        kept = b"".join(file.read_bytes() for file in home.prowess.glob("state.db*"))
        assert b"gamma" in kept
        assert (b"xylograph" in kept, b"zincograph" in kept) == (False, False)
    kept = b"".join(file.read_bytes() for file in home.prowess.glob("state.db*"))
    assert (b"gamma" in kept, b"xylograph" in kept) == (True, False)


@pytest.mark.requirement("R91")
def test_task_is_over_when_it_is_closed(home: Home, root: Path) -> None:
    home.write_settings(f'{_OPEN}sessions = "task"\n')
    with Runtime.open() as runtime:
        with runtime.session("task") as task:
            task.activate("alpha")
            assert _names(runtime.session("task")) == ["alpha"]
            (open_receipt,) = runtime.receipts("task")
        assert runtime.sessions() == ()
        assert _names(runtime.session("task")) == []
        (ended,) = runtime.receipts()
        assert (ended.id, ended.is_open) == (open_receipt.id, False)


@pytest.mark.requirement("R91")
def test_task_is_not_seen_by_another_runtime(home: Home, root: Path) -> None:
    home.write_settings(f'{_OPEN}sessions = "task"\n')
    with Runtime.open() as one, Runtime.open() as two:
        one.session("task").activate("alpha")
        assert [_names(runtime.session("task")) for runtime in (one, two)] == [["alpha"], []]
        assert not two.session("task").activate("alpha").already_active
        two.session("task").close()
        assert _names(one.session("task")) == ["alpha"]


@pytest.mark.requirement("R91")
def test_task_does_not_outlive_its_runtime(home: Home, root: Path) -> None:
    home.write_settings(f'{_OPEN}sessions = "task"\n')
    with Runtime.open() as runtime:
        runtime.session("task").activate("alpha")
    with Runtime.open() as later:
        assert (_names(later.session("task")), later.sessions()) == ([], ())


@pytest.mark.requirement("R91")
def test_session_without_a_name_is_a_task(runtime: Runtime) -> None:
    with runtime.session() as nameless:
        nameless.activate("alpha")
        assert _names(runtime.session(nameless.id)) == ["alpha"]
    assert runtime.sessions() == ()
    assert _names(nameless) == []


@pytest.mark.requirement("R92")
def test_chat_that_is_ended_is_forgotten_but_for_its_receipts(runtime: Runtime, session: Session) -> None:
    session.activate("alpha")
    assert (runtime.end_session("chat"), runtime.end_session("chat")) == (True, False)
    assert (session.active(), runtime.sessions()) == ((), ())
    assert [receipt.is_open for receipt in runtime.receipts("chat")] == [False]


# Visibility comes before what is remembered


def _switch_off(runtime: Runtime, root: Path) -> Callable[[], object]:
    runtime.set_switch("beta", Switch.OFF)
    return lambda: runtime.set_switch("beta", Switch.ON)


def _remove(runtime: Runtime, root: Path) -> Callable[[], object]:
    folder = root / "beta"
    shutil.move(folder, root.parent / "beta")
    return lambda: shutil.move(root.parent / "beta", folder)


def _break(runtime: Runtime, root: Path) -> Callable[[], object]:
    file = root / "beta" / "SKILL.md"
    text = file.read_text()
    file.write_text("---\nname: beta\n---\n")
    return lambda: file.write_text(text)


def _switch_off_for_the_agent(runtime: Runtime, root: Path) -> Callable[[], object]:
    runtime.set_switch("beta", Switch.OFF, agent="writer")
    return lambda: runtime.set_switch("beta", Switch.ON, agent="writer")


@pytest.mark.requirement("R39", "J6", "K6")
@pytest.mark.parametrize("hide", [_switch_off, _remove, _break, _switch_off_for_the_agent])
def test_skill_that_is_no_longer_visible_is_no_longer_there(
    runtime: Runtime, root: Path, hide: Callable[[Runtime, Path], Callable[[], object]]
) -> None:
    session = runtime.session("chat", agent="writer")
    before = [session.activate(name).receipt for name in ("alpha", "beta")]
    show = hide(runtime, root)
    assert _names(session) == ["alpha"]
    assert "beta" not in session.prompt()
    for tool, arguments in (
        ("activate_skill", {"name": "beta"}),
        ("read_skill_resource", {"name": "beta", "path": "SKILL.md"}),
    ):
        result = session.call(tool, arguments)
        assert (result.data["error"]["code"], result.data["available_skills"]) == ("unknown-skill", ["alpha"])
    assert session.receive("/beta now").text == "/beta now"
    assert "beta" not in session.reattach().text
    assert session.deactivate("beta") is None
    show()
    assert [receipt.id for receipt in session.active()] == [receipt.id for receipt in before]
    assert "Active skills: alpha." in session.prompt()
    assert "Active before: beta." in session.prompt()  # Compaction took it while nobody could see it.


@pytest.mark.requirement("R39", "R40")
def test_list_of_skills_bounds_what_a_chat_finds_again(home: Home, runtime: Runtime, session: Session) -> None:
    session.activate("alpha")
    session.activate("beta")
    narrow = runtime.session("chat", skills=["alpha"])
    assert _names(narrow) == ["alpha"]
    assert narrow.call("read_skill_resource", {"name": "beta", "path": "SKILL.md"}).is_error
    assert "beta" not in narrow.prompt()
    assert runtime.session("chat", skills=[]).prompt() == ""
    home.write_settings(f'{_OPEN}[agents.writer]\nskills = ["beta"]\n')
    with Runtime.open() as later:
        assert _names(later.session("chat", agent="writer")) == ["beta"]
        assert _names(later.session("chat", agent="writer", skills=["*"])) == ["beta"]
        assert _names(later.session("chat")) == ["alpha", "beta"]


@pytest.mark.requirement("R39", "R40")
def test_list_of_a_task_never_widens_that_of_its_agent(home: Home, root: Path) -> None:
    write_skill(root, "shy", extra="disable-model-invocation: true\n")
    home.write_settings(f'{_OPEN}[agents.writer]\nskills = ["alpha"]\n')
    with Runtime.open() as runtime:
        for skills in (None, ["*"], ["alpha", "beta", "shy"]):
            session = runtime.session("chat", agent="writer", skills=skills)
            assert session.receive("/shy now").activations == ()
            with pytest.raises(ToolInputError):
                session.activate("shy")
            assert session.view().names() == ("alpha",)


# People and models


@pytest.mark.requirement("J6")
@pytest.mark.parametrize("way", ["manifest", "switch"])
def test_skill_for_people_is_there_for_the_model_once_a_person_wants_it(
    runtime: Runtime, session: Session, root: Path, way: str
) -> None:
    extra = "disable-model-invocation: true\n" if way == "manifest" else ""
    write_skill(root, "shy", extra=extra, files={"note.md": "Noted.\n"})
    if way == "switch":
        runtime.set_switch("shy", Switch.USER_ONLY)
    read = ("read_skill_resource", {"name": "shy", "path": "note.md"})
    assert "shy" not in session.prompt()
    assert "shy" not in json.dumps(session.tools())
    assert [session.call(*call).is_error for call in (("activate_skill", {"name": "shy"}), read)] == [True, True]
    reception = session.receive("/shy do it")
    assert [activation.skill.name for activation in reception.activations] == ["shy"]
    assert "Do the thing." in reception.content
    assert session.call(*read).content == "Noted.\n"
    assert session.call("activate_skill", {"name": "shy"}).data["already_active"]
    assert session.prompt().endswith("Active skills: shy. Their instructions hold; they need not be activated again.")
    assert "<name>shy" not in session.prompt()
    assert session.call("deactivate_skill", {"name": "shy"}).data["deactivated"]
    assert session.call(*read).is_error


@pytest.mark.requirement("J6")
def test_skill_for_models_is_not_a_command(session: Session, root: Path) -> None:
    write_skill(root, "helper", extra="user-invocable: false\n")
    assert session.receive("/helper do it").text == "/helper do it"
    assert session.receive("use $helper").activations == ()
    assert not session.call("activate_skill", {"name": "helper"}).is_error
    assert _names(session) == ["helper"]


@pytest.mark.requirement("J9")
def test_files_of_an_active_skill_are_read_without_asking(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)
    with Runtime.open(asker=Person(Answer.ALLOW_ONCE)) as runtime:
        session = runtime.session("chat")
        session.activate("alpha")
        for _ in range(3):
            assert session.read("alpha", "references/guide.md").content == "Read me.\n"
        session.deactivate("alpha")
        with pytest.raises(AssertionError, match="nobody was to be asked"):
            session.read("alpha", "references/guide.md")


# Laws

_LAW_NAMES = st.sampled_from(["alpha", "beta"])
_STEPS = st.one_of(
    st.tuples(st.just("activate"), _LAW_NAMES, st.sampled_from(["", "x", "y"])),
    st.tuples(st.sampled_from(["deactivate", "change", "compact"]), _LAW_NAMES, st.just("")),
)


@dataclass
class _Known:
    """What a conversation holds of a skill."""

    version: int
    arguments: str
    in_context: bool = True


@pytest.mark.slow
@pytest.mark.requirement("J9", "K6")
@given(st.lists(_STEPS, max_size=12))
@settings(max_examples=60)
def test_instructions_are_given_just_when_the_conversation_lacks_them(steps: list[tuple[str, str, str]]) -> None:
    versions = {"alpha": 0, "beta": 0}
    known: dict[str, _Known] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = {"HOME": folder, "PROWESS_DATABASE": "memory"}
        for name in versions:
            write_skill(Path(folder), name, body="Version 0 for $1.\n")
        with Runtime(load_settings(environ=place, working_folder=folder), skills=[folder]) as runtime:
            session = runtime.session("chat")
            for step, name, arguments in steps:
                if step == "activate":
                    had = known.get(name)
                    is_had = had is not None and had.in_context and had.version == versions[name]
                    expected = is_had and had is not None and arguments in ("", had.arguments)
                    found = session.activate(name, arguments=arguments or None)
                    assert found.already_active == expected
                    if not expected:
                        assert f"Version {versions[name]} for {arguments or '$1'}." in found.text
                        known[name] = _Known(versions[name], arguments)
                elif step == "deactivate":
                    assert (session.deactivate(name) is not None) == (known.pop(name, None) is not None)
                elif step == "change":
                    versions[name] += 1
                    write_skill(Path(folder), name, body=f"Version {versions[name]} for $1.\n")
                else:
                    session.reattach()
                    for one, what in known.items():
                        what.in_context = what.version == versions[one]
                active = {one.name: (one.arguments, one.in_context) for one in session.active()}
                assert active == {one: (what.arguments, what.in_context) for one, what in known.items()}


# What is logged


def _records(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.requirement("R104", "R105")
def test_cut_is_logged_once_for_each_skill_and_path(home: Home, root: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = {"one.md": "x" * 3_000, "two.md": "y" * 3_000, "small.md": "z"}
    write_skill(root, "r105-large", body="long " * 1_000, files=files)
    home.write_settings(f"{_OPEN}[limits]\nmax_skill_md_bytes = 1000\nmax_resource_bytes = 2000\n")
    for name in ("one", "two"):
        with Runtime.open() as runtime:
            session = runtime.session(name)
            for _ in range(3):
                assert session.activate("r105-large", arguments=None).receipt.name == "r105-large"
                session.deactivate("r105-large")
                for path in ("one.md", "./two.md", "small.md"):
                    session.read("r105-large", path)
    skill_md, *files_cut = _records(caplog)
    assert skill_md == "skill 'r105-large': SKILL.md has 5,085 bytes and was cut at 1,000"
    assert [record.partition(" ")[2].partition(": ")[2].partition(":")[0] for record in files_cut] == [
        "one.md",
        "two.md",
    ]


# Many at once

_NAMES = tuple(f"skill-{number}" for number in range(8))


def _write_many(root: Path) -> None:
    for name in _NAMES:
        write_skill(root, name)


@pytest.mark.slow
@pytest.mark.requirement("K6", "R120")
def test_32_threads_activate_each_skill_once(root: Path, shared_database: str) -> None:
    _write_many(root)
    with Runtime.open() as runtime:
        session = runtime.session("chat")

        def work(number: int) -> list[tuple[str, str, bool]]:
            order = [_NAMES[(number + step) % len(_NAMES)] for step in range(len(_NAMES))]
            found = [session.activate(name) for name in order]
            return [(one.skill.name, one.receipt.id, one.already_active) for one in found]

        with ThreadPoolExecutor(32) as threads:
            rows = [row for part in threads.map(work, range(32)) for row in part]
        receipts = {receipt.name: receipt.id for receipt in session.active()}
        assert len(runtime.receipts()) == len(_NAMES)
    assert {(name, receipt) for name, receipt, _ in rows} == set(receipts.items())
    given = Counter(name for name, _, already in rows if not already)
    assert (given, len(rows)) == (Counter(_NAMES), 32 * len(_NAMES))


@pytest.mark.slow
@pytest.mark.requirement("K6")
def test_threads_with_arguments_of_their_own_all_get_their_instructions(root: Path) -> None:
    with Runtime.open() as runtime:
        session = runtime.session("chat")

        def work(number: int) -> bool:
            return f"Do it with n{number}." in session.activate("alpha", arguments=f"n{number}").text

        with ThreadPoolExecutor(16) as threads:
            assert all(threads.map(work, range(16)))
        receipts = runtime.receipts()
        assert (len(session.active()), [one.is_open for one in receipts].count(True)) == (1, 1)
        assert {one.arguments for one in receipts} == {f"n{number}" for number in range(16)}


def _race(script: str) -> list[str]:
    """Run it in 8 processes, none of which begins before all of them are ready."""
    processes = [start_python(script, str(number), *_NAMES) for number in range(8)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    return wait_for_all(processes)


_ACTIVATE_ALL = """
number, names = int(sys.argv[1]), sys.argv[2:]
with Runtime.open() as runtime:
    session = runtime.session("chat")
    session.prompt()
    print("ready", flush=True)
    sys.stdin.readline()
    found = []
    def work(start):
        for step in range(len(names)):
            one = session.activate(names[(start + step) % len(names)])
            found.append((one.skill.name, one.receipt.id, one.already_active))
    threads = [threading.Thread(target=work, args=(number + start,)) for start in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.requirement("K6", "R120")
def test_8_processes_activate_each_skill_once(root: Path, shared_database: str) -> None:
    _write_many(root)
    outputs = _race(_ACTIVATE_ALL)
    rows: list[tuple[str, str, bool]] = [tuple(row) for output in outputs for row in json.loads(output)]
    with Runtime.open() as runtime:
        receipts = {receipt.name: receipt.id for receipt in runtime.session("chat").active()}
        assert len(runtime.receipts()) == len(_NAMES)
    assert {(name, receipt) for name, receipt, _ in rows} == set(receipts.items())
    given = Counter(name for name, _, already in rows if not already)
    assert (given, len(rows)) == (Counter(_NAMES), 8 * 4 * len(_NAMES))


_CONSENT_TO_ALL = """
answers = [Answer.ALLOW_ALWAYS, Answer.ALLOW_FOR_SESSION, Answer.REFUSE]
number, names = int(sys.argv[1]), sys.argv[2:]
asker = CallbackAsker(lambda question: answers[int(question.name[-1]) % 3])
with Runtime.open(asker=asker) as runtime:
    print("ready", flush=True)
    sys.stdin.readline()
    found = []
    for step in range(len(names)):
        name = names[(number + step) % len(names)]
        for chat in ("one", "two"):
            try:
                found.append((name, runtime.session(chat).activate(name).already_active))
            except Refused as error:
                found.append((name, error.code))
    print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.requirement("K1")
def test_8_processes_lose_no_decision_and_double_none(home: Home, root: Path, shared_database: str) -> None:
    home.write_settings(ONLY_MINE)
    _write_many(root)
    outputs = _race(_CONSENT_TO_ALL)
    outcomes = Counter((name, outcome) for output in outputs for name, outcome in json.loads(output))
    expected: Counter[tuple[str, object]] = Counter()
    sessions: dict[str, list[str]] = {}
    for number, name in enumerate(_NAMES):
        sessions[name] = [[""], ["one", "two"], [""]][number % 3]
        expected |= (
            Counter({(name, "refused"): 16}) if number % 3 == 2 else Counter({(name, False): 2, (name, True): 14})
        )
    assert outcomes == expected
    with Runtime.open() as runtime:
        grants = sorted((grant.name, grant.session, grant.decision.value) for grant in runtime.grants())
    assert grants == sorted(
        (name, session, "refuse" if int(name[-1]) % 3 == 2 else "allow")
        for name in _NAMES
        for session in sessions[name]
    )


@pytest.mark.slow
@pytest.mark.requirement("K1", "K6")
def test_32_threads_agree_and_refuse(home: Home, root: Path, shared_database: str) -> None:
    home.write_settings(ONLY_MINE)
    write_skill(root, "gamma")
    answers = {"alpha": Answer.ALLOW_ALWAYS, "beta": Answer.ALLOW_FOR_SESSION, "gamma": Answer.REFUSE}
    with Runtime.open(asker=CallbackAsker(lambda question: answers[question.name])) as runtime:

        def work(number: int) -> list[str]:
            names = sorted(answers)
            found: list[str] = []
            for step in range(3):
                name = names[(number + step) % 3]
                try:
                    activation = runtime.session("chat").activate(name)
                    found.append("note" if activation.already_active else f"text {name}")
                except Refused as error:
                    found.append(error.code)
            return found

        with ThreadPoolExecutor(32) as threads:
            outcomes = Counter(row for part in threads.map(work, range(32)) for row in part)
        assert outcomes == {"text alpha": 1, "text beta": 1, "note": 62, "refused": 32}
        assert sorted((grant.name, grant.session, grant.decision.value) for grant in runtime.grants()) == [
            ("alpha", "", "allow"),
            ("beta", "chat", "allow"),
            ("gamma", "", "refuse"),
        ]
        assert len(runtime.receipts()) == 2
