"""A server for providers with protocols of their own: it keeps what they are sent, and answers with given events."""

import json
import re
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = [
    "Foreign",
    "anthropic_answer",
    "find_anthropic_faults",
    "find_google_faults",
    "foreign_server",
    "google_answer",
]

Event = Mapping[str, Any]
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Foreign:
    url: str
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])


@contextmanager
def foreign_server(*answers: Sequence[Event], status: int = 400) -> Generator[Foreign]:
    """Answer with these streams of events, one after the other; then refuse with this status."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
            pass

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            found.bodies.append(json.loads(data))
            found.headers.append({name.lower(): value for name, value in self.headers.items()})
            if len(found.bodies) > len(answers):
                self._send(
                    status, "application/json", b'{"error": {"message": "enough", "type": "invalid_request_error"}}'
                )
                return
            events = "".join(
                (f"event: {event['type']}\n" if "type" in event else "") + f"data: {json.dumps(event)}\n\n"
                for event in answers[len(found.bodies) - 1]
            )
            self._send(200, "text/event-stream", events.encode())

        def _send(self, status: int, kind: str, data: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found = Foreign(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def anthropic_answer(*blocks: Event, stop: str = "end_turn") -> list[Event]:
    """Return the events of an answer that has these content blocks: thinking, text, tool_use."""
    usage = {"input_tokens": 12, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 0, "output_tokens": 1}
    message: Event = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [],
    }
    events: list[Event] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    ]
    for index, block in enumerate(blocks):
        match block["type"]:
            case "thinking":
                empty: Event = {"type": "thinking", "thinking": "", "signature": ""}
                deltas: list[Event] = [
                    {"type": "thinking_delta", "thinking": block["thinking"]},
                    {"type": "signature_delta", "signature": block["signature"]},
                ]
            case "tool_use":
                empty = {**block, "input": {}}
                raw = block["input"]
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in (raw[:5], raw[5:])]
            case _:
                empty = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": block["text"]}]
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        events.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": stop, "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": 9}})
    return [*events, {"type": "message_stop"}]


def google_answer(*parts: Event) -> list[Event]:
    """Return the events of an answer that has these parts."""
    usage = {"promptTokenCount": 112, "cachedContentTokenCount": 100, "candidatesTokenCount": 9, "totalTokenCount": 121}
    frame = {"modelVersion": "gemini-2.5-pro", "responseId": "r1"}
    events: list[Event] = [
        {**frame, "candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]} for part in parts
    ]
    ending: Event = {"index": 0, "content": {"role": "model", "parts": []}, "finishReason": "STOP"}
    return [*events, {**frame, "candidates": [ending], "usageMetadata": usage}]


def find_anthropic_faults(body: Mapping[str, Any]) -> list[str]:
    """Return for what Anthropic would refuse this request."""
    faults: list[str] = []
    waiting: list[str] = []
    for number, message in enumerate(body["messages"]):
        if message["role"] != ("user", "assistant")[number % 2]:
            faults.append(f"message {number} is by {message['role']}")
        blocks: list[dict[str, Any]] = message["content"]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if answered != waiting or any(block["type"] != "tool_result" for block in blocks[: len(answered)]):
            faults.append(f"message {number} answers {answered} and not {waiting}")
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        faults += (f"bad id {name}" for name in waiting if not _NAME.fullmatch(name))
        for block in blocks:
            texts = block["content"] if block["type"] == "tool_result" else [block] if block["type"] == "text" else []
            if any(not text["text"].strip() for text in texts):
                faults.append(f"message {number} has an empty text")
            if block["type"] == "tool_use" and not (
                isinstance(block["input"], dict) and _NAME.fullmatch(block["name"])
            ):
                faults.append(f"message {number} has a bad call")
    return faults


def find_google_faults(body: Mapping[str, Any]) -> list[str]:
    """Return for what Gemini would refuse this request."""
    faults: list[str] = []
    waiting: list[str] = []
    for number, content in enumerate(body["contents"]):
        if content["role"] not in {"user", "model"} or (number == 0 and content["role"] == "model"):
            faults.append(f"content {number} is by {content['role']}")
        if not content["parts"]:
            faults.append(f"content {number} is empty")
        answered = [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]
        if answered != waiting:
            faults.append(f"content {number} answers {answered} and not {waiting}")
        waiting = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
    return faults
