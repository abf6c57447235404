"""What a client shows to be let in: the token itself, or a cookie that was made from it."""

import hmac
import time
from collections.abc import Iterator
from hashlib import sha256

from starlette.datastructures import Headers, QueryParams
from starlette.responses import Response
from starlette.types import Scope

from prowess.surfaces.http.options import HttpOptions
from prowess.surfaces.http.refusals import RequestRefused
from prowess.surfaces.web.guards.rates import Bucket

__all__ = ["COOKIE", "LOGIN", "Credentials", "read_bearer"]

COOKIE = "prowess"
LOGIN = "/login"
"""Where a person shows the token."""
_LABEL = b"prowess web cookie 1"
_COOKIE_SECONDS = 30 * 86_400


class Credentials:
    """Knows the token, and counts wrong ones.

    Too many wrong ones are answered with 429 instead of 401. The right one always opens: it cannot be guessed, and
    whoever sends wrong ones must not be able to lock its owner out.
    """

    def __init__(self, options: HttpOptions) -> None:
        self._token = options.token
        self._cookie = hmac.new(options.token.encode(), _LABEL, sha256).hexdigest()
        self._is_secure = options.is_secure
        rate = options.limits.logins_per_minute
        self._wrong = Bucket(rate / 60, burst=rate, now=time.monotonic())

    @property
    def are_needed(self) -> bool:
        """Whether there is a token at all."""
        return bool(self._token)

    def recognise(self, scope: Scope) -> bool:
        """Whether a request shows what opens, in any of the places for it. It costs little, and counts nothing."""
        if not self.are_needed:
            return bool(scope.get("prowess.local"))
        headers = Headers(scope=scope)
        token = read_bearer(headers)
        if token is not None:
            return self._is_token(token)
        return self.accept_cookie(headers) or (scope["path"] == LOGIN and self._is_token(_read_query_token(scope)))

    def accept_token(self, given: str) -> bool:
        """Whether a token is the right one; raise `RequestRefused` if there were too many wrong ones."""
        if self._is_token(given):
            return True
        seconds = self._wrong.take(time.monotonic())
        if seconds:
            raise RequestRefused(
                "too many wrong tokens",
                status=429,
                code="too-many-logins",
                hint="wait, then use the address that `prowess serve` printed",
                headers={"Retry-After": str(int(seconds) + 1)},
            )
        return False

    def _is_token(self, given: str) -> bool:
        return bool(self._token) and hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def accept_cookie(self, headers: Headers) -> bool:
        """Whether one of the cookies of a request was made from the token."""
        given = (value for line in headers.getlist("cookie") for value in _read_cookies(line))
        return self.are_needed and any(hmac.compare_digest(value.encode(), self._cookie.encode()) for value in given)

    def set_cookie(self, response: Response) -> None:
        """Have a browser keep the cookie."""
        response.set_cookie(
            COOKIE,
            self._cookie,
            max_age=_COOKIE_SECONDS,
            path="/",
            secure=self._is_secure,
            httponly=True,
            samesite="strict",
        )

    def clear_cookie(self, response: Response) -> None:
        """Have a browser forget the cookie."""
        response.delete_cookie(COOKIE, path="/", secure=self._is_secure, httponly=True, samesite="strict")


def read_bearer(headers: Headers) -> str | None:
    """Return the token that a program sends; None if it sends none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def _read_query_token(scope: Scope) -> str:
    """Return the token of the address that `prowess serve` prints."""
    return QueryParams(scope["query_string"]).get("token", "").strip()


def _read_cookies(line: str) -> Iterator[str]:
    """Return the values of our cookie, whatever else servers on other ports of this machine have set."""
    for part in line.split(";"):
        name, _, value = part.partition("=")
        if name.strip() == COOKIE:
            yield value.strip()
