"""The scripted server, with a client that knows nothing of it."""

import json
import urllib.error
import urllib.request
from http.client import IncompleteRead, RemoteDisconnected
from typing import Any

import pytest

from tests.agent.openai_server import Reply, ScriptedServer, break_off, call, fail, garbage, hang, say, think

pytestmark = pytest.mark.slow
_ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


def _post(server: ScriptedServer, body: dict[str, Any] | None = None, *, timeout: float = 30) -> bytes:
    request = urllib.request.Request(
        f"{server.url}/chat/completions", json.dumps(body or _ASKED).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        data: bytes = answer.read()
    return data


def _events(data: bytes) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in data.decode().split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


def test_answer_comes_whole_or_in_pieces_as_asked() -> None:
    reply = think("Hm.") + say("Hello there.") + call("read", {"a": 1}).using(input=9, output=3, cached=4)
    with ScriptedServer([reply, reply]) as server:
        whole = json.loads(_post(server))
        streamed = _events(_post(server, {**_ASKED, "stream": True, "stream_options": {"include_usage": True}}))
    (choice,) = whole["choices"]
    assert choice["finish_reason"] == "tool_calls"
    called = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"a": 1}'}}
    assert choice["message"] == {
        "role": "assistant",
        "content": "Hello there.",
        "reasoning_content": "Hm.",
        "tool_calls": [called],
    }
    deltas = [event["choices"][0]["delta"] for event in streamed[:-1]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Hello there."
    pieces = [call["function"]["arguments"] for delta in deltas for call in delta.get("tool_calls", [])]
    assert pieces == ["", '{"a": ', "1}"]
    assert streamed[-1]["usage"] == whole["usage"]
    assert [request.answered.is_set() for request in server.requests] == [True, True]


def test_function_sees_the_request() -> None:
    with ScriptedServer(lambda body: say(body["messages"][-1]["content"].upper())) as server:
        assert json.loads(_post(server))["choices"][0]["message"]["content"] == "HELLO"
    assert server.bodies == [_ASKED]
    assert server.requests[0].headers["content-type"] == "application/json"


def test_models_are_listed() -> None:
    with ScriptedServer([], models=("a", "b")) as server, urllib.request.urlopen(f"{server.url}/models") as answer:
        assert [row["id"] for row in json.loads(answer.read())["data"]] == ["a", "b"]


def test_failures_have_their_status_and_headers() -> None:
    with ScriptedServer([fail(429, retry_after=3), garbage(b"{no")]) as server:
        with pytest.raises(urllib.error.HTTPError) as caught:
            _post(server)
        with caught.value as answer:
            assert (answer.code, answer.headers["Retry-After"]) == (429, "3")
        assert _post(server) == b"{no"


@pytest.mark.parametrize("reply", [break_off(), break_off("Hel")])
def test_connection_breaks_where_it_should(reply: Reply) -> None:
    with ScriptedServer([reply]) as server, pytest.raises((RemoteDisconnected, IncompleteRead)):
        _post(server, {**_ASKED, "stream": True})


def test_client_that_goes_away_is_noticed() -> None:
    with ScriptedServer([hang()]) as server:
        with pytest.raises(TimeoutError):
            _post(server, timeout=0.2)
        assert server.requests[0].gone.wait(10)
        assert not server.requests[0].answered.is_set()


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([{"role": "tool", "tool_call_id": "a", "content": "x"}], "message 0 answers no call"),
        ([{"role": "assistant", "content": None}], "message 0 is empty"),
        ([{"role": "robot", "content": "x"}], "has the role 'robot'"),
        (
            [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "a", "function": {"name": "b!", "arguments": "{no"}}],
                }
            ],
            "arguments that are no JSON object",
        ),
    ],
)
def test_request_that_openai_would_refuse_fails_the_test(messages: list[Any], fault: str) -> None:
    with pytest.raises(AssertionError, match=fault), ScriptedServer([say("Hi.")]) as server:  # noqa: PT012
        with pytest.raises(urllib.error.HTTPError) as caught:
            _post(server, {"model": "m", "messages": messages})
        caught.value.close()


def test_request_that_is_not_in_the_script_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="request 0 is not in the script"), ScriptedServer([]) as server:  # noqa: PT012
        with pytest.raises(urllib.error.HTTPError) as caught:
            _post(server)
        caught.value.close()


def test_script_that_fails_fails_the_test() -> None:
    def script(body: dict[str, Any]) -> Reply:
        return say(body["nothing like it"])

    with pytest.raises(AssertionError, match="KeyError"), ScriptedServer(script) as server:  # noqa: PT012
        with pytest.raises(urllib.error.HTTPError) as caught:
            _post(server)
        caught.value.close()
