"""Providers that fail, over real HTTP: asked again where that may help, and told plainly where it does not."""

import socket
from dataclasses import replace

import pytest

from prowess.agent.chat_model import RetryPiece, TextPiece
from prowess.agent.messages import UserMessage
from tests.agent.openai_server import Reply, ScriptedServer, break_off, fail, garbage, hang, say, trail_off
from tests.agent.providers.asking import Waits, ask, fail_to_ask, find, make_model, make_request, read_text

pytestmark = pytest.mark.slow
_NAME = "openai-chat:scripted"
_KEY = "secret-4d1f-of-nobody"
_WELL = say("All is well.")


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        (fail(500), "failed: status 500, scripted failure"),
        (fail(502, body="<html>Bad gateway</html>"), "failed: status 502, <html>Bad gateway</html>"),
        (fail(503, body=b""), "failed: status 503, no reason is given"),
        (fail(529, message="overloaded"), "failed: status 529, overloaded"),
        (fail(408), "refused: status 408, scripted failure"),
        (fail(429), "limits the rate: status 429, scripted failure"),
        (fail(200, body="I am no JSON"), "gave an answer that cannot be read: "),
        (garbage(b"data: {broken\n\n"), "gave an answer that cannot be read: Failed to decode response as JSON: "),
        (garbage(b'data: {"choices": 5}\n\n'), "gave an answer that cannot be read: "),
        (garbage(b"\xff\xfe\x00\n\n"), "gave an answer that cannot be read: Failed to decode response as JSON: "),
        (break_off(), "cannot be reached: "),
        (hang(), "did not answer for 2 seconds"),
    ],
    ids=lambda value: repr(value.steps[0])[:40] if isinstance(value, Reply) else None,
)
def test_what_may_pass_is_asked_again(failing: Reply, said: str) -> None:
    waits = Waits()
    with ScriptedServer([failing, _WELL]) as server:
        patience = 2 if failing == hang() else 30
        retry, *rest = ask(make_model(_NAME, url=server.url, waits=waits), make_request(timeout_seconds=patience))
    assert isinstance(retry, RetryPiece)
    assert (retry.attempt, retry.seconds, waits.seconds) == (2, 1.0, [1.0])
    assert retry.reason.startswith(f"model '{_NAME}': {server.url} {said}")
    assert read_text(rest) == "All is well."
    assert server.bodies[0] == server.bodies[1]


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        (break_off("It be"), "broke off in its answer"),
        (trail_off("It be"), "gave an answer that cannot be read: Streamed response ended without a `finish_reason`"),
        (say("It be") + hang(), "went silent in its answer for 2 seconds"),
        (say("It be") + fail(500, message="out of memory"), "failed in its answer: out of memory"),
        (say("It be") + garbage(b"data: ]\n\n"), "gave an answer that cannot be read: Failed to decode response"),
    ],
    ids=["broken off", "trailing off", "silent", "failing", "garbage"],
)
def test_answer_that_breaks_in_the_middle_is_void_and_asked_for_again(failing: Reply, said: str) -> None:
    with ScriptedServer([failing, _WELL]) as server:
        pieces = ask(make_model(_NAME, url=server.url), make_request(timeout_seconds=2))
    assert pieces[0] == TextPiece("It be")
    retry = pieces[1]
    assert isinstance(retry, RetryPiece)
    assert retry.reason.startswith(f"model '{_NAME}': {server.url} {said}")
    assert read_text(pieces[2:]) == "All is well."


def test_silence_is_measured_between_pieces_and_not_in_all() -> None:
    slow = sum((hang(0.8) + say("word ") for _ in range(4)), start=Reply())
    with ScriptedServer([slow]) as server:
        assert read_text(ask(make_model(_NAME, url=server.url), make_request(timeout_seconds=3))) == "word " * 4


def test_waits_grow_and_the_last_failure_is_told() -> None:
    waits = Waits()
    with ScriptedServer([fail(500), fail(503), fail(500, message="the third one")]) as server:
        failure = fail_to_ask(make_model(_NAME, url=server.url, waits=waits))
    assert waits.seconds == [1.0, 2.0]
    assert (failure.code, failure.hint) == ("model-failed", "try again later, or use another model")
    assert failure.message == f"model '{_NAME}': {server.url} failed: status 500, the third one (asked 3 times)"
    assert len(server.requests) == 3


@pytest.mark.parametrize(("told", "waited"), [(7, 7.0), (3600, 60.0), ("0", 0.0)])
def test_provider_is_given_the_time_that_it_asks_for_within_bounds(told: float | str, waited: float) -> None:
    waits = Waits()
    with ScriptedServer([fail(429, retry_after=told), _WELL]) as server:
        (retry,) = find(ask(make_model(_NAME, url=server.url, waits=waits)), RetryPiece)
    assert (retry.seconds, waits.seconds) == (waited, [waited])


