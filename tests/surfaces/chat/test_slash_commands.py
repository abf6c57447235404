"""Lines that are for Prowess, and those that only look so."""

import time
from collections.abc import Iterator

import anyio
import pytest

from prowess.agent.agent import Agent
from prowess.runtime import Runtime
from prowess.surfaces.chat_ids import make_chat_id
from prowess.surfaces.cli.chat.room import Room
from prowess.surfaces.cli.chat.slash_commands import (
    ABOUT,
    BeginAnew,
    Leave,
    Message,
    Reply,
    UseModel,
    answer_line,
    remark_on,
)
from tests.skills_on_disk import Home, write_skill


@pytest.fixture
def room(home: Home) -> Iterator[Room]:
    """A conversation with three skills, one of which has the name of a command."""
    root = home.project / "skills"
    write_skill(root, "painting", description="Paints walls. Use for walls.")
    write_skill(root, "help", description="Helps a lot. Use in need.")
    write_skill(root, "quiet", description="Is called by people only.", extra="disable-model-invocation: true\n")
    with Runtime.open(skills=[root]) as runtime:
        yield Room(runtime, Agent(runtime), chat_id="monday")


def _lines(line: str, room: Room) -> list[str]:
    reply = answer_line(line, room)
    assert isinstance(reply, Reply)
    return [one.text for one in reply.lines]


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        "/painting the wall",
        "  /painting",
        "/quiet",
        "$help me",
        "/etc/hosts is a file",
        "/etc/hosts",
        "/ alone",
        "/",
        "/3 times",
        "/home/me",
        "/*comment*/",
        "what is /nope",
        "$nope",
    ],
)
def test_line_for_the_model_is_left_alone(room: Room, line: str) -> None:
    assert answer_line(line, room) == Message(line)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("/paintin", "no command and no skill 'paintin'; did you mean /painting?"),
        ("/skils walls", "no command and no skill 'skils'; did you mean /skills?"),
        ("/zzzz", "no command and no skill 'zzzz'; /help says what can be typed, /skills which skills there are"),
        ("/Help", "no command and no skill 'Help'; did you mean /help?"),
    ],
)
def test_unknown_name_is_not_sent_to_the_model(room: Room, line: str, answer: str) -> None:
    assert _lines(line, room) == [answer]


def test_command_goes_before_a_skill_of_its_name_and_help_says_so(room: Room) -> None:
    lines = _lines("/help", room)
    assert len(lines) == len(ABOUT) + 3
    assert "A skill with the name of a command is called by $NAME only." in lines


def test_skills_are_listed_with_what_is_on(room: Room) -> None:
    room.chat.session.activate("painting")
    assert _lines("/skills", room) == [
        "  help      project  ok            Helps a lot. Use in need.",
        "● painting  project  on            Paints walls. Use for walls.",
        "  quiet     project  for you only  Is called by people only.",
    ]
    assert _lines("/skills walls", room) == ["● painting  project  on  Paints walls. Use for walls."]
    assert _lines("/skills qwertz", room) == ["no skill fits; try other words"]


def test_active_skills_are_shown_and_switched_off(room: Room) -> None:
    assert _lines("/active", room) == ["no skill is on"]
    receipt = room.chat.session.activate("painting").receipt
    assert _lines("/active", room) == [f"● painting · switched on by the user · {receipt.tokens} tokens"]
    assert _lines("/off painting", room) == ["painting is off; what the model has read of it stays in the conversation"]
    assert _lines("/off painting", room) == ["painting is not active"]
    assert _lines("/off", room) == ["type /off NAME"]


def test_why_explains_a_skill(room: Room) -> None:
    assert _lines("/why painting", room)[0] == "painting: visible to the model"
    assert _lines("/why quiet", room)[0] == "quiet: not visible to the model"
    assert _lines("/why", room) == ["type /why NAME"]


def test_model_is_shown_and_switched(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert _lines("/model", room)[0] == "offline answers"
    reply = answer_line("/model offline", room)
    assert isinstance(reply, Reply)
    assert isinstance(reply.then, UseModel)
    anyio.run(room.use_model, reply.then.model)
    assert room.chat.model is room.agent.model is reply.then.model
    assert _lines("/model nope:x", room)[0] == "no provider of a model 'nope:x'"
    assert _lines("/model anthropic:x", room)[0].startswith("model 'anthropic:x'")


def test_usage_adds_up_what_the_conversation_has_used(room: Room) -> None:
    assert _lines("/usage", room) == ["nothing was said yet"]
    first = anyio.run(room.chat.say, "hello").use
    second = anyio.run(room.chat.say, "hello again").use
    both = first + second
    (line,) = _lines("/usage", room)
    tokens = f"{both.input_tokens:,} tokens in, {both.output_tokens:,} out"
    assert line.startswith(f"2 turns, {both.requests} requests · {tokens} · ")


def test_title_is_kept(room: Room) -> None:
    assert _lines("/title Walls", room) == ["there is nothing to call so yet; say something first"]
    anyio.run(room.chat.say, "hello")
    assert _lines("/title Walls", room) == ["this conversation is called: Walls"]
    assert [one.title for one in room.runtime.conversations()] == ["Walls"]


def test_new_conversation_is_another_one_with_the_same_model(room: Room) -> None:
    assert answer_line("/new", room) == Reply((), BeginAnew())
    model = room.chat.model
    room.begin_anew()
    assert room.chat.id.startswith("chat-")
    assert room.chat.model is model


def test_quit_leaves(room: Room) -> None:
    assert answer_line(" /quit ", room) == Reply((), Leave())


def test_name_of_a_conversation_can_be_read() -> None:
    moment = time.mktime((2026, 11, 18, 9, 30, 0, 0, 0, -1))
    name = make_chat_id(moment)
    assert name.rpartition("-")[0] == "chat-20261118-093000"
    assert name != make_chat_id(moment)


@pytest.mark.parametrize(
    ("message", "remarks"),
    [
        ("hello", []),
        ("/painting the wall", []),
        ("/help me", []),
        ("/etc/hosts", []),
        ("/paintin the wall", ["no command and no skill 'paintin'; did you mean /painting?"]),
        ("/usage", ["/usage is a command at the prompt only; it is sent as text"]),
    ],
)
def test_message_that_is_sent_in_any_case_may_call_for_what_is_not_there(
    room: Room, message: str, remarks: list[str]
) -> None:
    assert [line.text for line in remark_on(message, room)] == remarks
