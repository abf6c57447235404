"""A model that is asked by a conversation and by the forks in it, and plays each as a test wants it."""

import re
from collections.abc import Callable, Iterable

from prowess.agent.chat_model import ModelRequest
from prowess.agent.events import CallEnded, ForkBegun, Happening
from prowess.agent.messages import ToolMessage
from tests.agent.conversations import find
from tests.agent.scripted_model import Answer, ScriptedModel, call, say

__all__ = ["CHILD", "Part", "calling", "cast", "ends", "forks_of", "parent_and_child", "trying"]

Part = Callable[[ModelRequest], Answer]

CHILD = "You are a subagent"
_WORKED = re.compile(rf"{CHILD}: another agent has you work the skill ([^,]*),")


def cast(parent: Part, **children: Part) -> ScriptedModel:
    """A model that plays a conversation, and each fork by the name of its skill."""

    def answer(request: ModelRequest) -> Answer:
        worked = _WORKED.findall(request.system)
        return children[worked[-1].replace("-", "_")](request) if worked else parent(request)

    return ScriptedModel(script=answer)


def parent_and_child(parent: Part, child: Part) -> ScriptedModel:
    """A model that plays a conversation, and all forks alike."""
    return ScriptedModel(script=lambda request: child(request) if CHILD in request.system else parent(request))


def calling(skill: str, prompt: str = "Ship version 2.", **more: str) -> Part:
    """One that has a skill worked, and then says what it was told."""

    def answer(request: ModelRequest) -> Answer:
        last = request.messages[-1]
        if isinstance(last, ToolMessage):
            return say(f"Heard: {last.content}")
        return call("activate_skill", name=skill, arguments=prompt, **more)

    return answer


def trying(*attempts: Answer | Callable[[], Answer]) -> Part:
    """One that gives these answers one after the other, made when they are due, and says what came of the last."""

    def answer(request: ModelRequest) -> Answer:
        results = [one for one in request.messages if isinstance(one, ToolMessage)]
        if len(results) >= len(attempts):
            return say(results[-1].content if results else "Done.")
        attempt = attempts[len(results)]
        return attempt() if callable(attempt) else attempt

    return answer


def forks_of(happenings: list[Happening]) -> list[ForkBegun]:
    """Return the forks that there were."""
    return find(happenings, ForkBegun)


def ends(happenings: Iterable[Happening], *, skill: str = "") -> list[tuple[str, str]]:
    """Return how the calls of tools ended in the forks that worked a skill, or in the conversation: state, summary."""
    told = list(happenings)
    within = {fork.fork for fork in forks_of(told) if fork.name == skill} if skill else {""}
    found = [one.event for one in told if one.within in within and isinstance(one.event, CallEnded)]
    return [(event.state, event.summary) for event in found]
