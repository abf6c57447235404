"""Bounds on what one request may take: its method, address, body and rate, and the patience with its client."""

import asyncio
import math
import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prowess.surfaces.http.bodies import CLOSE, BoundedBody, refuse_size
from prowess.surfaces.http.refusals import RequestRefused
from prowess.surfaces.web.guards.credentials import Credentials
from prowess.surfaces.web.guards.rates import ClientBuckets
from prowess.surfaces.web.site import Site
from prowess.surfaces.web.telemetry.health import PROBES

__all__ = ["LimitGuard", "SlowClient"]

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_MAX_ADDRESS = 8_000
_LOGIN = "login"
_PIECE_BYTES = 65_536
"""What is sent is sent in pieces of this size, each when the client has taken those before."""


class SlowClient(Exception):
    """A client does not take what is sent to it; the connection ends."""


class LimitGuard:
    """Refuses requests that are too large, too slow or too many, and lets go of clients that do not listen.

    Sets `prowess.client` in the scope: what a request counts as where clients are counted.
    """

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app = app
        self._limits = site.options.limits
        self._credentials = Credentials(site.options)
        self._is_behind_proxy = bool(site.options.public_url)
        self._known = _make_buckets(self._limits.requests_per_second)
        self._strangers = _make_buckets(self._limits.stranger_requests_per_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        _check_request(scope, headers)
        self._check_rate(scope)
        self._check_length(headers)
        scope["extensions"] = {}  # Files that the server sends by itself would be sent without patience, too.
        body = BoundedBody(receive, self._limits)
        await self.app(scope, body.receive, _PatientSend(send, seconds=self._limits.send_seconds).send)

    def _check_rate(self, scope: Scope) -> None:
        """Count a request. Strangers share the bucket of their address, and cannot empty that of who is logged in."""
        address = scope["client"][0] if scope.get("client") else ""
        is_known = self._credentials.recognise(scope)
        # All who come through a proxy have its address. There is one token, so they are one login.
        client = scope["prowess.client"] = _LOGIN if is_known and self._is_behind_proxy else address
        if scope["path"] in PROBES:
            return
        seconds = (self._known if is_known else self._strangers).take(client)
        if seconds:
            raise RequestRefused(
                "too many requests",
                status=429,
                code="too-many-requests",
                hint="wait a little",
                headers={"Retry-After": str(math.ceil(seconds)), **CLOSE},
            )

    def _check_length(self, headers: Headers) -> None:
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise RequestRefused("the length of the body is no number", status=400, code="bad-length", headers=CLOSE)
        if int(length[:20]) > self._limits.body_bytes:
            raise refuse_size(self._limits)


def _make_buckets(rate: float) -> ClientBuckets:
    return ClientBuckets(rate, burst=max(1.0, rate * 2), clock=time.monotonic)


def _check_request(scope: Scope, headers: Headers) -> None:
    if scope["method"] not in _METHODS or not scope["path"].startswith("/"):
        raise RequestRefused(
            f"there is no method {scope['method'][:20]!r} here",
            status=405,
            code="bad-method",
            headers={"Allow": ", ".join(_METHODS), **CLOSE},
        )
    if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > _MAX_ADDRESS:
        raise RequestRefused("the address is too long", status=414, code="address-too-long", headers=CLOSE)
    if "upgrade" in headers.get("connection", "").lower() and headers.get("upgrade", "").lower() == "websocket":
        raise RequestRefused(
            "there are no web sockets here",
            status=400,
            code="no-web-sockets",
            hint="use the streams of events that /api/openapi.json describes",
            headers=CLOSE,
        )


class _PatientSend:
    """Sends in pieces, and waits for each a bounded time.

    What is handed over in one large piece would lie in memory for as long as its client likes.
    """

    def __init__(self, send: Send, *, seconds: float) -> None:
        self._send = send
        self._seconds = seconds

    async def send(self, message: Message) -> None:
        body: bytes = message.get("body", b"")
        last = max(0, len(body) - 1) // _PIECE_BYTES * _PIECE_BYTES
        for begin in range(0, last, _PIECE_BYTES):
            await self._wait({**message, "body": body[begin : begin + _PIECE_BYTES], "more_body": True})
        await self._wait({**message, "body": body[last:]} if last else message)

    async def _wait(self, message: Message) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                await self._send(message)
        except TimeoutError:
            raise SlowClient(f"nothing was taken for {self._seconds:g} seconds") from None
