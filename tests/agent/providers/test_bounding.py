"""Providers that never come to an end, or say what cannot be: over real HTTP, and within bounds."""

import gzip
import json
import random
import warnings
from collections.abc import Mapping
from typing import Any

import pytest

from prowess.agent.chat_model import CallPiece, FinishPiece, TextPiece
from prowess.agent.messages import AssistantMessage, UserMessage
from prowess.agent.providers.bounding import MAX_PACKED_BYTES, AnswerBounds
from prowess.state.conversations import TokenUse
from tests.agent.openai_server import Reply, ScriptedServer, call, fail, garbage, hang, say, think
from tests.agent.providers.asking import ask, fail_to_ask, find, make_model, make_request, read_text, remember

pytestmark = pytest.mark.slow
_NAME = "openai-chat:scripted"
_KEY = "secret-4d1f-of-nobody"
_LARGEST = 2**53 - 1


def _event(delta: Mapping[str, Any]) -> Reply:
    """Send this delta in one piece, however long it is."""
    frame = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    choices = [{"index": 0, "delta": delta, "finish_reason": None}]
    return garbage(b"data: " + json.dumps({**frame, "choices": choices}).encode() + b"\n\n")


def _call(index: int, **function: str) -> Reply:
    return _event({"tool_calls": [{"index": index, "type": "function", "function": function}]})


# What it has used


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        ({"input": 1.5}, (1, 5, 0)),
        ({"input": 10**30}, (_LARGEST, 5, 0)),
        ({"output": 10**400}, (10, _LARGEST, 0)),
        ({"cached": 10**25}, (10, 5, _LARGEST)),
        ({"input": -5}, (0, 0, 0)),
        ({"input": float("nan")}, (0, 0, 0)),
        ({"output": float("inf")}, (0, 0, 0)),
    ],
    ids=["half", "huge", "no float", "cached", "negative", "nan", "infinite"],
)
def test_numbers_that_cannot_be_are_bounded_in_silence(told: dict[str, float], counted: tuple[int, int, int]) -> None:
    answered = say("Hi").using(**told).calling_itself("gpt-4o")
    with ScriptedServer([answered, say("Yes.")]) as server, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = make_model("openai-chat:gpt-4o", url=server.url)
        pieces = ask(model)
        answer = remember(pieces, AssistantMessage("Hi"))
        assert read_text(ask(model, make_request(UserMessage("Hello"), answer, UserMessage("And?")))) == "Yes."
    assert [str(warning.message) for warning in warned] == []
    (finish,) = find(pieces, FinishPiece)
    assert finish.use == TokenUse(1, *counted, finish.use.cost_usd)
    assert all(type(number) is int for number in (finish.use.input_tokens, finish.use.output_tokens))
    assert finish.use.cost_usd is None or 0 < finish.use.cost_usd < float("inf")
    assert finish.use.cost_usd is None or counted != (0, 0, 0)


# How long it is


@pytest.mark.parametrize(
    "answered",
    [
        say("x" * 101),
        think("x" * 101),
        call("read", "x" * 101),
        say("x" * 40) + think("x" * 40) + call("read", "x" * 40),
        _call(0, name="x" * 101, arguments=""),
        say("") + call("read", id="x" * 101),
    ],
    ids=["text", "thinking", "arguments", "together", "name", "id"],
)
def test_answer_that_is_too_long_is_broken_off_and_not_asked_for_again(answered: Reply) -> None:
    with ScriptedServer([answered + hang()]) as server:
        failure = fail_to_ask(make_model(_NAME, url=server.url, bounds=AnswerBounds(characters=100)))
        assert server.requests[0].gone.wait(10)
    assert (failure.code, failure.message) == (
        "model-broken",
        f"model '{_NAME}': {server.url} gave an answer that is too long: over 100 characters",
    )
    assert len(server.requests) == 1


def test_usual_bound_is_four_million_characters() -> None:
    half = _event({"content": "x" * 2_000_000})
    with ScriptedServer([half + half, half + half + say("x")]) as server:
        assert len(read_text(ask(make_model(_NAME, url=server.url)))) == 4_000_000
        failure = fail_to_ask(make_model(_NAME, url=server.url))
    assert failure.message.endswith("too long: over 4,000,000 characters")


def test_calls_are_counted() -> None:
    three = call("a") + call("b") + call("c")
    with ScriptedServer([three, three]) as server:
        assert len(find(ask(make_model(_NAME, url=server.url, bounds=AnswerBounds(calls=3))), CallPiece)) == 3
        failure = fail_to_ask(make_model(_NAME, url=server.url, bounds=AnswerBounds(calls=2)))
    assert (failure.code, failure.message.partition("too long: ")[2]) == ("model-broken", "over 2 calls")


