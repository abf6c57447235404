"""The MCP server as an app for HTTP: the guards before it, and which clients are there."""

import hmac
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import anyio.to_thread
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prowess.runtime import Runtime
from prowess.surfaces.http.authorities import Authorities
from prowess.surfaces.http.bodies import BoundedBody
from prowess.surfaces.http.host_names import Authority, is_loopback, parse_authority
from prowess.surfaces.http.options import NEAR, HttpLimits, HttpOptions, check_options
from prowess.surfaces.http.refusals import RequestRefused
from prowess.surfaces.mcp.options import McpOptions
from prowess.surfaces.mcp.server import make_server
from prowess.surfaces.mcp.visits import Hall

__all__ = ["PATH", "make_http_app"]

PATH = "/mcp"
_SESSION_HEADER = MCP_SESSION_ID_HEADER.encode("ascii")


def make_http_app(runtime: Runtime, options: McpOptions, *, port: int) -> ASGIApp:
    """Return the app. Its lifespan is that of the server. Raise `SettingsError` if it must not be reached like that."""
    assert options.http is not None
    limits = replace(options.http.limits, body_bytes=options.limits.body_bytes)
    http = replace(options.http, port=port, limits=limits)
    check_options(http)
    server, hall = make_server(runtime, options)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=options.limits.body_bytes,
        session_idle_timeout=options.limits.idle_seconds,
        max_sessions=options.limits.sessions,
        transport_security=_make_security(http),
        host=http.host,
    )
    return HttpGuard(Attendance(app, hall), http)


def _make_security(options: HttpOptions) -> TransportSecuritySettings:
    """Return what the SDK checks as well; it cannot know the names of a machine with many."""
    hosts = [f"{name}:{options.port}" for name in ("127.0.0.1", "localhost", "[::1]", options.host)]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=options.host not in NEAR and not options.hosts,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{host}" for host in hosts],
    )


class HttpGuard:
    """Refuses requests that are for another name, that a foreign page has made, that lack the token, or come too slow.

    What passes has its whole body already, so nothing behind the guard waits for a client that does not send it.
    """

    def __init__(self, app: ASGIApp, options: HttpOptions) -> None:
        self._app = app
        self._token = options.token
        self._limits = options.limits
        self._authorities = Authorities(options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._judge(scope)
        if refusal is None:
            try:
                receive = await _take_body(receive, self._limits)
            except RequestRefused as error:
                refusal = _refuse(error.status, error.code, error.message)
        await (refusal or self._app)(scope, receive, send)

    def _judge(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        given = headers.getlist("host")
        host = parse_authority(given[0]) if len(given) == 1 else None
        if host is None or not self._authorities.includes(host):
            return _refuse(421, "wrong-host", "this server does not answer to the name in the address")
        if not self._is_own_page(headers, host):
            return _refuse(403, "foreign-origin", "a page from elsewhere has sent this request")
        if not self._token:
            client = scope.get("client")
            is_here = bool(client) and is_loopback(client[0]) and host.is_loopback
            return None if is_here else _refuse(403, "not-local", "without a token, only this machine is served")
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token.encode()):
            return None
        refusal = _refuse(401, "not-logged-in", "send Authorization: Bearer TOKEN; `prowess mcp` says which")
        refusal.headers["WWW-Authenticate"] = "Bearer"
        return refusal

    def _is_own_page(self, headers: Headers, host: Authority) -> bool:
        origins = headers.getlist("origin")
        if len(origins) > 1 or headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return False
        return all(self._authorities.is_own_origin(origin, host=host) for origin in origins)


class Attendance:
    """Knows which clients are present, and ends the session of one that says that it leaves."""

    def __init__(self, app: ASGIApp, hall: Hall) -> None:
        self._app = app
        self._hall = hall

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = _find_session(scope) if scope["type"] == "http" else ""
        if not session:
            await self._app(scope, receive, send)
            return
        statuses: list[int] = []
        with self._hall.present(session):
            await self._app(scope, receive, _watch_status(send, statuses))
        has_left = scope["method"] == "DELETE" and statuses and statuses[0] < 400
        visit = self._hall.leave(session) if has_left else None
        if visit is not None:
            await anyio.to_thread.run_sync(visit.end)


def _find_session(scope: Scope) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == _SESSION_HEADER), "")


def _watch_status(send: Send, statuses: list[int]) -> Callable[[Message], Awaitable[None]]:
    async def watch(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(int(message["status"]))
        await send(message)

    return watch


async def _take_body(receive: Receive, limits: HttpLimits) -> Receive:
    """Wait for the whole body, within its bounds; return what gives it again."""
    body = BoundedBody(receive, limits)
    taken: list[Message] = []
    while not taken or taken[-1].get("more_body", False):
        taken.append(await body.receive())
    taken.reverse()

    async def give() -> Message:
        return taken.pop() if taken else await receive()

    return give


def _refuse(status: int, code: str, message: str) -> Response:
    error = {"code": -32600, "message": message, "data": {"code": code}}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    return Response(body, status_code=status, media_type="application/json", headers={"Connection": "close"})
