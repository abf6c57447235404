"""Whatever goes wrong in answering becomes a page or a JSON problem, and never a traceback."""

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prowess.errors import (
    BrokenSkill,
    NotFound,
    ProwessError,
    Refused,
    SettingsError,
    ToolInputError,
    WorldError,
)
from prowess.surfaces.http.refusals import RequestRefused
from prowess.surfaces.web.api.operations import json_response
from prowess.surfaces.web.guards.limits import SlowClient
from prowess.surfaces.web.pages.page import Visit
from prowess.surfaces.web.site import Site
from prowess.surfaces.web.visitor import Visitor

__all__ = ["FailureGuard", "choose_status"]

_LOG = structlog.get_logger("prowess.web")
_BY_CODE = {
    "unknown-skill": 404,
    "chat-busy": 409,
    "question-answered": 409,
    "conversation-moved": 409,
    "internal-error": 500,
}
_BY_KIND: tuple[tuple[type[ProwessError], int], ...] = (
    (NotFound, 404),
    (Refused, 403),
    (ToolInputError, 400),
    (BrokenSkill, 422),
    (SettingsError, 422),
    (WorldError, 503),
)
_CODES = {404: "not-found", 405: "bad-method"}


class FailureGuard:
    """Answers for what is raised.

    Once an answer has begun, the connection ends instead: a cut answer must not look whole.
    """

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False
        scope["app"] = self  # Where there is one, the router raises what it would else answer by itself.

        async def watch(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except ClientDisconnect:
            return  # Nobody is there to be told.
        except SlowClient as slow:
            _LOG.info("a client was let go", reason=str(slow))
            raise
        except Exception as error:  # The rim of the surface: no traceback reaches a user.
            failure = _explain(error)
            if has_begun:
                _LOG.warning("an answer was cut off", code=failure.code)
                raise
            response = self._render(Request(scope), failure)
            await response(scope, receive, send)

    def _render(self, request: Request, failure: ProwessError) -> Response:
        status = choose_status(failure)
        visitor = Visitor(self._site, request)
        message, hint = visitor.show_text(failure.message), visitor.show_text(failure.hint)
        if request.url.path.startswith("/api/"):
            problem = {"error": {"code": failure.code, "message": message, "hint": hint}}
            response = json_response(problem, status=status)
        else:
            values: dict[str, object] = {"status": status, "code": failure.code, "message": message, "hint": hint}
            response = self._render_page(request, values, status=status)
        if isinstance(failure, RequestRefused):
            response.headers.update(failure.headers)
        if status == 429:
            response.headers.setdefault("Retry-After", "1")
        return response

    def _render_page(self, request: Request, values: dict[str, object], *, status: int) -> Response:
        try:
            return Visit(self._site, request).render("error.html", values, status=status)
        except Exception:  # noqa: BLE001 - even if what shows errors is broken, something is shown.
            _LOG.exception("the page of an error cannot be made")
            return PlainTextResponse(f"{values['message']}\n{values['hint']}\n", status)


def choose_status(error: ProwessError) -> int:
    """Return the HTTP status that says what kind of error it is."""
    if isinstance(error, RequestRefused):
        return error.status
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    if isinstance(error, Refused) and error.code.startswith("too-many-"):
        return 429
    return next((status for kind, status in _BY_KIND if isinstance(error, kind)), 500)


def _explain(error: Exception) -> ProwessError:
    """Return what is told of an error; what nobody has thought of is logged, and told without its details."""
    if isinstance(error, ProwessError):
        return error
    if isinstance(error, HTTPException):
        code = _CODES.get(error.status_code, "bad-request")
        message = "there is nothing at this address" if error.status_code == 404 else error.detail
        return RequestRefused(message, status=error.status_code, code=code, headers=error.headers)
    _LOG.error("a request has failed", exc_info=error)
    return WorldError(
        "something went wrong in Prowess itself", hint="its log says more; please report it", code="internal-error"
    )
