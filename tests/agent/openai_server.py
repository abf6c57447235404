"""A small server that speaks OpenAI's chat-completions protocol and answers from a script, over real HTTP.

    with ScriptedServer([call("activate_skill", {"name": "pdf"}), say("Done.")]) as server:
        model = open_model("openai-chat:scripted", url=server.url)
        ...
    assert server.requests[1].body["messages"][-1]["role"] == "tool"

A script is a list of answers, taken in order, or a function that sees each request's body and returns the answer:

    ScriptedServer(lambda body: say("pdf!") if "pdf" in str(body["messages"]) else fail(500))

Answers are put together with `+`: `think("Hm. ") + say("I'll look.") + call("read", "{broken") + hang(60)`, and
`say("Hi").using(input=100, output=3, cached=80).ending("length")`. A request that the script does not foresee, or that
OpenAI itself would refuse (a call without its result, broken arguments, a bad tool name), is answered with 400 and
fails the test when the server is closed.
"""

import itertools
import json
import select
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.agent.openai_replies import (
    BreakOff,
    Call,
    Failure,
    Garbage,
    Hang,
    Reply,
    Text,
    Thinking,
    TrailOff,
    Usage,
    break_off,
    call,
    fail,
    find_faults,
    garbage,
    hang,
    make_chunks,
    make_completion,
    say,
    think,
    trail_off,
)

__all__ = [
    "Received",
    "Reply",
    "Script",
    "ScriptedServer",
    "Usage",
    "break_off",
    "call",
    "fail",
    "garbage",
    "hang",
    "say",
    "think",
    "trail_off",
]

Script = Sequence[Reply] | Callable[[dict[str, Any]], Reply]
_LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Received:
    """A request for an answer, as it came."""

    body: dict[str, Any]
    headers: Mapping[str, str]
    """With names in small letters."""
    path: str
    data: bytes = b""
    """The body, byte for byte."""
    answered: threading.Event = field(default_factory=threading.Event)
    """Set when the answer was sent to its end."""
    gone: threading.Event = field(default_factory=threading.Event)
    """Set when the client went away before that."""


