"""Conversations with the offline model, played without the turn of an agent around them: decide, call, decide again."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import prowess
from prowess.activation.tools import Tool, make_python_tool, make_tools
from prowess.agent.chat_model import ModelRequest
from prowess.agent.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from prowess.agent.offline.steps import MAX_CALLS, decide_step
from prowess.policy import ToolSet
from prowess.runtime import Runtime, Session
from prowess.runtime.reception import ToolUse
from prowess.settings import load_settings
from tests.runtime.runs import Agreeable

__all__ = [
    "BUNDLED",
    "PROFILES",
    "STANDARD",
    "Played",
    "Player",
    "SessionPlayer",
    "list_catalog",
    "open_profile",
    "play",
    "wrap",
]

BUNDLED = Path(prowess.__file__).parent / "bundled"
PROFILES = ("standard", "python", "daycare", "workspace", "remcochat", "agent-base")
"""Those that there are, and the standard one with inline Python."""
STANDARD = make_tools(ToolSet.STANDARD, names=["alpha", "beta"])

Answer = Callable[[ToolCall], tuple[str, bool]]
"""From a call to what comes of it, and whether that is an error."""


@dataclass(frozen=True, slots=True)
class Played:
    """What the model did for one message."""

    calls: tuple[tuple[str, Any], ...]
    """The tools and their arguments."""
    text: str


class Player:
    """Holds one conversation."""

    def __init__(self, tools: Callable[[], Sequence[Tool]], answer: Answer, *, system: str = "") -> None:
        self.system = system
        self.messages: list[Message] = []
        self._tools = tools
        self._answer = answer

    def say(self, message: UserMessage) -> Played:
        """Give the model a message, and carry out its calls until it has answered."""
        self.messages.append(message)
        made: list[ToolCall] = []
        while True:
            request = ModelRequest(self.system, tuple(self.messages), tuple(self._tools()))
            step = decide_step(request)
            assert step == decide_step(request)
            assert bool(step.text) != bool(step.calls)
            self.messages.append(AssistantMessage(step.text, step.calls))
            made += step.calls
            assert len(made) <= MAX_CALLS
            if not step.calls:
                return Played(tuple((call.tool, _arguments(call)) for call in made), step.text)
            for call in step.calls:
                self.messages.append(ToolMessage(call.id, call.tool, *self._answer(call)))


def _arguments(call: ToolCall) -> Any:
    found = json.loads(call.arguments)
    return found["code"] if call.tool == make_python_tool().name else found


def play(
    message: UserMessage | str, answer: Answer | None = None, *, tools: Sequence[Tool], system: str = ""
) -> Played:
    """Play one message with tools that answer so; by default they are not to be called."""

    def refuse(call: ToolCall) -> tuple[str, bool]:
        raise AssertionError(f"nobody was to call {call.tool} with {call.arguments}")

    player = Player(lambda: tools, answer or refuse, system=system)
    return player.say(UserMessage(message) if isinstance(message, str) else message)


def wrap(name: str, body: str, *, files: Sequence[str] = ()) -> str:
    """Return instructions as the standard profile gives them to a model."""
    listed = "\n\n" + "\n".join(["<skill_resources>", *files, "</skill_resources>"]) if files else ""
    return f'<skill_content name="{name}">\nSkill name: {name}\n\n{body}{listed}\n</skill_content>'


def list_catalog(**descriptions: str) -> str:
    """Return a catalog in XML."""
    skills = [
        f"<skill>\n<name>{name}</name>\n<description>{text}</description>\n</skill>"
        for name, text in descriptions.items()
    ]
    return "\n".join(["<available_skills>", *skills, "</available_skills>"])


# Real sessions


def open_profile(profile: str) -> Runtime:
    """Return a runtime with the bundled skills under a profile; its user says yes to everything."""
    settings = load_settings(profile="standard" if profile == "python" else profile)
    tools = ToolSet.PYTHON if profile == "python" else settings.policy.tools
    policy = replace(settings.policy, enabled=True, tools=tools)
    return Runtime(replace(settings, policy=policy), skills=[BUNDLED], asker=Agreeable())


class SessionPlayer:
    """Talks with the model about the skills of a real session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._player = Player(session.offered, self._call, system=session.prompt())

    def say(self, text: str) -> Played:
        """Say something as a user types it."""
        can_call = bool(self._session.offered())
        reception = self._session.receive(text, tools=ToolUse.ON if can_call else ToolUse.OFF)
        if not can_call:
            self._player.system = "\n\n".join(part for part in (self._session.prompt(), reception.system) if part)
        return self._player.say(UserMessage(reception.text, reception.content))

    def _call(self, call: ToolCall) -> tuple[str, bool]:
        result = self._session.call(call.tool, call.arguments)
        return result.content, result.is_error