def test_rate_that_stays_limited_is_told() -> None:
    with ScriptedServer([fail(429, retry_after=1)] * 3) as server:
        failure = fail_to_ask(make_model(_NAME, url=server.url))
    assert failure.code == "model-rate-limited"


def test_model_that_is_asked_once_is_asked_once() -> None:
    with ScriptedServer([fail(500)]) as server:
        failure = fail_to_ask(make_model(_NAME, url=server.url), replace(make_request(), attempts=1))
    assert failure.message.endswith("status 500, scripted failure")


@pytest.mark.parametrize(
    ("failing", "code", "hint"),
    [
        (fail(400, message="bad role"), "model-failed", "check the model's name 'scripted' and the address {url}"),
        (fail(401), "model-refused", "check the key in OPENAI_API_KEY, and that it may use this model"),
        (fail(403), "model-refused", "check the key in OPENAI_API_KEY, and that it may use this model"),
        (fail(404), "model-failed", "check the model's name 'scripted' and the address {url}"),
        (fail(422), "model-failed", "check the model's name 'scripted' and the address {url}"),
        (fail(429, code="insufficient_quota"), "model-refused", "look at the account's credit and limits"),
        (
            fail(400, code="context_length_exceeded"),
            "model-too-long",
            "the conversation is longer than the model takes",
        ),
        (fail(400, message="maximum context length is 5"), "model-too-long", "the conversation is longer than"),
        (fail(400, message="exceeds the available context size"), "model-too-long", "the conversation is longer than"),
        (fail(413), "model-too-long", "the conversation is longer than the model takes"),
    ],
    ids=lambda value: repr(value.steps[0])[:60] if isinstance(value, Reply) else None,
)
def test_what_does_not_pass_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, failing: Reply, code: str, hint: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", _KEY)
    with ScriptedServer([failing]) as server:
        failure = fail_to_ask(make_model(_NAME, url=server.url))
    assert failure.code == code
    assert failure.hint.startswith(hint.format(url=server.url))
    assert failure.message.startswith(f"model '{_NAME}': {server.url} refused: status ")
    assert len(server.requests) == 1


def test_answer_that_is_withheld_is_a_failure() -> None:
    with ScriptedServer([say("").ending("content_filter")]) as server:
        failure = fail_to_ask(make_model(_NAME, url=server.url))
    assert (failure.code, failure.message) == (
        "model-failed",
        f"model '{_NAME}': {server.url} withheld its answer: its filter forbids it",
    )


def test_server_that_is_not_there_is_told_with_its_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    failure = fail_to_ask(make_model(_NAME, url=url))
    assert (failure.code, failure.hint) == (
        "model-unreachable",
        f"is {url} the right address, and its server running?",
    )
    assert failure.message.startswith(f"model '{_NAME}': {url} cannot be reached: ")
    assert failure.message.endswith("(asked 3 times)")


@pytest.mark.parametrize(
    "failing",
    [
        fail(401, message=f"Incorrect API key provided: {_KEY}."),
        fail(401, body=f"<p>Bearer {_KEY} is unknown</p>"),
        fail(400, body={"error": {"message": "", "headers": {"Authorization": f"Bearer {_KEY}"}}}),
        fail(400, body={"unexpected": [_KEY]}),
        fail(403, message="Incorrect API key provided: sk-abcd********************wxyz"),
        say("x") + fail(500, message=_KEY),
        garbage(f"data: {_KEY}\n\n".encode()),
    ],
    ids=range(7),
)
def test_key_is_in_no_message(monkeypatch: pytest.MonkeyPatch, failing: Reply) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", _KEY)
    waits = Waits()
    with ScriptedServer([failing] * 3) as server:
        failure = fail_to_ask(make_model(_NAME, url=server.url.replace("//", "//me:pass-4d1f@"), waits=waits))
    for secret in (_KEY, "sk-abcd", "pass-4d1f"):
        assert secret not in failure.message + failure.hint


def test_long_and_strange_messages_are_cut_and_made_printable() -> None:
    with ScriptedServer([fail(400, message="\x1b[31mred\n\n" + "x" * 5000)]) as server:
        failure = fail_to_ask(make_model(_NAME, url=server.url))
    assert "\x1b" not in failure.message
    assert "\n" not in failure.message
    assert failure.message.endswith("xxx…")
    assert len(failure.message) < 450


def test_half_characters_do_not_keep_a_conversation_from_being_sent() -> None:
    with ScriptedServer([_WELL]) as server:
        ask(make_model(_NAME, url=server.url), make_request(UserMessage("half \ud83d and whole 🙂"), system="\udc00"))
    assert [message["content"] for message in server.bodies[0]["messages"]] == ["\ufffd", "half \ufffd and whole 🙂"]
