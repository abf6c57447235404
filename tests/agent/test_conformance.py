"""The conformance skill, worked from end to end by an agent with the offline model and a real sandbox."""

from pathlib import Path

import pytest

import prowess
from prowess.agent.agent import Agent
from prowess.agent.chat import Chat
from prowess.agent.events import CallEnded, OutputHeard, SkillLoaded, Told
from prowess.runtime import Runtime
from prowess.state.conversations import Outcome
from tests.agent.conversations import find, told, watch
from tests.runtime.runs import Agreeable
from tests.skills_on_disk import Home

NAME = "skills-system-validation"
BUNDLED = Path(prowess.__file__).parent / "bundled"
MESSAGE = f"/{NAME} Do the whole procedure, and run scripts/echo.sh with 'plum' and 'two words'."


def _converse(runtime: Runtime, chat_id: str, *messages: str) -> tuple[Chat, list[prowess.Happening]]:
    chat = Agent(runtime, model="offline", asker=Agreeable()).chat(chat_id)
    return chat, watch(chat, *messages)


@pytest.mark.slow
@pytest.mark.requirement("R109", "R64", "R65", "R96")
def test_whole_procedure_passes_with_the_offline_model(home: Home) -> None:
    with Runtime.open() as runtime:
        _, happenings = _converse(runtime, "chat", MESSAGE)
    body, reference, asset, script = (_find_marker(path) for path in ("SKILL.md", *_MARKED))
    # Discovery: it is in the list once, and nothing of its body is.
    (prompt,) = [event.system for event in find(happenings, Told)]
    assert prompt.count(f"<name>{NAME}</name>") == 1
    assert body not in prompt
    # Activation by the host, with the whole body.
    assert [event.name for event in find(happenings, SkillLoaded)] == [NAME]
    results = find(happenings, CallEnded)
    done = [event for event in results if event.state == "done"]
    assert [event.role for event in done] == ["read", "read", "run"]
    # Resources, with their markers; the missing file and the seven paths are refused without any content.
    assert reference in done[0].content
    assert asset in done[1].content
    failed = [event for event in results if event.state == "failed"]
    assert [event.content.split("\n")[0] for event in failed] == [
        "resource not found",
        "Path traversal is not allowed",
        "Path traversal is not allowed",
        "Absolute paths are not allowed",
        "Path traversal is not allowed",
        "Path traversal is not allowed",
        "Missing resource path.",
        "Invalid resource path.",
    ]
    # The script ran in a sandbox, with its arguments, and was heard while it ran.
    assert done[2].data["exit_status"] == 0
    assert [f"MARKER: {script}", "ARGUMENTS: 2", "ARGUMENT: plum", "ARGUMENT: two words"] == done[2].data[
        "stdout"
    ].splitlines()
    assert script in "".join(event.text for event in find(happenings, OutputHeard))
    # The report quotes what was found.
    answer = told(happenings)
    assert answer.outcome is Outcome.ANSWERED
    for marker in (body, reference, asset, script):
        assert marker in answer.text
    assert answer.text.startswith("Offline model: ")


_MARKED = ("references/REFERENCE.md", "assets/fixture.json", "scripts/echo.sh")


def _find_marker(path: str) -> str:
    """Return the marker that a file of the skill has, and no other."""
    import re

    (found,) = set(re.findall(r"PROWESS_VALIDATION_[A-Z]+_[0-9A-F]{4}", (BUNDLED / NAME / path).read_text("utf-8")))
    return found


@pytest.mark.requirement("R109")
def test_refused_script_is_told_and_the_rest_goes_on(home: Home) -> None:
    with Runtime.open() as runtime:  # Nobody is there to agree.
        chat = Agent(runtime, model="offline").chat("chat")
        happenings = watch(chat, MESSAGE)
        assert runtime.runs() == ()
    (refused,) = [event for event in find(happenings, CallEnded) if event.state == "refused"]
    assert refused.role == "run"
    assert "needs the user's consent" in told(happenings).text


@pytest.mark.requirement("R109")
def test_same_conversation_gets_the_same_answer(home: Home) -> None:
    answers: list[str] = []
    for chat_id in ("one", "two"):
        with Runtime.open() as runtime:
            _, happenings = _converse(runtime, chat_id, f"/{NAME} Only steps 1 to 3.", "Thank you.")
            answers.append("\n".join(event.content for event in find(happenings, CallEnded)) + told(happenings).text)
    assert answers[0] == answers[1]
