"""What every framework gives an agent, held to with the framework itself and a model behind real HTTP."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from prowess.activation.consent import Answer, CallbackAsker, Question
from prowess.runtime import Runtime, Session
from tests.agent.openai_replies import Reply, call, say
from tests.runtime.people import Person
from tests.runtime.runs import find_processes, is_gone, write_scripts
from tests.skills_on_disk import write_skill
from tests.surfaces.frameworks.drivers import INSTRUCTIONS, Driver, Say
from tests.surfaces.frameworks.model_servers import Asked, serve_model

pytestmark = pytest.mark.slow

_ACTIVATE = call("activate_skill", {"name": "painting"})
_TOOLS = {"activate_skill", "deactivate_skill", "read_skill_resource", "search_skills"}
_SUMS = '''from prowess_toolset import Toolset, tool


class Sums(Toolset):
    @tool
    def add(self, a: int, config: int = 1) -> int:
        """Add two numbers."""
        return a + config
'''
_SLEEP = "import time\nprint('ready', flush=True)\ntime.sleep(600)\n"


@pytest.fixture
def marker(request: pytest.FixtureRequest) -> Iterator[str]:
    """A word on the command line of a script, by which its processes are found; none is left of them afterwards."""
    word = f"marker-{os.getpid()}-{request.node.name}"[:80]
    yield word
    assert is_gone(word)


def talk(
    driver: Driver, session: Session, script: list[Reply], *messages: str, between: Callable[[], object] = lambda: None
) -> tuple[list[str], list[Asked]]:
    """Say these things in one conversation; return the answers, and what the model was asked."""

    async def lead() -> list[str]:
        answers: list[str] = []
        async with driver.lead(session, server.url) as say_it:
            for number, message in enumerate(messages):
                if number:
                    between()
                answers.append(await say_it(message))
        return answers

    with serve_model(driver.protocol, *script) as server:
        answers = anyio.run(lead)
    assert len(server.asked) == len(script)
    return answers, server.asked


def test_model_is_told_of_skills_and_its_calls_are_carried_out(driver: Driver, runtime: Runtime) -> None:
    with runtime.session("chat") as session:
        answers, (first, second) = talk(driver, session, [_ACTIVATE, say("Painted.")], "Paint the wall.")
        assert [receipt.name for receipt in session.active()] == ["painting"]
    assert answers == ["Painted."]
    assert first.system.startswith(INSTRUCTIONS)
    assert "Paints walls. Use for walls." in first.system
    assert set(first.tools) == _TOOLS
    assert first.tools["activate_skill"]["properties"]["name"]["enum"] == ["painting"]
    assert first.messages == ("Paint the wall.",)
    (result,) = second.results
    assert "Paint with red." in result.text
    assert not result.is_error
    assert second.system.startswith(first.system)
    assert "painting" in second.system.removeprefix(first.system)


@pytest.mark.requirement("K11")
def test_prompt_stays_to_the_byte_while_nothing_changes(driver: Driver, runtime: Runtime) -> None:
    with runtime.session("chat") as session:
        script = [say("Yes."), call("search_skills", {"query": "walls"}), say("Indeed."), say("Well.")]
        _, asked = talk(driver, session, script, "Hi.", "Do you paint?", "Bye.")
    assert len({one.system for one in asked}) == 1
    assert len({repr(one.tools) for one in asked}) == 1


def test_skills_come_and_go_with_the_catalog(driver: Driver, root: Path, runtime: Runtime) -> None:
    def change() -> None:
        next(steps)()

    steps = iter(
        (
            lambda: write_skill(root, "baking", description="Bakes bread."),
            lambda: shutil.rmtree(root / "baking"),
            lambda: shutil.rmtree(root / "painting"),
        )
    )
    with runtime.session("chat") as session:
        script = [say("One."), say("Two."), say("Three."), say("Four.")]
        _, asked = talk(driver, session, script, "Hi.", "And?", "And?", "And?", between=change)
    assert ["Bakes bread." in one.system for one in asked] == [False, True, False, False]
    assert [one.tools for one in asked[:1]] == [one.tools for one in asked[2:3]]
    assert asked[1].tools["activate_skill"]["properties"]["name"]["enum"] == ["baking", "painting"]
    assert asked[3].system.startswith(INSTRUCTIONS)
    assert "skill" not in asked[3].system
    assert dict(asked[3].tools) == {}


@pytest.mark.requirement("R69")
def test_skill_brings_its_tools_in_the_same_turn_and_takes_them_along(
    driver: Driver, root: Path, runtime: Runtime
) -> None:
    write_scripts(root, "sums", {"toolsets/sums.py": _SUMS}, extra='toolsets: ["toolsets/sums:Sums"]\n')
    script = [
        call("activate_skill", {"name": "sums"}),
        call("sums__add", {"a": 2, "config": 3}),
        call("deactivate_skill", {"name": "sums"}),
        say("It is five."),
    ]
    with runtime.session("chat") as session:
        answers, asked = talk(driver, session, script, "What is 2 and 3?")
    assert answers == ["It is five."]
    assert ["sums__add" in one.tools for one in asked] == [False, True, True, False]
    assert asked[2].results[-1].text == "5"


def test_refusal_is_told_to_the_model(driver: Driver, runtime: Runtime) -> None:
    person = Person(Answer.REFUSE_ONCE)
    with runtime.session("chat", asker=person) as session:
        answers, (_, second) = talk(driver, session, [_ACTIVATE, say("Then not.")], "Paint the wall.")
        assert session.active() == ()
    assert (answers, person.count) == (["Then not."], 1)
    (result,) = second.results
    assert "Go on without it, and tell the user so" in result.text
    assert "Paint with red." not in result.text
    assert result.is_error is not False


def test_wrong_call_gets_a_result_to_learn_from(driver: Driver, runtime: Runtime) -> None:
    wrong = call("activate_skill", {"name": "sewing"}) + call("read_skill_resource", {"name": "painting"})
    with runtime.session("chat") as session:
        answers, (_, second) = talk(driver, session, [wrong, say("Sorry.")], "Sew.")
    assert answers == ["Sorry."]
    unknown, incomplete = second.results
    assert "sewing" in unknown.text
    assert "path" in incomplete.text
    assert {unknown.is_error, incomplete.is_error} <= {True, None}


def test_mentioned_skill_comes_with_the_message(driver: Driver, runtime: Runtime) -> None:
    with runtime.session("chat") as session:
        _, (asked,) = talk(driver, session, [say("Painted.")], "/painting The wall.")
        assert [receipt.name for receipt in session.active()] == ["painting"]
    (message,) = asked.messages
    assert "Paint with red." in message
    assert message.endswith("The wall.")


def test_refused_mention_is_told_with_the_message(driver: Driver, runtime: Runtime) -> None:
    with runtime.session("chat", asker=Person(Answer.REFUSE_ONCE)) as session:
        _, (asked,) = talk(driver, session, [say("Then not.")], "/painting The wall.")
    (message,) = asked.messages
    assert "The user called for painting, which is not active" in message
    assert message.endswith("The wall.")


def test_event_loop_goes_on_while_a_call_takes_its_time(driver: Driver, runtime: Runtime) -> None:
    """The person answers only when the loop has done something else meanwhile."""
    asked, ticked = threading.Event(), threading.Event()

    def think(_: Question) -> Answer:
        asked.set()
        assert ticked.wait(30), "the event loop stands still"
        return Answer.ALLOW_ONCE

    async def lead() -> str:
        async with anyio.create_task_group() as group, driver.lead(session, server.url) as say_it:

            async def tick() -> None:
                await anyio.to_thread.run_sync(asked.wait)
                ticked.set()

            group.start_soon(tick)
            return await say_it("Paint the wall.")
        raise AssertionError("unreachable")

    with (
        serve_model(driver.protocol, _ACTIVATE, say("Painted.")) as server,
        runtime.session("chat", asker=CallbackAsker(think)) as session,
    ):
        assert anyio.run(lead) == "Painted."


def wait_for(marker: str) -> None:
    while not find_processes(marker):
        time.sleep(0.02)


def test_cancelled_turn_ends_its_script(driver: Driver, root: Path, runtime: Runtime, marker: str) -> None:
    write_scripts(root, "alpha", {"sleep.py": _SLEEP})
    arguments = {"name": "alpha", "script": "scripts/sleep.py", "arguments": [marker]}

    async def cancel_when_it_runs(say_it: Say) -> None:
        async with anyio.create_task_group() as group:

            async def ask() -> None:
                await say_it("Sleep.")

            group.start_soon(ask)
            await anyio.to_thread.run_sync(wait_for, marker)
            group.cancel_scope.cancel()

    async def lead() -> None:
        with anyio.fail_after(60):
            async with driver.lead(session, server.url) as say_it:
                await cancel_when_it_runs(say_it)
        assert await anyio.to_thread.run_sync(is_gone, marker)

    with (
        serve_model(driver.protocol, call("run_skill_script", arguments)) as server,
        runtime.session("chat") as session,
    ):
        anyio.run(lead)
    assert len(server.asked) == 1
