"""What an operation of the HTTP interface is: the routes and the OpenAPI document are made from a table of them."""

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, cast

import anyio.to_thread
import msgspec
from starlette.requests import Request
from starlette.responses import Response

from prowess.errors import ToolInputError
from prowess.skill.deception import make_encodable
from prowess.surfaces.web.exact_routes import ExactRoute
from prowess.surfaces.web.site import Site
from prowess.surfaces.web.visitor import Visitor

__all__ = ["JSON", "Call", "Operation", "bad_request", "json_response", "make_route"]

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Call(Visitor):
    """One request to an operation, its parts read and checked."""

    path: dict[str, str] = field(default_factory=dict[str, str])
    query: Any = None
    """An instance of the operation's `query`."""
    body: Any = None
    """An instance of the operation's `body`."""


Handler = Callable[[Call], object]
"""Returns plain data for JSON, or a response. What blocks is a plain function, which runs in a thread."""
Show = Callable[[Call, Any], Any]
"""Makes plain data fit for whoever asks."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table."""

    method: str
    path: str
    name: str
    about: str
    handler: Handler
    _: KW_ONLY
    tag: str
    show: Show = Call.show_record
    """What becomes of plain data before it is sent: no handler need think of the folders of this machine."""
    query: type[msgspec.Struct] | None = None
    body: type[msgspec.Struct] | None = None
    answer: Any = None
    """The type of the answer, as msgspec describes it; None for one that is not JSON."""
    media: str = JSON
    status: int = 200
    errors: tuple[int, ...] = ()
    """Besides those that any operation may answer, which the OpenAPI document lists with each."""


def make_route(operation: Operation, site: Site) -> ExactRoute:
    """Return the route that carries out an operation."""
    is_async = inspect.iscoroutinefunction(operation.handler)

    async def endpoint(request: Request) -> Response:
        call = Call(
            site, request, _read_path(request), _read_query(operation, request), await _read_body(operation, request)
        )
        if is_async:
            result = await cast("Any", operation.handler)(call)
        else:
            result = await anyio.to_thread.run_sync(partial(operation.handler, call), limiter=site.threads)
        if isinstance(result, Response):
            return result
        if not call.is_local:
            result = await anyio.to_thread.run_sync(partial(operation.show, call, result), limiter=site.threads)
        return json_response(result, status=operation.status)

    return ExactRoute(operation.path, endpoint, methods=[operation.method], name=operation.name)


def json_response(data: object, *, status: int = 200) -> Response:
    """Return data as JSON; half characters, which nobody can read, become visible signs."""
    try:
        content = msgspec.json.encode(data)
    except UnicodeEncodeError:
        content = msgspec.json.encode(_clean(msgspec.to_builtins(data)))
    return Response(content, status, media_type=JSON, headers={"Cache-Control": "no-store"})


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return make_encodable(value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in cast("list[Any]", value)]
    return value


def bad_request(message: str, *, hint: str = "", code: str = "bad-request") -> ToolInputError:
    """Return the error of a request that its sender can correct."""
    return ToolInputError(message, hint=hint or "/api/openapi.json says what is expected", code=code)


def _read_path(request: Request) -> dict[str, str]:
    path: dict[str, str] = {key: str(value) for key, value in request.path_params.items()}
    if any("\0" in value or _has_half_characters(value) for value in path.values()):
        raise bad_request("the path holds a character that nothing here is named with")
    return path


def _has_half_characters(text: str) -> bool:
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def _read_query(operation: Operation, request: Request) -> Any:
    if operation.query is None:
        return None
    known = {one.encode_name for one in msgspec.structs.fields(operation.query)}
    given: dict[str, str] = {}
    for key, value in request.query_params.multi_items():
        if key not in known or key in given:
            raise bad_request(f"the parameter '{make_encodable(key[:80])}' is unknown, or is given twice")
        given[key] = value
    try:
        return msgspec.convert(given, type=operation.query, strict=False)
    except msgspec.ValidationError as error:
        raise bad_request(f"a parameter is wrong: {error}") from None


async def _read_body(operation: Operation, request: Request) -> Any:
    if operation.body is None:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != JSON:
        raise bad_request("the body must be JSON", hint=f"send it with Content-Type: {JSON}", code="not-json")
    raw = await request.body()
    try:
        return msgspec.json.decode(raw, type=operation.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request(f"the body is wrong: {error}") from None
