"""Scripts in a turn, in the real sandbox: heard while they run, and ended with whatever has called for them."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from prowess.activation.consent import Answer as Said
from prowess.activation.consent import Question
from prowess.agent.chat import Chat
from prowess.agent.chat_model import ModelRequest
from prowess.agent.events import (
    Asked,
    CallBegun,
    CallEnded,
    ConsentAnswered,
    Done,
    ForkEnded,
    Happening,
    OutputHeard,
)
from prowess.agent.messages import ToolMessage
from prowess.execution.stopping import check_stopped
from prowess.runtime import Runtime
from prowess.state.conversations import Outcome
from tests.agent.conftest import OPEN
from tests.agent.conversations import ask, find, hear, open_chat, told, watch
from tests.agent.scripted_model import Answer, ScriptedModel, call, calls, say
from tests.agent.valid_requests import find_faults
from tests.runtime.opening import start_python
from tests.runtime.people import Person
from tests.runtime.runs import Agreeable, find_processes, is_gone, write_scripts
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import call as call_command

pytestmark = [pytest.mark.slow, pytest.mark.requirement("K6")]

SLEEP = """
import os, pathlib, time
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
pathlib.Path(os.environ["PROWESS_OUTPUT"], "half.txt").write_text("half")
print("ready", flush=True)
time.sleep(600)
"""
"""With a child that leaves its session, to be ended all the same."""
SPEAK = "import time\nfor word in ('one', 'two', 'three'):\n    print(word, flush=True)\n    time.sleep(0.3)\n"


@pytest.fixture
def root(root: Path) -> Path:
    write_scripts(root, "alpha", {"sleep.py": SLEEP, "speak.py": SPEAK})
    write_skill(root, "deploy", description="Deploys.", extra="sandbox: true\n", body="Ship it with care.\n")
    return root


@pytest.fixture
def marker(request: pytest.FixtureRequest) -> Iterator[str]:
    """A word on the command line of a script, by which its processes are found; none is left of them afterwards."""
    word = f"marker-{os.getpid()}-{request.node.name}"[:80]
    yield word
    assert is_gone(word)


def run_script(script: str, *arguments: str, call_id: str = "run") -> Answer:
    return call("run_skill_script", call_id, name="alpha", script=f"scripts/{script}", arguments=list(arguments))


def once(first: Answer) -> Callable[[ModelRequest], Answer]:
    """Return a script that begins with an answer, and then says what came of it."""

    def answer(request: ModelRequest) -> Answer:
        last = request.messages[-1]
        return say(f"Heard: {last.content}") if isinstance(last, ToolMessage) else first

    return answer


def talk_until_ready(chat: Chat, message: str, act: Callable[[], object], marker: str) -> list[Happening]:
    """Say something, and do something else when the script says that it is ready."""
    found: list[Happening] = []

    async def lead() -> None:
        async for happening in chat.stream(message):
            found.append(happening)
            if isinstance(happening.event, OutputHeard) and "ready" in happening.event.text:
                assert find_processes(marker) != []
                act()

    anyio.run(lead)
    return found


def assert_goes_on(chat: Chat) -> None:
    """Assert that the conversation is whole, and that its next message is answered."""
    model = ScriptedModel(say("Well."))
    chat.use_model(model)
    assert [answer.text for answer in ask(chat, "And now?")] == ["Well."]
    assert find_faults(model.requests[-1].messages) == []


# Hearing


def test_output_is_heard_before_the_script_ends(runtime: Runtime, marker: str) -> None:
    model = ScriptedModel(script=once(run_script("speak.py", marker)))
    happenings = watch(open_chat(runtime, model, asker=Agreeable()), "Speak.")
    kinds = [type(one.event) for one in happenings]
    outputs = [at for at, kind in enumerate(kinds) if kind is OutputHeard]
    assert "".join(event.text for event in find(happenings, OutputHeard)) == "one\ntwo\nthree\n"
    assert len(outputs) > 1
    assert kinds.index(CallBegun) < outputs[0] < outputs[-1] < kinds.index(CallEnded)
    assert {event.call for event in find(happenings, OutputHeard)} == {"run"}
    (ended,) = find(happenings, CallEnded)
    assert (ended.state, ended.role, ended.data["exit_status"]) == ("done", "run", 0)
    assert "one\ntwo\nthree" in told(happenings).text


def test_script_at_its_time_limit_is_told_and_the_turn_goes_on(home: Home, root: Path, marker: str) -> None:
    home.write_settings(f"{OPEN}[execution]\ntimeout_seconds = 1\n")
    with Runtime.open() as runtime:
        model = ScriptedModel(script=once(run_script("sleep.py", marker)))
        happenings = watch(open_chat(runtime, model, asker=Agreeable()), "Sleep.")
        (ended,) = find(happenings, CallEnded)
        assert (ended.state, ended.data["timed_out"]) == ("failed", True)
        assert told(happenings).outcome is Outcome.ANSWERED
        assert told(happenings).text.startswith("Heard: Ended at its time limit after 1.")
        (run,) = runtime.runs()
        assert (run.timed_out, run.is_open) == (True, False)
    assert is_gone(marker)


@pytest.mark.parametrize("answer", [Said.REFUSE_ONCE, None])
def test_run_that_a_person_refuses_is_a_refused_card(runtime: Runtime, marker: str, answer: Said | None) -> None:
    model = ScriptedModel(script=once(run_script("sleep.py", marker)))
    happenings = watch(open_chat(runtime, model, asker=Person(answer)), "Sleep.")
    (ended,) = find(happenings, CallEnded)
    assert (ended.state, ended.is_error) == ("refused", True)
    assert [event.call for event in find(happenings, ConsentAnswered)] == ["run"]
    assert told(happenings).outcome is Outcome.ANSWERED
    assert runtime.runs() == ()


# Cancelling


def assert_cancelled(runtime: Runtime, chat: Chat, happenings: list[Happening], marker: str) -> None:
    assert find_processes(marker) == []
    assert [event.state for event in find(happenings, CallEnded)] == ["cancelled"]
    assert {event.outcome for event in find(happenings, Done)} == {Outcome.CANCELLED}
    (run,) = runtime.runs()
    assert (run.is_open, run.exit_status) == (False, None)
    assert [turn.outcome for turn in runtime.turns()] == [Outcome.CANCELLED] * len(find(happenings, Done))
    assert_goes_on(chat)


def test_cancelled_turn_ends_its_script_at_once(runtime: Runtime, marker: str) -> None:
    chat = open_chat(runtime, ScriptedModel(run_script("sleep.py", marker)), asker=Agreeable())
    happenings = talk_until_ready(chat, "Sleep.", chat.cancel, marker)
    assert_cancelled(runtime, chat, happenings, marker)


def test_whoever_leaves_the_turn_ends_its_script(runtime: Runtime, marker: str) -> None:
    chat = open_chat(runtime, ScriptedModel(run_script("sleep.py", marker)), asker=Agreeable())

    async def leave() -> None:
        async with aclosing(chat.stream("Sleep.")) as happenings:
            async for happening in happenings:
                if isinstance(happening.event, OutputHeard):
                    break

    anyio.run(leave)
    assert_cancelled(runtime, chat, list(chat.happenings()), marker)


def test_cancelled_task_around_the_turn_ends_its_script(runtime: Runtime, marker: str) -> None:
    chat = open_chat(runtime, ScriptedModel(run_script("sleep.py", marker)), asker=Agreeable())

    async def lead() -> None:
        with anyio.CancelScope() as scope:
            async for happening in chat.stream("Sleep."):
                if isinstance(happening.event, OutputHeard):
                    scope.cancel()
        assert scope.cancelled_caught

    anyio.run(lead)
    assert_cancelled(runtime, chat, list(chat.happenings()), marker)


def test_calls_after_a_cancelled_one_are_not_made_and_have_results(runtime: Runtime, marker: str) -> None:
    both = calls(run_script("sleep.py", marker), run_script("speak.py", call_id="second"))
    chat = open_chat(runtime, ScriptedModel(both), asker=Agreeable())
    happenings = talk_until_ready(chat, "Sleep.", chat.cancel, marker)
    assert [event.call for event in find(happenings, CallBegun)] == ["run"]
    results = [message for message in chat.messages() if isinstance(message, ToolMessage)]
    assert [(result.call, result.is_error) for result in results] == [("run", True), ("second", True)]
    assert_cancelled(runtime, chat, happenings, marker)


def test_cancelled_turn_ends_a_question_that_somebody_thinks_about(runtime: Runtime, marker: str) -> None:
    class Thinking(Person):
        def ask(self, question: Question) -> Said | None:
            self.questions.append(question)
            chat.cancel()
            while True:
                check_stopped()
                time.sleep(0.01)

    chat = open_chat(runtime, ScriptedModel(run_script("sleep.py", marker)), asker=Thinking())
    happenings = watch(chat, "Sleep.")
    assert [event.answer for event in find(happenings, ConsentAnswered)] == ["nobody"]
    assert [event.state for event in find(happenings, CallEnded)] == ["cancelled"]
    assert runtime.runs() == ()
    assert_goes_on(chat)


# Forks


def forking(child: Answer) -> ScriptedModel:
    """Return a model whose conversation has a skill worked by a subagent, which gives this answer first."""

    def answer(request: ModelRequest) -> Answer:
        deploy = call("activate_skill", name="deploy", arguments="Ship it.")
        return once(child if "You are a subagent" in request.system else deploy)(request)

    return ScriptedModel(script=answer)


def test_cancelled_turn_ends_the_script_of_its_fork(runtime: Runtime, marker: str) -> None:
    chat = open_chat(runtime, forking(run_script("sleep.py", marker)), asker=Agreeable())
    happenings = talk_until_ready(chat, "Go.", chat.cancel, marker)
    assert find_processes(marker) == []
    assert [event.state for event in find(happenings, CallEnded)] == ["cancelled", "cancelled"]
    assert [event.outcome for event in find(happenings, ForkEnded)] == [Outcome.CANCELLED]
    assert [event.outcome for event in find(happenings, Done)] == [Outcome.CANCELLED] * 2
    (run,) = runtime.runs()
    assert (run.is_open, run.exit_status, run.session.startswith("fork-")) == (False, None, True)
    assert [turn.outcome for turn in runtime.turns()] == [Outcome.CANCELLED] * 2
    assert runtime.grants() == ()
    assert_goes_on(chat)


def test_fork_at_its_time_limit_ends_its_script_and_the_turn_goes_on(home: Home, root: Path, marker: str) -> None:
    home.write_settings(f"{OPEN}[turns]\nfork_seconds = 2\n")
    with Runtime.open() as runtime:
        chat = open_chat(runtime, forking(run_script("sleep.py", marker)), asker=Agreeable())
        happenings = watch(chat, "Go.")
        assert find_processes(marker) == []
        assert [event.state for event in find(happenings, CallEnded)] == ["cancelled", "refused"]
        assert told(happenings).outcome is Outcome.ANSWERED
        assert told(happenings).text.startswith("Heard: the subagent of skill 'deploy' was ended after 2 seconds")
        assert [run.is_open for run in runtime.runs()] == [False]


# The whole process


TALK = f"""
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.agent.conversations import ask, open_chat
from tests.agent.test_cancelling_scripts import forking, run_script
from tests.agent.scripted_model import ScriptedModel, call, calls, say
from tests.runtime.runs import Agreeable
from prowess.agent.events import OutputHeard
def tell(happening):
    if isinstance(happening.event, OutputHeard):
        print(happening.event.text, end="", flush=True)
