"""What it means when a provider fails: for people, and for asking again. Loading this module loads pydantic-ai."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from pydantic_ai import exceptions as library

from prowess.agent.chat_model import ModelFailure
from prowess.agent.providers.bounding import AnswerTooLong
from prowess.agent.providers.telling import Teller
from prowess.agent.providers.usability import UsableModel

__all__ = ["MAX_WAIT_SECONDS", "Failing", "decide_wait", "describe_failure"]

MAX_WAIT_SECONDS = 60.0
"""However long a provider wants us to wait."""
_FIRST_WAIT_SECONDS = 1.0
_LONGEST_OWN_WAIT_SECONDS = 30.0
_PASSING_STATUSES = frozenset({408, 409, 425})
_TOO_LONG = re.compile(
    r"context.{0,20}(length|size|window)|prompt is too long|too many (input )?tokens|input is too long|"
    r"maximum (number of )?tokens|exceed_context",
    re.IGNORECASE,
)
"""How servers say it that the library does not know."""
_NO_CREDENTIALS = re.compile("Credential|RefreshError|TokenRetrieval|SSO|ProfileNotFound")
"""How Amazon's and Google's libraries call it when they find no login, which pydantic-ai lets through."""

_PATIENCE = "turns.request_seconds says how long is waited"
_OTHER = "use another model; this one does not come to an end"
_LATER = "try again later, or use another model"
_SHORTER = "the conversation is longer than the model takes; begin a new one, or use a model with a larger window"
_ACCOUNT = "look at the account's credit and limits"


@dataclass(frozen=True, slots=True)
class Failing:
    """One failure, told for people. No key is part of it."""

    code: str
    message: str
    hint: str = ""
    may_ask_again: bool = False
    wait_seconds: float | None = None
    """How long the provider wants us to wait, if it said so."""

    def as_error(self, attempts: int) -> ModelFailure:
        """Return it as an exception, after so many attempts."""
        asked = f" (asked {attempts} times)" if attempts > 1 else ""
        return ModelFailure(self.message + asked, hint=self.hint, code=self.code)


def decide_wait(failing: Failing, *, attempt: int, draw: Callable[[], float]) -> float:
    """Return for how many seconds to wait after this attempt: as the provider says, else longer each time.

    `draw` gives a number from 0 to 1, so that not all come back at the same moment.
    """
    if failing.wait_seconds is not None:
        return min(failing.wait_seconds, MAX_WAIT_SECONDS)
    longest = min(_FIRST_WAIT_SECONDS * 2 ** (attempt - 1), _LONGEST_OWN_WAIT_SECONDS)
    return longest * (0.5 + draw() / 2)


def describe_failure(error: Exception, *, model: UsableModel, heard: bool, timeout_seconds: float) -> Failing:
    """Return what a foreign error means. `heard` says whether part of an answer had come."""
    teller = Teller(model)
    if excess := _find_excess(error):
        return Failing("model-broken", teller.say("gave an answer that is too long", excess), _OTHER)
    if isinstance(error, TimeoutError | library.ModelTimeoutError | library.ModelRequestTimeout):
        silent = "went silent in its answer" if heard else "did not answer"
        return _again("model-timeout", teller.say(f"{silent} for {timeout_seconds:g} seconds"), hint=_PATIENCE)
    if isinstance(error, library.ModelConnectionError | OSError):
        return _describe_loss(error, teller, heard=heard)
    if isinstance(error, library.ModelRequestRejectedError | library.ModelQuotaExceededError | library.UserError):
        return _describe_refusal(error, teller)
    if isinstance(error, library.ModelRateLimitError):
        return _again_unless_told("model-rate-limited", error, teller.say("limits the rate", error))
    if isinstance(error, library.ModelUnavailableError | library.ModelServerError):
        return _again_unless_told("model-failed", error, teller.say("failed", error))
    if isinstance(error, library.ModelHTTPError):
        return _describe_status(error, teller)
    if isinstance(error, library.ModelAPIError) and error.in_stream:
        return _again_unless_told("model-failed", error, teller.say("failed in its answer", error))
    if isinstance(error, library.ContentFilterError):
        return Failing("model-failed", teller.say("withheld its answer", error))
    if _NO_CREDENTIALS.search(type(error).__name__):
        return Failing("model-refused", teller.say("was not asked", error), teller.key_hint)
    # Answers that are none, and whatever the library stumbles over in them.
    return _again("model-broken", teller.say("gave an answer that cannot be read", error), hint=teller.address_hint)


def _find_excess(error: BaseException | None) -> AnswerTooLong | None:
    """Return the bound that an error comes from, if it does; libraries wrap what is raised while they read."""
    while error is not None and not isinstance(error, AnswerTooLong):
        error = error.__cause__ or error.__context__
    return error


def _describe_loss(error: BaseException, teller: Teller, *, heard: bool) -> Failing:
    if heard:
        return _again("model-broken", teller.say("broke off in its answer"), hint=_LATER)
    while error.__cause__ is not None:  # The library's own word for it is "Connection error."
        error = error.__cause__
    return _again("model-unreachable", teller.say("cannot be reached", error), hint=teller.address_hint)


def _describe_refusal(error: Exception, teller: Teller) -> Failing:
    """Return what stays so, however often one asks."""
    message = teller.say("refused", error)
    match error:
        case library.ModelAuthenticationError():
            return Failing("model-refused", message, teller.key_hint)
        case library.ModelQuotaExceededError():
            return Failing("model-refused", message, _ACCOUNT)
        case library.ModelNotFoundError():
            return Failing("model-failed", message, teller.suggest_name(getattr(error, "suggested_model_id", None)))
        case library.ModelContextWindowExceededError():
            return Failing("model-too-long", message, _SHORTER)
        case library.ModelRequestRejectedError() if _TOO_LONG.search(message):
            return Failing("model-too-long", message, _SHORTER)
        case _:
            return Failing("model-failed", message, teller.suggest_name(None))


def _describe_status(error: library.ModelHTTPError, teller: Teller) -> Failing:
    """Return what a status means that the library has no word for."""
    message = teller.say("refused", error)
    if error.status_code == 413:
        return Failing("model-too-long", message, _SHORTER)
    if error.status_code in _PASSING_STATUSES:
        return _again_unless_told("model-failed", error, message)
    return Failing("model-failed", message, teller.suggest_name(None))


def _again(code: str, message: str, *, hint: str = "") -> Failing:
    return Failing(code, message, hint, may_ask_again=True)


def _again_unless_told(code: str, error: library.ModelAPIError, message: str) -> Failing:
    """Return a failure that passes, unless the provider says that it does not."""
    told_not_to = isinstance(error, library.ModelHTTPError) and error.provider_retry_hint is False
    return Failing(code, message, _LATER, may_ask_again=not told_not_to, wait_seconds=error.retry_after)
