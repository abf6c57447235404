"""Who may use the server: those who know its token."""

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from prowess.surfaces.http.refusals import RequestRefused
from prowess.surfaces.web.guards.credentials import LOGIN, Credentials, read_bearer
from prowess.surfaces.web.pages.login import answer_login, answer_logout, show_login
from prowess.surfaces.web.site import Site
from prowess.surfaces.web.telemetry.health import METRICS, PROBES

__all__ = ["LoginGuard"]

_DOORS = {LOGIN: answer_login, "/logout": answer_logout}


class LoginGuard:
    """Lets in who shows the token or its cookie; without a token, everybody at this machine."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app = app
        self._site = site
        self._credentials = Credentials(site.options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        door = _DOORS.get(path)
        if door is not None:
            response = await door(self._site, Request(scope, receive), self._credentials)
        elif path in PROBES or path.startswith("/static/") or self._is_welcome(scope):
            return await self.app(scope, receive, send)
        elif path.startswith("/api/") or path == METRICS:
            raise RequestRefused(
                "you are not logged in",
                status=401,
                code="not-logged-in",
                hint="send Authorization: Bearer TOKEN, or open the address that `prowess serve` printed",
                headers={"WWW-Authenticate": "Bearer"},
            )
        else:
            response = show_login(self._site, Request(scope, receive), next_path=_read_address(scope))
        return await response(scope, receive, send)

    def _is_welcome(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        is_local = bool(scope.get("prowess.local"))
        if is_local and (scope["path"] == METRICS or not self._credentials.are_needed):
            return True
        token = read_bearer(headers)
        if token is not None:
            return self._credentials.accept_token(token)
        return self._credentials.accept_cookie(headers)


def _read_address(scope: Scope) -> str:
    query: bytes = scope["query_string"]
    path: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    return (path + (b"?" + query if query else b"")).decode("latin-1")