where, marker = sys.argv[1:]
script = run_script("sleep.py", marker)
model = forking(script) if where == "fork" else ScriptedModel(
    calls(call("activate_skill", name="painting"), script, call("search_skills", "last", query="walls"))
)
with Runtime.open() as runtime:
    ask(open_chat(runtime, model, asker=Agreeable(), watchers=[tell]), "Sleep.")
"""


@pytest.mark.parametrize("where", ["turn", "fork"])
def test_killed_process_leaves_a_conversation_that_others_can_go_on_with(
    runtime: Runtime, marker: str, where: str
) -> None:
    process = start_python(TALK, where, marker)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert find_processes(marker) != []
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert is_gone(marker)
    model = ScriptedModel(say("Well."))
    chat = open_chat(runtime, model)
    happenings = list(chat.happenings())
    begun = [event.tool for event in find(happenings, CallBegun)]
    ended = [event.tool for event in find(happenings, CallEnded)]
    if where == "turn":
        assert (begun, ended) == (["activate_skill", "run_skill_script"], ["activate_skill"])
    else:
        assert (begun, ended) == (["activate_skill", "run_skill_script"], [])
    results = [message for message in chat.messages() if isinstance(message, ToolMessage)]
    assert [(result.tool, result.is_error) for result in results] == (
        [("activate_skill", False), ("run_skill_script", True), ("search_skills", True)]
        if where == "turn"
        else [("activate_skill", True)]
    )
    assert results[-1].content.startswith("The call was ended before it gave a result.")
    assert [turn.outcome for turn in runtime.turns()] == [None] * (1 if where == "turn" else 2)
    assert [run.is_open for run in runtime.runs()] == [True]
    assert "\topen\t" in call_command("sessions", "chat").stdout
    assert [answer.text for answer in ask(chat, "And now?")] == ["Well."]
    assert find_faults(model.requests[-1].messages) == []
    assert [turn.outcome for turn in runtime.turns("chat")] == [Outcome.ANSWERED, None]
    if where == "turn":
        assert repr(model.requests[-1].messages).count("Paint with red.") == 1
        assert [receipt.name for receipt in chat.session.active()] == ["painting"]


def test_killed_process_leaves_the_message_that_it_was_asked(runtime: Runtime) -> None:
    script = f"""
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import os, signal
from tests.agent.conversations import ask, open_chat
from tests.agent.scripted_model import ScriptedModel
def die(request):
    os.kill(os.getpid(), signal.SIGKILL)
