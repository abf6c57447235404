"""Scripts that a fork runs, in a real sandbox: what it was not given, they do not have (K2, K8, R94)."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prowess.activation.consent import Answer as Said
from prowess.activation.grants import Act, Decision
from prowess.agent.chat import Chat
from prowess.agent.events import CallEnded, ForkEnded, Happening, OutputHeard
from prowess.execution.rules.rights import EVERYTHING, Rights
from prowess.runtime import Runtime
from prowess.state.conversations import Outcome
from tests.agent.conversations import find, open_chat, told, watch
from tests.agent.forked import calling, cast, ends, trying
from tests.agent.scripted_model import Answer, call
from tests.runtime.opening import ONLY_MINE
from tests.runtime.people import Person
from tests.runtime.runs import is_gone, write_scripts
from tests.skills_on_disk import Home

pytestmark = [pytest.mark.slow, pytest.mark.requirement("K2", "R94")]

_HOST = 'network = "granted"\nworkspace = "write"\n'
_LOOK = """
import json, os, socket, sys
def attempt(act):
    try:
        return act()
    except OSError:
        return None
def reach():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5) as reached:
        return reached.recv(100).decode()
def write():
    with open("/workspace/new.txt", "w") as file:
        return file.write("mine")
print(json.dumps([attempt(reach), attempt(write), os.environ.get("TOKEN")]))
"""
_SHIP = call("activate_skill", name="deploy", arguments="Ship.")


@pytest.fixture
def root(home: Home, root: Path) -> Path:
    """A skill that asks for nothing, one that asks for much, and a workspace that could be written."""
    if os.geteuid() == 0:
        os.chown(home.project, 1234, 1234)
    home.write_settings(f"{ONLY_MINE}[execution]\n{_HOST}")
    write_scripts(root, "deploy", {"look.py": _LOOK}, extra="sandbox: true\n")
    extra = 'sandbox: true\npermissions: ["@network", "@workspace"]\n'
    write_scripts(root, "wide", {"look.py": _LOOK}, extra=extra)
    return root


@pytest.fixture
def runtime(root: Path) -> Iterator[Runtime]:
    with Runtime.open() as opened:
        for name in ("deploy", "wide"):
            opened.decide(name, Decision.ALLOW)
        yield opened


def _run(name: str, port: int = 0, script: str = "scripts/look.py") -> Answer:
    return call("run_skill_script", name=name, script=script, arguments=[str(port)])


def _powers(*more: str) -> tuple[str, ...]:
    return ("network", f"workspace:write:{os.path.realpath(os.getcwd())}", *more)


def _saw(happenings: list[Happening]) -> list[object]:
    """Return what the scripts have printed, that of forks too."""
    printed = [event.data.get("stdout") for event in find(happenings, CallEnded) if event.role == "run"]
    return [json.loads(text) if text else None for text in printed]


# Powers


def test_scripts_of_a_fork_have_the_powers_that_it_declares(runtime: Runtime, home: Home, port: int) -> None:
    """Without this, the tests below would prove nothing."""
    runtime.decide("wide", Decision.ALLOW, act=Act.RUN, powers=_powers())
    happenings = watch(open_chat(runtime, cast(calling("wide"), wide=trying(_run("wide", port)))), "Go.")
    assert _saw(happenings) == [["welcome", 4, None]]
    assert (home.project / "new.txt").read_text() == "mine"


@pytest.mark.parametrize("session", ["", "chat"])
def test_powers_that_a_fork_does_not_declare_are_not_there(
    runtime: Runtime, home: Home, port: int, session: str
) -> None:
    """Though its caller has them, and the user has agreed to them for these very files."""
    runtime.decide("deploy", Decision.ALLOW, session_id=session, act=Act.RUN, powers=_powers())
    attempt = _run("deploy", port)
    happenings = watch(open_chat(runtime, cast(trying(attempt, _SHIP), deploy=trying(attempt))), "Go.")
    assert _saw(happenings) == [[None, 4, None], [None, None, None]]
    assert [run.powers for run in reversed(runtime.runs())] == [_powers()[1:], ()]


def test_another_skill_brings_no_powers_into_a_fork(runtime: Runtime, home: Home, port: int) -> None:
    runtime.decide("wide", Decision.ALLOW, act=Act.RUN, powers=_powers())
    attempts = (call("read_skill_resource", name="wide", path="SKILL.md"), _run("wide", port))
    happenings = watch(open_chat(runtime, cast(trying(_SHIP), deploy=trying(*attempts))), "Go.")
    assert _saw(happenings) == [[None, None, None]]
    (result,) = [event for event in find(happenings, CallEnded) if event.role == "run"]
    assert "[the skill asks for the network, which runs do not have here]" in result.content
    assert not (home.project / "new.txt").exists()


def test_call_in_a_fork_asks_for_no_powers(runtime: Runtime, port: int) -> None:
    runtime.decide("deploy", Decision.ALLOW, act=Act.RUN, powers=_powers())
    asked: tuple[dict[str, Any], ...] = (
        {"network": True},
        {"workspace": "write"},
        {"backend": "none"},
        {"request": {"network": True}},
    )
    attempts = [call("run_skill_script", name="deploy", script="scripts/look.py", **more) for more in asked]
    happenings = watch(open_chat(runtime, cast(trying(_SHIP), deploy=trying(*attempts))), "Go.")
    assert [state for state, _ in ends(happenings, skill="deploy")] == ["failed"] * 4
    assert runtime.runs() == ()


@pytest.mark.requirement("K8")
def test_secret_that_the_conversation_was_allowed_is_asked_for_again_in_a_fork_of_another_skill(
    runtime: Runtime, root: Path, home: Home
) -> None:
    write_scripts(root, "keys", {"look.py": _LOOK}, extra="secrets: [TOKEN]\n")
    runtime.workbench.secrets().set("TOKEN", "s3cr3t-value")
    powers = ("secret:TOKEN", _powers()[1])
    runtime.decide("keys", Decision.ALLOW)
    runtime.decide("keys", Decision.ALLOW, session_id="chat", act=Act.RUN, powers=powers)
    person = Person(Said.REFUSE_ONCE)
    model = cast(trying(_run("keys"), _SHIP), deploy=trying(_run("keys")))
    happenings = watch(open_chat(runtime, model, asker=person), "Go.")
    assert [(one.powers, one.on_behalf_of) for one in person.questions] == [(("secret:TOKEN",), "deploy Skill")]
    assert [state for state, _ in ends(happenings, skill="deploy")] == ["refused"]
    assert [run.powers for run in runtime.runs()] == [powers]
    assert "s3cr3t-value" not in repr(happenings)


@pytest.mark.parametrize("by", ["host", "session"])
def test_rules_of_a_skill_let_a_fork_run_nothing_that_its_caller_may_not(home: Home, root: Path, by: str) -> None:
    tools = 'tools = ["Read"]\n' if by == "host" else ""
    home.write_settings(f"{ONLY_MINE}[execution]\n{tools}")
    write_scripts(root, "deploy", {"look.py": _LOOK}, extra='sandbox: true\nallowed-tools: "*"\n')
    rights = EVERYTHING if by == "host" else Rights(tools=(("Read",),))
    with Runtime.open() as runtime:
        runtime.decide("deploy", Decision.ALLOW)
        runtime.decide("deploy", Decision.ALLOW, act=Act.RUN)
        model = cast(trying(_SHIP), deploy=trying(_run("deploy")))
        happenings = watch(open_chat(runtime, model, rights=rights), "Go.")
        assert runtime.runs() == ()
    (refused,) = ends(happenings, skill="deploy")
    assert (refused[0], refused[1][:69]) == (
        "refused",
        "running scripts/look.py is not allowed here under skill 'deploy': no ",
    )


# Other files than those agreed to


def test_script_that_changes_while_a_fork_works_is_not_run(runtime: Runtime, root: Path) -> None:
    """The copy that was agreed to is run while it stands; the new one is asked about."""
    runtime.decide("deploy", Decision.ALLOW, act=Act.RUN, powers=_powers())
    evil = root / "deploy" / "scripts" / "look.py"

    def change() -> Answer:
        evil.write_text("print('\"evil\"')")
        return _run("deploy")

    person = Person(Said.REFUSE_ONCE)
    model = cast(trying(_SHIP), deploy=trying(_run("deploy"), change, _run("deploy")))
    happenings = watch(open_chat(runtime, model, asker=person), "Go.")
    assert _saw(happenings) == [[None, None, None], [None, None, None], None]
    assert [state for state, _ in ends(happenings, skill="deploy")] == ["done", "done", "refused"]
    assert [(one.script, one.on_behalf_of) for one in person.questions] == [("scripts/look.py", "deploy Skill")]


def test_skill_that_comes_to_ask_for_more_has_its_scripts_held_to_what_it_asked_before(
    root: Path, home: Home, port: int
) -> None:
    """The rules and the powers of a run are those of the version that runs, and not of what was found since."""
    home.write_settings(f'{ONLY_MINE}[execution]\n{_HOST}allowed_tools = "enforce"\n')
    narrow = "allowed-tools: Bash(python3 scripts/other.py)\n"
    write_scripts(root, "deploy", {"look.py": _LOOK}, extra=f"sandbox: true\n{narrow}")

    def change() -> Answer:
        write_scripts(root, "deploy", {"look.py": _LOOK}, extra='permissions: ["@network"]\nallowed-tools: "*"\n')
        runtime.rescan()
        return _run("deploy", port)

    with Runtime.open() as runtime:
        runtime.decide("deploy", Decision.ALLOW)
        runtime.decide("deploy", Decision.ALLOW, act=Act.RUN, powers=_powers())
        happenings = watch(open_chat(runtime, cast(trying(change)), asker=Person()), "Go.")
        assert [state for state, _ in ends(happenings)] == ["refused"]
        assert runtime.runs() == ()


# Ends


@pytest.mark.parametrize("way", ["cancelled", "out of time"])
def test_script_of_a_fork_ends_with_it(home: Home, root: Path, way: str) -> None:
    seconds = 2 if way == "out of time" else 600
    home.write_settings(f"{ONLY_MINE}[turns]\nfork_seconds = {seconds}\n")
    write_scripts(root, "deploy", {"wait.sh": "echo begun; exec sleep 600.$1"}, extra="sandbox: true\n")
    marker = f"{os.getpid()}0{seconds}"
    with Runtime.open() as runtime:
        runtime.decide("deploy", Decision.ALLOW)
        runtime.decide("deploy", Decision.ALLOW, act=Act.RUN)
        attempt = call("run_skill_script", name="deploy", script="scripts/wait.sh", arguments=[marker])
        model = cast(calling("deploy"), deploy=trying(attempt))

        def listen(happening: Happening) -> None:
            if way == "cancelled" and isinstance(happening.event, OutputHeard):
                chat.cancel()

        chat = open_chat(runtime, model, watchers=[listen])
        happenings = watch(chat, "Go.")
        assert is_gone(f"600.{marker}")
        (ended,) = find(happenings, ForkEnded)
        (run,) = runtime.runs()
        assert (ended.outcome, run.ended_at is None) == (Outcome.CANCELLED, False)
        assert [grant for grant in runtime.grants() if grant.session] == []
        expected = Outcome.CANCELLED if way == "cancelled" else Outcome.ANSWERED
        assert told(happenings).outcome is expected


def test_consent_that_comes_when_the_turn_was_cancelled_runs_nothing(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)
    with Runtime.open() as runtime:
        runtime.decide("deploy", Decision.ALLOW)
        chats: list[Chat] = []
        person = Person(Said.ALLOW_ALWAYS, before=lambda: [chat.cancel() for chat in chats])
        chats += [open_chat(runtime, cast(calling("deploy"), deploy=trying(_run("deploy"))), asker=person)]
        happenings = watch(chats[0], "Go.")
        assert [state for state, _ in ends(happenings, skill="deploy")] == ["cancelled"]
        assert (person.count, runtime.runs()) == (1, ())


def test_nested_fork_does_not_outlast_the_time_of_the_outer(home: Home, root: Path) -> None:
    home.write_settings(f'{ONLY_MINE}[turns]\nfork_seconds = 2\n[activation]\nconsent = "never"\n')
    write_scripts(root, "deploy", {"wait.sh": "exec sleep 601.$1"}, extra="sandbox: true\n")
    write_scripts(root, "plan", {"a.sh": "true"}, extra="sandbox: true\n")
    marker = str(os.getpid())
    with Runtime.open() as runtime:
        runtime.decide("deploy", Decision.ALLOW, act=Act.RUN)
        attempt = call("run_skill_script", name="deploy", script="scripts/wait.sh", arguments=[marker])
        model = cast(calling("plan"), plan=trying(*[_SHIP] * 20), deploy=trying(attempt))
        happenings = watch(open_chat(runtime, model), "Go.")
        assert is_gone(f"601.{marker}")
    outcomes = [event.outcome for event in find(happenings, ForkEnded)]
    assert set(outcomes) == {Outcome.CANCELLED}
    assert told(happenings).text.startswith("Heard: the subagent of skill 'plan' was ended after 2 seconds")


def test_variables_of_code_are_not_shared_with_a_fork(home: Home, root: Path) -> None:
    home.write_settings(f'{ONLY_MINE}[activation]\nconsent = "never"\ntools = "python"\n')
    with Runtime.open() as runtime:
        keep = call("run_python", code="token = 's3cr3t'\nskill('deploy', 'Ship.')")
        model = cast(trying(keep), deploy=trying(call("run_python", code="token")))
        happenings = watch(open_chat(runtime, model), "Go.")
    assert "s3cr3t" not in told(happenings).text
    assert "NameError" in told(happenings).text