class ScriptedServer:
    """Answers as its script says, on a loopback port of its own, while it is open."""

    def __init__(self, script: Script, *, models: Sequence[str] = ("scripted",)) -> None:
        self.requests: list[Received] = []
        self.faults: list[str] = []
        self.asked = threading.Event()
        """Set when the first request has come."""
        self.closing = threading.Event()
        self.models = tuple(models)
        self._script = script
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._http = _HTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> "ScriptedServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if self.faults:
            told = "the scripted server was not prepared: " + "; ".join(self.faults)
            if error is None:
                raise AssertionError(told)
            error.add_note(told)

    def close(self) -> None:
        """End all answers that are under way, and the server."""
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The requests' bodies, in order."""
        return [request.body for request in self.requests]

    def take(self, received: Received) -> Reply:
        """Note a request, and return what it is answered with."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(received)
            self.asked.set()
            refused = find_faults(received.body)
            if refused:
                return self.complain(f"request {number} is wrong: {', '.join(refused)}")
            if callable(self._script):
                try:
                    reply = self._script(received.body)
                except Exception as error:  # noqa: BLE001 - a test's own function; told when the server is closed
                    return self.complain(f"the script failed at request {number}: {error!r}")
            elif number >= len(self._script):
                return self.complain(f"request {number} is not in the script")
            else:
                reply = self._script[number]
            return reply.numbered(self._numbers)

    def complain(self, fault: str) -> Reply:
        """Note a fault, and return an error that no client tries again."""
        self.faults.append(fault)
        return fail(400, message=fault)


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Be quiet about clients that go away: tests look at `Received.gone`."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # pyright: ignore[reportArgumentType]


def _handler_of(server: ScriptedServer) -> type["_Handler"]:
    return type("_BoundHandler", (_Handler,), {"scripted": server})


class _Gone(Exception):
    """The client is away, or the server is to close."""


class _Handler(BaseHTTPRequestHandler):
    scripted: ScriptedServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        pass

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            rows = [{"id": name, "object": "model", "created": 0, "owned_by": "test"} for name in self.scripted.models]
            self._send(200, json.dumps({"object": "list", "data": rows}).encode())
        else:
            self._fail(self.scripted.complain(f"GET {self.path} is not in the script").steps[0])

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.path != "/v1/chat/completions":
            self._fail(self.scripted.complain(f"POST {self.path} is not in the script").steps[0])
            return
        received = Received(json.loads(data), headers, self.path, data)
        reply = self.scripted.take(received)
        try:
            self._answer(reply, received)
            received.answered.set()
        except (_Gone, ConnectionError):
            self.close_connection = True
            if not self.scripted.closing.is_set():
                received.gone.set()

    def _answer(self, reply: Reply, received: Received) -> None:
        steps = reply.steps
        while steps and isinstance(steps[0], Hang):
            self._wait(steps[0].seconds)
            steps = steps[1:]
        match steps[0] if steps else None:
            case Failure() as failure:
                self._fail(failure)
            case Garbage(data) if not received.body.get("stream"):
                self._send(200, data)
            case BreakOff():
                self._break_off()
            case _ if received.body.get("stream"):
                self._stream(Reply(steps, reply.usage, reply.finish, reply.model), received.body)
            case _:
                choice = {"index": 0, "message": make_completion(reply), "finish_reason": reply.finish_reason}
                whole = self._frame(reply, received.body, "chat.completion", [choice])
                self._send(200, json.dumps({**whole, "usage": _usage(reply.usage)}).encode())

    def _stream(self, reply: Reply, body: Mapping[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._delta(reply, body, {"role": "assistant", "content": ""})
        calls = itertools.count()
        for step in reply.steps:
            match step:
                case Hang(seconds):
                    self._wait(seconds)
                case Garbage(data):
                    self._chunk(data)
                case BreakOff():
                    self._break_off()
                    return
                case TrailOff():
                    self._chunk(b"")
                    return
                case Failure(_, data):
                    self._event(data)
                    self._chunk(b"")
                    return
                case Text() | Thinking() | Call():
                    for delta in make_chunks(step, index=next(calls) if isinstance(step, Call) else 0):
                        self._delta(reply, body, delta)
        self._delta(reply, body, {}, finish=reply.finish_reason)
        options: Mapping[str, Any] = body.get("stream_options") or {}
        if options.get("include_usage"):
            last = self._frame(reply, body, "chat.completion.chunk", [])
            self._event(json.dumps({**last, "usage": _usage(reply.usage)}).encode())
        self._event(b"[DONE]")
        self._chunk(b"")

    def _delta(
        self, reply: Reply, body: Mapping[str, Any], delta: dict[str, Any], *, finish: str | None = None
    ) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        self._event(json.dumps(self._frame(reply, body, "chat.completion.chunk", [choice])).encode())

    def _frame(self, reply: Reply, body: Mapping[str, Any], kind: str, choices: list[Any]) -> dict[str, Any]:
        name = reply.model or body.get("model", "scripted")
        return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": name, "choices": choices}

    def _event(self, data: bytes) -> None:
        self._chunk(b"data: " + data + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self._look()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _send(self, status: int, data: bytes, headers: Sequence[tuple[str, str]] = ()) -> None:
        self.send_response(status)
        for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(data))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _fail(self, step: object) -> None:
        assert isinstance(step, Failure)
        self._send(step.status, step.body, step.headers)

    def _break_off(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._look(_LOOK_SECONDS)

    def _look(self, seconds: float = 0.0) -> None:
        """Leave if the client has hung up or the test is over; look for at most this long."""
        if self.scripted.closing.is_set():
            raise _Gone
        if select.select([self.connection], [], [], seconds)[0] and not self.connection.recv(1, socket.MSG_PEEK):
            raise _Gone


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }
