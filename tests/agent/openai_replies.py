"""What the scripted server answers, as values, and how that looks in OpenAI's chat-completions protocol."""

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

__all__ = [
    "BreakOff",
    "Call",
    "Failure",
    "Garbage",
    "Hang",
    "Reply",
    "Text",
    "Thinking",
    "TrailOff",
    "Usage",
    "break_off",
    "call",
    "fail",
    "find_faults",
    "garbage",
    "hang",
    "make_chunks",
    "make_completion",
    "say",
    "think",
    "trail_off",
]

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TOOL_ID = re.compile(r"\S{1,40}")


@dataclass(frozen=True, slots=True)
class Usage:
    """The numbers of tokens that an answer reports."""

    input: float = 10
    output: float = 5
    cached: float = 0


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    arguments: str
    id: str | None
    """None: the server numbers it; an empty one is left out of the answer."""


@dataclass(frozen=True, slots=True)
class Failure:
    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Garbage:
    data: bytes


@dataclass(frozen=True, slots=True)
class Hang:
    seconds: float


@dataclass(frozen=True, slots=True)
class BreakOff:
    """The connection is lost in mid-answer."""


@dataclass(frozen=True, slots=True)
class TrailOff:
    """The answer ends as if it were whole, but nothing says that it is."""


Step = Text | Thinking | Call | Failure | Garbage | Hang | BreakOff | TrailOff


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, step by step; `+` puts answers one after the other."""

    steps: tuple[Step, ...] = ()
    usage: Usage = Usage()
    finish: str = ""
    """Why it ends; without it `tool_calls` or `stop`, as OpenAI does."""
    model: str = ""
    """As the server names itself; without it the model that was asked for."""

    def __add__(self, other: "Reply") -> "Reply":
        return replace(self, steps=self.steps + other.steps)

    def using(self, *, input: float = 10, output: float = 5, cached: float = 0) -> "Reply":  # noqa: A002 - as OpenAI has it
        """Return it with these numbers of tokens."""
        return replace(self, usage=Usage(input, output, cached))

    def ending(self, finish: str) -> "Reply":
        """Return it with another reason for its end, such as `length` or `content_filter`."""
        return replace(self, finish=finish)

    def calling_itself(self, model: str) -> "Reply":
        """Return it as the answer of a model that has this name."""
        return replace(self, model=model)

    @property
    def finish_reason(self) -> str:
        return self.finish or ("tool_calls" if any(isinstance(step, Call) for step in self.steps) else "stop")

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(step for step in self.steps if isinstance(step, Call))

    def numbered(self, numbers: "itertools.count[int]") -> "Reply":
        """Return it with an id for every call that has none yet."""
        return replace(
            self,
            steps=tuple(
                replace(step, id=f"call_{next(numbers)}") if isinstance(step, Call) and step.id is None else step
                for step in self.steps
            ),
        )


def say(text: str) -> Reply:
    """Answer with text."""
    return Reply((Text(text),))


def think(text: str) -> Reply:
    """Show some thinking, as DeepSeek and Ollama do."""
    return Reply((Thinking(text),))


def call(tool: str, arguments: Mapping[str, Any] | str | None = None, *, id: str | None = None) -> Reply:  # noqa: A002
    """Call a tool. Arguments that are text go out as they are, broken or not."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return Reply((Call(tool, raw, id),))


def fail(
    status: int,
    *,
    body: object = None,
    message: str = "scripted failure",
    code: str | None = None,
    retry_after: float | str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Answer with an error status, before anything else."""
    if body is None:
        body = {"error": {"message": message, "type": "scripted_error", "param": None, "code": code}}
    data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    told = () if retry_after is None else (("Retry-After", str(retry_after)),)
    return Reply((Failure(status, data, (*told, *(headers or {}).items())),))


def garbage(data: bytes = b'{"id": "broken', /) -> Reply:
    """Send these bytes where an answer, or an event of one, should be."""
    return Reply((Garbage(data),))


def hang(seconds: float = 60.0) -> Reply:
    """Say nothing for this long, then go on with what follows. It ends at once when the client goes away."""
    return Reply((Hang(seconds),))


def break_off(after_text: str = "") -> Reply:
    """Lose the connection in the middle of an answer, or before it if there is no text."""
    return Reply((Text(after_text), BreakOff()) if after_text else (BreakOff(),))


def trail_off(after_text: str) -> Reply:
    """End the stream properly, but without a reason for the end."""
    return Reply((Text(after_text), TrailOff()))


def make_chunks(step: Text | Thinking | Call, *, index: int) -> Iterator[dict[str, Any]]:
    """Return the deltas of a step, in small pieces; `index` is the number of the call."""
    match step:
        case Text(text):
            yield from ({"content": piece} for piece in _pieces(text))
        case Thinking(text):
            yield from ({"reasoning_content": piece} for piece in _pieces(text))
        case Call(tool, arguments, name):
            begin: dict[str, Any] = {"index": index, "type": "function", "function": {"name": tool, "arguments": ""}}
            yield {"tool_calls": [{**begin, "id": name} if name else begin]}
            for piece in _pieces(arguments):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str, size: int = 6) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def make_completion(reply: Reply) -> dict[str, Any]:
    """Return the message of an answer that is not streamed."""
    text = "".join(step.text for step in reply.steps if isinstance(step, Text))
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if thinking := "".join(step.text for step in reply.steps if isinstance(step, Thinking)):
        message["reasoning_content"] = thinking
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
            for call in reply.calls
        ]
    return message


def find_faults(body: Mapping[str, Any]) -> list[str]:
    """Return for what a strict server would refuse this request."""
    messages: list[dict[str, Any]] = body.get("messages") or []
    faults = [] if messages and body.get("model") else ["no model, or no messages"]
    faults += _tool_faults(body.get("tools") or [])
    waiting: set[str] = set()
    for number, message in enumerate(messages):
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                faults.append(f"message {number} answers no call")
            waiting.discard(message.get("tool_call_id", ""))
            continue
        if waiting:
            faults.append(f"message {number} comes before the results of {sorted(waiting)}")
            waiting.clear()
        if role not in {"system", "developer", "user", "assistant"}:
            faults.append(f"message {number} has the role {role!r}")
        calls: list[dict[str, Any]] = message.get("tool_calls") or []
        if message.get("content") is None and not calls:
            faults.append(f"message {number} is empty")
        faults += (f"message {number}: {fault}" for call in calls for fault in _call_faults(call))
        waiting = {call["id"] for call in calls}
        if len(waiting) != len(calls):
            faults.append(f"message {number} uses an id twice")
    return faults + ([f"no results of {sorted(waiting)}"] if waiting else [])


def _call_faults(call: Mapping[str, Any]) -> Iterator[str]:
    if not _TOOL_ID.fullmatch(call.get("id") or ""):
        yield f"bad id {call.get('id')!r}"
    if not _TOOL_NAME.fullmatch(call["function"]["name"]):
        yield f"bad name {call['function']['name']!r}"
    try:
        whole = isinstance(json.loads(call["function"]["arguments"]), dict)
    except ValueError:
        whole = False
    if not whole:
        yield f"arguments that are no JSON object: {call['function']['arguments']!r}"


def _tool_faults(tools: list[dict[str, Any]]) -> Iterator[str]:
    names = [tool["function"]["name"] for tool in tools]
    yield from (f"bad tool name {name!r}" for name in names if not _TOOL_NAME.fullmatch(name))
    if len(set(names)) != len(names):
        yield "two tools of one name"
    for tool in tools:
        if tool["function"].get("parameters", {}).get("type") != "object":
            yield f"parameters of {tool['function']['name']} are no object"