with Runtime.open() as runtime:
    ask(open_chat(runtime, ScriptedModel(script=die)), "Remember this.")
"""
    process = start_python(script)
    assert process.communicate() == ("", "")
    assert process.returncode == -signal.SIGKILL
    model = ScriptedModel(say("Well."))
    chat = open_chat(runtime, model)
    happenings = watch(chat, "And now?")
    assert [event.text for event in find(chat.happenings(), Asked)] == ["Remember this.", "And now?"]
    assert told(happenings).text == "Well."


def test_conversation_in_two_threads_of_control_is_refused_while_a_script_runs(runtime: Runtime, marker: str) -> None:
    chat = open_chat(runtime, ScriptedModel(run_script("sleep.py", marker)), asker=Agreeable())
    refusals: list[str] = []

    async def lead() -> None:
        async with anyio.create_task_group() as group:
            started = anyio.Event()

            async def listen() -> None:
                async for happening in chat.stream("Sleep."):
                    if isinstance(happening.event, OutputHeard):
                        started.set()

            group.start_soon(listen)
            await started.wait()
            try:
                await hear(chat, "Me too.")
            except Exception as error:  # noqa: BLE001 - whatever it is, it is looked at below
                refusals.append(getattr(error, "code", ""))
            chat.cancel()

    anyio.run(lead)
    assert refusals == ["chat-busy"]
    assert_goes_on(chat)
