"""A turn that is cancelled at any of its events leaves a conversation that is whole, and that goes on."""

import signal
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from prowess.agent.chat import Chat
from prowess.agent.chat_model import ModelRequest
from prowess.agent.cuts import SUMMARISE
from prowess.agent.events import Begun, CallEnded, Compacted, Done, ForkBegun, ForkEnded, Happening
from prowess.agent.messages import ToolMessage
from prowess.runtime import Runtime
from prowess.state.conversations import Outcome
from tests.agent.conftest import OPEN
from tests.agent.conversations import ask, find, hear, open_chat
from tests.agent.scripted_model import Answer, ScriptedModel, call, calls, say
from tests.agent.valid_requests import find_faults
from tests.runtime.opening import start_python
from tests.skills_on_disk import Home, write_skill

pytestmark = pytest.mark.slow

_CHILD = "You are a subagent"


@pytest.fixture
def runtime(home: Home, root: Path) -> Iterator[Runtime]:
    """A runtime in which a turn has everything in it: calls, a fork, and a compaction."""
    home.write_settings(f"{OPEN}[turns]\ncompact_tokens = 1500\nkeep_tokens = 300\n")
    write_skill(root, "deploy", description="Deploys.", extra="sandbox: true\n", body="Ship it with care.\n")
    write_skill(root, "long", files={"long.md": "word " * 500})
    with Runtime.open() as opened:
        yield opened


class Busy(ScriptedModel):
    """A model that does all that there is to do."""

    summarises = True

    def __init__(self) -> None:
        super().__init__(script=self._work)

    def _work(self, request: ModelRequest) -> Answer:
        if request.system == SUMMARISE:
            return say("They worked.")
        assert find_faults(request.messages) == []
        done = [message.call for message in request.messages if isinstance(message, ToolMessage)]
        if _CHILD in request.system:
            return say("Shipped.") if done else call("search_skills", "search", query="walls")
        count = len([one for one in self.requests if one.system != SUMMARISE and _CHILD not in one.system])
        match count:
            case 1:
                return calls(say("I begin. "), call("activate_skill", "painting", name="painting"))
            case 2:
                fork = call("activate_skill", "deploy", name="deploy", arguments="Ship.")
                return calls(fork, call("read_skill_resource", "read", name="long", path="long.md"))
            case 3:
                return call("read_skill_resource", "again", name="long", path="long.md")
            case _:
                return say("All is done.")


def run_once(runtime: Runtime) -> list[Happening]:
    """Return what happens when nobody interferes."""

    async def lead() -> list[Happening]:
        return await hear(open_chat(runtime, Busy(), "whole"), "Work.")

    happenings = anyio.run(lead)
    assert find(happenings, Done)[-1].text == "All is done."
    assert find(happenings, Compacted) != []
    assert find(happenings, ForkEnded) != []
    return happenings


def assert_consistent(runtime: Runtime, chat: Chat) -> None:
    """Assert that all that was begun has an end, and that the conversation goes on."""
    kept = list(chat.happenings())
    for kind, end in ((Begun, Done), (ForkBegun, ForkEnded)):
        assert len(find(kept, kind)) == len(find(kept, end))
    assert [turn for turn in runtime.turns() if turn.is_open] == []
    assert_goes_on(runtime, chat)


def assert_goes_on(runtime: Runtime, chat: Chat) -> None:
    """Assert that a reload finds a conversation that is whole, and that its next message is answered."""
    kept = list(chat.happenings())
    assert [one.number for one in kept] == list(range(1, len(kept) + 1))
    assert not chat.messages() or find_faults(chat.messages()) == []
    model = ScriptedModel(say("Well."))
    again = open_chat(runtime, model, chat.id)
    assert again.messages() == chat.messages()
    assert [answer.text for answer in ask(again, "And now?")] == ["Well."]
    assert find_faults(model.requests[-1].messages) == []
    held = [receipt.name for receipt in again.session.active() if receipt.in_context]
    assert ("painting" in held) == ("Paint with red." in repr(model.requests[-1].messages))


def cancel_at(runtime: Runtime, number: int) -> tuple[Chat, list[Happening]]:
    """Have a turn cancelled while one of its events is told, in whichever thread that is."""
    heard: list[Happening] = []

    def hear_one(happening: Happening) -> None:
        heard.append(happening)
        if len(heard) == number:
            chat.cancel()

    chat = open_chat(runtime, Busy(), f"cancelled-{number}", watchers=[hear_one])
    ask(chat, "Work.")
    return chat, heard


def test_turn_can_be_cancelled_at_any_event(runtime: Runtime) -> None:
    total = len(run_once(runtime))
    outcomes: list[Outcome] = []
    states: set[str] = set()
    for number in range(1, total + 1):
        chat, heard = cancel_at(runtime, number)
        outcomes.append(find(heard, Done)[-1].outcome)
        states |= {event.state for event in find(heard, CallEnded)}
        assert_consistent(runtime, chat)
    assert outcomes.count(Outcome.CANCELLED) > total // 2
    assert outcomes[-1] is Outcome.ANSWERED
    assert states == {"done", "cancelled"}


def test_turn_can_be_left_at_any_event(runtime: Runtime) -> None:
    total = len(run_once(runtime))

    async def leave(chat: Chat, number: int) -> None:
        async with aclosing(chat.stream("Work.")) as happenings:
            at = 0
            async for _ in happenings:
                if at == number:
                    break
                at += 1

    for number in range(0, total, 2):
        chat = open_chat(runtime, Busy(), f"left-{number}")
        anyio.run(leave, chat, number)
        assert_consistent(runtime, chat)


DIE = f"""
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import os, signal
from tests.agent.conversations import ask, open_chat
from tests.agent.test_cancelling_anywhere import Busy
left = int(sys.argv[1])
def die(happening):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
with Runtime.open() as runtime:
    ask(open_chat(runtime, Busy(), f"killed-{{left}}", watchers=[die]), "Work.")
"""


@pytest.mark.requirement("K6")
def test_process_can_be_killed_at_any_event(runtime: Runtime) -> None:
    total = len(run_once(runtime))
    for number in range(1, total + 1, 3):
        process = start_python(DIE, str(number))
        assert process.communicate() == ("", "")
        assert process.returncode == -signal.SIGKILL
        chat = open_chat(runtime, ScriptedModel(), f"killed-{number}")
        assert_goes_on(runtime, chat)
