"""A model that reads its prompt: it does what the instructions of skills say if it was sent them, and else does not."""

import re
from collections.abc import AsyncGenerator, Callable

from prowess.agent.chat_model import ModelRequest, Piece
from prowess.agent.cuts import SUMMARISE
from prowess.agent.messages import Message, ToolMessage, UserMessage
from tests.agent.scripted_model import Answer, ScriptedModel, call, calls, say

__all__ = ["INSTRUCTION", "ObedientModel", "measure"]

INSTRUCTION = "End every answer with the word {word}."

_CONTENT = re.compile(r"<skill_content name=\"([^\"]*)\">(.*?)</skill_content>", re.DOTALL)
_ORDER = re.compile(r"End every answer with the word (\S+)\.")
_GONE = re.compile(r"Skill (\S+) is no longer active\.")
_FADED = re.compile(r"^Active before: (.+?)\. Activate them again", re.MULTILINE)


class ObedientModel(ScriptedModel):
    """Ends its answers as active skills want it to. What it does besides stands in the message that it answers.

    `read PATH` reads a file of the skill `library`, `activate NAME` and `deactivate NAME` switch a skill, in the order
    in which they are written.
    """

    def __init__(self, *, can_sum_up: bool = True) -> None:
        super().__init__(script=self._answer)
        self.summarises = can_sum_up  # type: ignore[misc]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        async for piece in super().stream(request):
            yield piece
        if request.system == SUMMARISE:
            self.requests.pop()

    def _answer(self, request: ModelRequest) -> Answer:
        if request.system == SUMMARISE:
            return say("They talked of many things.")
        last = request.messages[-1]
        wanted = _find_work(last.text) if isinstance(last, UserMessage) else ()
        return calls(*wanted) if wanted else say(" ".join(["Very well.", *find_orders(request.messages)]))


def _find_work(text: str) -> tuple[Answer, ...]:
    found: list[Answer] = []
    for number, (verb, what) in enumerate(re.findall(r"\b(read|activate|deactivate) (\S+)", text)):
        match verb:
            case "read":
                found.append(call("read_skill_resource", f"read-{number}", name="library", path=what))
            case _:
                found.append(call(f"{verb}_skill", f"{verb}-{number}", name=what))
    return tuple(found)


def find_orders(messages: tuple[Message, ...]) -> list[str]:
    """Return the words that the instructions of active skills want at the end, of all that stands in the messages."""
    orders: dict[str, str] = {}
    for message in messages:
        match message:
            case UserMessage(context=text) | ToolMessage(content=text):
                for name, body in _CONTENT.findall(text):
                    order = _ORDER.search(body)
                    orders |= {name: order[1]} if order else {}
                gone = [*_GONE.findall(text), *(name for names in _FADED.findall(text) for name in names.split(", "))]
                for name in gone:
                    orders.pop(name, None)
            case _:
                pass
    return [orders[name] for name in sorted(orders)]


def measure(request: ModelRequest, count: Callable[[str], int]) -> int:
    """Return how many tokens a request has, its tools aside."""
    parts = [request.system]
    for message in request.messages:
        match message:
            case UserMessage(text, context):
                parts += [text, context]
            case ToolMessage(content=content):
                parts.append(content)
            case _:
                parts += [message.text, *(call.arguments for call in message.calls)]
    return sum(map(count, parts))
