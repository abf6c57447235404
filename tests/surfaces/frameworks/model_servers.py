"""Models behind real HTTP that answer from one script, in the protocols of OpenAI, Anthropic and Google.

What they are asked is read into `Asked`, so that one suite can hold every framework to the same.
"""

import json
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, cast

from tests.agent.openai_replies import Call, Reply, Text
from tests.agent.openai_server import ScriptedServer

__all__ = ["Asked", "ModelServer", "Protocol", "Result", "serve_model"]

Protocol = Literal["openai", "anthropic", "google"]
Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call, as the model is told."""

    text: str
    is_error: bool | None
    """None where the protocol does not say."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    system: str
    tools: Mapping[str, Any]
    """From a tool's name to the schema of its arguments."""
    messages: tuple[str, ...]
    """Of the user."""
    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True)
class ModelServer:
    """Where the model is, and what it was asked."""

    url: str
    take: Callable[[], Sequence[Body]]
    read: Callable[[Body], Asked]

    @property
    def asked(self) -> list[Asked]:
        return [self.read(body) for body in self.take()]


@contextmanager
def serve_model(protocol: Protocol, *script: Reply) -> Generator[ModelServer]:
    """Answer as the script says, request by request."""
    if protocol == "openai":
        with ScriptedServer(script) as server:
            yield ModelServer(server.url, lambda: server.bodies, _read_openai)
        return
    with _serve_json(script, *_OTHERS[protocol]) as model:
        yield model


@contextmanager
def _serve_json(
    script: Sequence[Reply], render: Callable[[Reply, int], Body], read: Callable[[Body], Asked]
) -> Generator[ModelServer]:
    bodies: list[Body] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
            pass

        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            number = len(bodies)
            answer = render(script[number - 1], number) if number <= len(script) else {"error": {"message": "enough"}}
            data = json.dumps(answer).encode()
            self.send_response(200 if number <= len(script) else 400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield ModelServer(f"http://127.0.0.1:{server.server_address[1]}", lambda: bodies, read)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


# OpenAI


def _read_openai(body: Body) -> Asked:
    messages: list[dict[str, Any]] = body["messages"]
    return Asked(
        "\n\n".join(one["content"] for one in messages if one["role"] == "system"),
        {tool["function"]["name"]: tool["function"]["parameters"] for tool in body.get("tools") or ()},
        tuple(one["content"] for one in messages if one["role"] == "user"),
        tuple(Result(one["content"], None) for one in messages if one["role"] == "tool"),
    )


# Anthropic


def _render_anthropic(reply: Reply, number: int) -> Body:
    blocks: list[Body] = []
    for index, step in enumerate(reply.steps):
        match step:
            case Text(text):
                blocks.append({"type": "text", "text": text})
            case Call(tool, arguments, _):
                name = f"toolu_{number}_{index}"
                blocks.append({"type": "tool_use", "id": name, "name": tool, "input": json.loads(arguments)})
            case _:
                raise AssertionError(step)
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": blocks,
        "stop_reason": "tool_use" if reply.calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def _read_anthropic(body: Body) -> Asked:
    users: list[object] = [one["content"] for one in body["messages"] if one["role"] == "user"]
    lists = [cast("list[Body]", content) for content in users if isinstance(content, list)]
    blocks = [block for blocks in lists for block in blocks]
    return Asked(
        "\n\n".join(block["text"] for block in body.get("system") or ()),
        {tool["name"]: tool["input_schema"] for tool in body.get("tools") or ()},
        tuple(content for content in users if isinstance(content, str)),
        tuple(Result(block["content"], block["is_error"]) for block in blocks if block["type"] == "tool_result"),
    )


# Google


def _render_google(reply: Reply, number: int) -> Body:
    parts: list[Body] = []
    for step in reply.steps:
        match step:
            case Text(text):
                parts.append({"text": text})
            case Call(tool, arguments, _):
                parts.append({"functionCall": {"name": tool, "args": json.loads(arguments)}})
            case _:
                raise AssertionError(step)
    return {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
        "modelVersion": "gemini-2.5-flash",
        "responseId": f"r{number}",
    }


def _read_google(body: Body) -> Asked:
    system: Body = body.get("systemInstruction") or {"parts": []}
    parts = [part for content in body["contents"] if content["role"] == "user" for part in content["parts"]]
    answers = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
    return Asked(
        "\n\n".join(part["text"] for part in system["parts"]),
        {one["name"]: one["parameters_json_schema"] for one in declared},
        tuple(part["text"] for part in parts if "text" in part),
        tuple(Result(next(iter(answer.values())), "error" in answer) for answer in answers),
    )


_OTHERS: dict[str, tuple[Callable[[Reply, int], Body], Callable[[Body], Asked]]] = {
    "anthropic": (_render_anthropic, _read_anthropic),
    "google": (_render_google, _read_google),
}