def test_names_are_cut_and_ids_replaced_where_they_are_too_long() -> None:
    with ScriptedServer([call("x" * 300, id="a") + call("b", id="y" * 300) + call("c", id="z" * 256)]) as server:
        calls = [piece.call for piece in find(ask(make_model(_NAME, url=server.url)), CallPiece)]
    assert [called.tool for called in calls] == ["x" * 256, "b", "c"]
    assert (calls[0].id, calls[2].id) == ("a", "z" * 256)
    assert calls[1].id.startswith("call_")


def test_answer_that_drips_has_an_end() -> None:
    dripping = sum((hang(0.3) + say("word ") for _ in range(100)), start=Reply())
    with ScriptedServer([dripping]) as server:
        model = make_model(_NAME, url=server.url, bounds=AnswerBounds(timeouts=1.25))
        failure = fail_to_ask(model, make_request(timeout_seconds=2))
        assert server.requests[0].gone.wait(10)
    assert (failure.code, failure.message.partition("too long: ")[2]) == ("model-broken", "over 2.5 seconds")
    assert len(server.requests) == 1


def test_line_that_never_ends_is_not_kept_in_memory() -> None:
    endless = sum((garbage(b"x" * 1_000_000) for _ in range(40)), start=garbage(b"data: "))
    with ScriptedServer([endless + hang()]) as server:
        failure = fail_to_ask(make_model(_NAME, url=server.url))
    assert (failure.code, failure.message.partition("too long: ")[2]) == (
        "model-broken",
        "over 32,000,000 bytes in one line",
    )
    assert len(server.requests) == 1


def test_answer_is_kept_as_its_provider_made_it_only_within_the_same_bound() -> None:
    with ScriptedServer([say("x" * 90), say("x" * 90)]) as server:
        (small,) = find(ask(make_model(_NAME, url=server.url, bounds=AnswerBounds(characters=100))), FinishPiece)
        (usual,) = find(ask(make_model(_NAME, url=server.url)), FinishPiece)
    assert small.native == ""
    assert 100 < len(usual.native) < 4_000_000


# Errors, and where they lead


@pytest.mark.parametrize("status", [400, 500])
def test_error_is_read_only_so_far(status: int) -> None:
    with ScriptedServer([fail(status, body=b"x" * 100_000_000)] * 3) as server:
        failure = fail_to_ask(make_model(_NAME, url=server.url))
        assert all(request.gone.wait(10) for request in server.requests)
    assert f"status {status}, xxx" in failure.message
    assert len(failure.message) < 450


def test_answers_are_asked_for_as_they_are_and_packed_ones_are_bounded() -> None:
    header = {"Content-Encoding": "gzip"}
    bomb = gzip.compress(b"x" * 10_000_000)
    noise = gzip.compress(random.Random(1).randbytes(MAX_PACKED_BYTES + 100_000), 1)
    noisy = [fail(200, body=noise, headers=header)] * 3
    with ScriptedServer([fail(400, body=bomb, headers=header), *noisy]) as server:
        refused = fail_to_ask(make_model(_NAME, url=server.url))
        broken = fail_to_ask(make_model(_NAME, url=server.url))
    assert refused.message.endswith("status 400, no reason is given")
    assert broken.code == "model-broken"
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_answer_that_comes_packed_is_read() -> None:
    chunk: dict[str, Any] = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    text: dict[str, Any] = {**chunk, "choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": None}]}
    end: dict[str, Any] = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    body = "".join(f"data: {json.dumps(one)}\n\n" for one in (text, end)) + "data: [DONE]\n\n"
    header = {"Content-Encoding": "gzip", "Content-Type": "text/event-stream"}
    with ScriptedServer([fail(200, body=gzip.compress(body.encode()), headers=header)]) as server:
        pieces = ask(make_model(_NAME, url=server.url))
    assert "".join(piece.text for piece in find(pieces, TextPiece)) == "Hello."


@pytest.mark.parametrize("place", ["error", "message", "unexpected"])
def test_error_that_is_nested_deeply_is_told_all_the_same(place: str) -> None:
    body: object = {"message": "far below"}
    for _ in range(900):
        body = {place: body}
    with ScriptedServer([fail(400, body=body)]) as server:
        failure = fail_to_ask(make_model(_NAME, url=server.url))
    assert failure.message.startswith(f"model '{_NAME}': {server.url} refused: status 400, ")
    assert len(failure.message) < 450


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nobody_is_followed_to_another_place_with_the_key(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", _KEY)
    with ScriptedServer([say("Give me the key.")]) as other:
        away = fail(status, headers={"Location": f"{other.url}/chat/completions"})
        with ScriptedServer([away] * 3) as server:
            failure = fail_to_ask(make_model(_NAME, url=server.url))
    assert other.requests == []
    assert failure.code == "model-broken"
    assert _KEY not in failure.message + failure.hint
