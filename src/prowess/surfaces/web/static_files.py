"""Style sheets, modules and pictures of the pages."""

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import resources

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

__all__ = ["make_static_routes", "static_url"]

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_FOR_EVER = "public, max-age=31536000, immutable"
_MARK = re.compile("[0-9a-f]{16}")
_LOOK_AGAIN = "no-cache"
_ICON = "prowess.svg"


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    media_type: str
    mark: str
    """A hash of the content."""


@cache
def _read_files() -> dict[str, _File]:
    """Read all files once, by name. What is asked for is looked up here, and no path is ever made of it."""
    folder = resources.files("prowess.surfaces.web") / "static"
    found: dict[str, _File] = {}
    for entry in folder.iterdir():
        media_type = _MEDIA_TYPES.get("." + entry.name.rpartition(".")[2])
        if media_type is not None and entry.is_file():
            content = entry.read_bytes()
            found[entry.name] = _File(content, media_type, sha256(content).hexdigest()[:16])
    return found


@cache
def _mark_all() -> str:
    """Return a hash of all files. Modules fetch each other by relative addresses, so one mark must do for them all."""
    marks = sorted(f"{name} {file.mark}" for name, file in _read_files().items())
    return sha256("\n".join(marks).encode()).hexdigest()[:16]


def static_url(name: str) -> str:
    """Return the address of a static file, by which browsers may keep it for as long as no file changes."""
    return f"/static/{_mark_all()}/{name}"


def make_static_routes() -> list[BaseRoute]:
    """Return the routes of all static files."""

    async def serve(request: Request) -> Response:
        mark, _, name = request.path_params["name"].rpartition("/")
        return _answer(request, name, mark=mark)

    async def serve_icon(request: Request) -> Response:
        return _answer(request, _ICON, mark="")

    return [
        Route("/static/{name:path}", serve, methods=["GET"], name="static"),
        Route("/favicon.ico", serve_icon, methods=["GET"], name="icon"),
    ]


def _answer(request: Request, name: str, *, mark: str) -> Response:
    """Answer with a file. One that was asked for by another mark may be another tomorrow: it is looked at again."""
    file = _read_files().get(name)
    if file is None or not (mark == "" or _MARK.fullmatch(mark)):
        raise HTTPException(404)
    headers = {"ETag": f'"{file.mark}"', "Cache-Control": _FOR_EVER if mark == _mark_all() else _LOOK_AGAIN}
    if file.mark in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers={**headers, "Content-Type": file.media_type})
