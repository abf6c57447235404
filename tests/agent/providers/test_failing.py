"""What failures mean, and how long is waited after them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from pydantic_ai import exceptions as library

from prowess.agent.providers.failing import MAX_WAIT_SECONDS, Failing, decide_wait, describe_failure
from prowess.agent.providers.known_providers import KNOWN_PROVIDERS
from prowess.agent.providers.usability import UsableModel

_MODEL = UsableModel("anthropic:claude", KNOWN_PROVIDERS["anthropic"], "ANTHROPIC_API_KEY")


class NoCredentialsError(Exception):
    """As Amazon's library calls it."""


def _describe(error: Exception, *, heard: bool = False) -> Failing:
    return describe_failure(error, model=_MODEL, heard=heard, timeout_seconds=5)


def _broken_value() -> Exception:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(int).validate_python("x")
    return caught.value


def _status(status: int, kind: type[library.ModelAPIError] | None = None, **headers: str) -> Exception:
    return library.ModelHTTPError.for_category(
        kind,  # pyright: ignore[reportArgumentType]
        status_code=status,
        model_name="claude",
        body={"type": "error", "error": {"type": "x", "message": "it is so"}},
        headers=headers,
    )


@pytest.mark.parametrize(
    ("error", "code", "may_ask_again"),
    [
        (TimeoutError(), "model-timeout", True),
        (library.ModelTimeoutError("claude", "slow"), "model-timeout", True),
        (library.ModelRequestTimeout("claude", 5), "model-timeout", True),
        (library.ModelConnectionError("claude", "gone"), "model-unreachable", True),
        (ConnectionRefusedError("no"), "model-unreachable", True),
        (_status(401, library.ModelAuthenticationError), "model-refused", False),
        (_status(402, library.ModelQuotaExceededError), "model-refused", False),
        (_status(404, library.ModelNotFoundError), "model-failed", False),
        (_status(400, library.ModelContextWindowExceededError), "model-too-long", False),
        (_status(413), "model-too-long", False),
        (_status(409), "model-failed", True),
        (_status(418), "model-failed", False),
        (_status(429, library.ModelRateLimitError), "model-rate-limited", True),
        (_status(529, library.ModelOverloadedError), "model-failed", True),
        (_status(500, library.ModelServerError, **{"X-Should-Retry": "false"}), "model-failed", False),
        (library.ModelOverloadedError("claude", "busy", in_stream=True), "model-failed", True),
        (library.ModelAPIError("claude", "odd", in_stream=True), "model-failed", True),
        (library.ModelAPIError("claude", "no JSON"), "model-broken", True),
        (library.UnexpectedModelBehavior("nothing came"), "model-broken", True),
        (_broken_value(), "model-broken", True),
        (TypeError("'int' object is not subscriptable"), "model-broken", True),
        (library.ContentFilterError("forbidden"), "model-failed", False),
        (library.UserError("not supported"), "model-failed", False),
        (NoCredentialsError("Unable to locate credentials"), "model-refused", False),
    ],
    ids=repr,
)
def test_errors_are_told_by_what_can_be_done_about_them(error: Exception, code: str, may_ask_again: bool) -> None:
    failing = _describe(error)
    assert (failing.code, failing.may_ask_again) == (code, may_ask_again)
    assert failing.message.startswith("model 'anthropic:claude': Anthropic ")


def test_connection_that_is_lost_in_an_answer_breaks_it() -> None:
    failing = _describe(library.ModelConnectionError("claude", "gone"), heard=True)
    assert (failing.code, failing.message) == (
        "model-broken",
        "model 'anthropic:claude': Anthropic broke off in its answer",
    )


def test_sentence_of_the_provider_is_found_in_its_answer() -> None:
    failing = _describe(_status(401, library.ModelAuthenticationError))
    assert failing.message == "model 'anthropic:claude': Anthropic refused: status 401, it is so"
    assert failing.hint == "check the key in ANTHROPIC_API_KEY, and that it may use this model"


def test_near_name_of_a_model_is_suggested() -> None:
    error = library.ModelHTTPError.for_category(
        library.ModelNotFoundError, status_code=404, model_name="claude", suggested_model_id="anthropic:claude-new"
    )
    assert _describe(error).hint == "check the model's name 'claude'; did you mean 'anthropic:claude-new'?"


def _failing(seconds: float | None) -> Failing:
    return Failing("model-failed", "x", may_ask_again=True, wait_seconds=seconds)


def test_waits_double_and_have_an_end() -> None:
    waits = [decide_wait(_failing(None), attempt=attempt, draw=lambda: 1.0) for attempt in range(1, 9)]
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]


@given(attempt=st.integers(1, 1000), drawn=st.floats(0, 1), told=st.none() | st.floats(0, 1e9))
def test_no_wait_is_longer_than_the_bound(attempt: int, drawn: float, told: float | None) -> None:
    draw: Callable[[], float] = lambda: drawn  # noqa: E731 - the smallest thing that can be drawn from
    assert 0 <= decide_wait(_failing(told), attempt=attempt, draw=draw) <= MAX_WAIT_SECONDS
