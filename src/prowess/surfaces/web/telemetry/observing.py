"""Sees every request: counts it, times it, logs a line, and traces it where that is wanted."""

import re
import time
import uuid
from collections.abc import Iterator
from typing import Any

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prowess.surfaces.web.site import Site

__all__ = ["Observer"]

_LOG = structlog.get_logger("prowess.web")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_DOORS = frozenset({"/login", "/logout"})
_QUIET = frozenset({"/healthz", "/readyz", "/metrics", "/static/{name:path}", "/favicon.ico"})
"""What is asked for all the time, and tells little."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_POLICY_VIOLATION = 1008
_GONE = 499
"""Counted for requests that were never answered."""


class Observer:
    """Stands around everything else. What it keeps of a request is its route, never its path, query or body."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app = app
        self._site = site
        self._templates: dict[object, str] = {route.endpoint: route.path for route in _find_routes(app)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        seen = _Seen(send, request_id=_choose_id(Headers(scope=scope)))
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request=seen.id)
        span = self._site.traces.open_request(scope) if self._site.traces else None
        self._site.metrics.answering += 1
        try:
            await self.app(scope, receive, seen.send)
        finally:
            self._site.metrics.answering -= 1
            route = self._name_route(scope)
            if span is not None:
                span.close(method=_name_method(scope), route=route, status=seen.status)
            self._tell(_name_method(scope), route, seen)

    def _name_route(self, scope: Scope) -> str:
        if scope["path"] in _DOORS:
            return scope["path"]
        return self._templates.get(scope.get("endpoint"), "")

    def _tell(self, method: str, route: str, seen: "_Seen") -> None:
        self._site.metrics.count_request(method=method, route=route, status=seen.status, seconds=seen.seconds)
        tell = _LOG.debug if route in _QUIET else _LOG.info
        tell("request", method=method, route=route, status=seen.status, ms=round(seen.seconds * 1_000, 1))


class _Seen:
    """What is seen of one answer."""

    def __init__(self, send: Send, *, request_id: str) -> None:
        self._send = send
        self._begun = time.perf_counter()
        self.id = request_id
        self.status = _GONE
        self._seconds: float | None = None

    @property
    def seconds(self) -> float:
        """Until the answer began; streams go on for hours."""
        return time.perf_counter() - self._begun if self._seconds is None else self._seconds

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._seconds = time.perf_counter() - self._begun
            self.status = message["status"]
            MutableHeaders(scope=message)["X-Request-ID"] = self.id
        await self._send(message)


def _find_routes(app: Any) -> Iterator[Route]:
    """Return the routes of the app that lies within the guards."""
    while not hasattr(app, "routes") and hasattr(app, "app"):
        app = app.app
    return (route for route in getattr(app, "routes", ()) if isinstance(route, Route))


def _choose_id(headers: Headers) -> str:
    """Return the id that a proxy has given to a request, or a new one."""
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def _name_method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in _METHODS else "other"
