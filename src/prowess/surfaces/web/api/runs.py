"""Files that runs of scripts have left, to be downloaded."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from prowess.errors import NotFound
from prowess.sources.beneath import Obstacle, open_beneath
from prowess.sources.real_paths import find_real_path
from prowess.surfaces.web.api.file_answers import dispose
from prowess.surfaces.web.api.operations import Call, Operation

__all__ = ["RUN_OPERATIONS"]

_RUN = re.compile("[0-9a-f]{8,64}")
_PART_BYTES = 1 << 18


class _Download(StreamingResponse):
    """Sends a file, and closes it even if nothing of it is asked for."""

    def __init__(self, file: BinaryIO, *, size_bytes: int, headers: Mapping[str, str]) -> None:
        super().__init__(_read(file, size_bytes), media_type="application/octet-stream", headers=headers)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


def _open(call: Call) -> BinaryIO:
    run, path = call.path["run"], call.path["path"]
    if _RUN.fullmatch(run):
        folder = find_real_path(call.site.runtime.workbench.output_folder(run))
        found = open_beneath(folder, path=path.encode("utf-8", "replace")) if folder else Obstacle.MISSING
        if not isinstance(found, Obstacle):
            return open(found, "rb", buffering=0)
    raise NotFound(
        "no such file of a run",
        hint="files that runs leave are kept for some days, on the machine that ran the script",
        code="output-not-found",
    )


def _download(call: Call) -> Response:
    file = _open(call)
    size = os.fstat(file.fileno()).st_size
    headers = {
        "Content-Length": str(size),
        "Content-Disposition": dispose(call.path["path"]),
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": "private, no-cache",
    }
    return _Download(file, size_bytes=size, headers=headers)


def _read(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size > 0 and (part := file.read(min(size, _PART_BYTES))):
        size -= len(part)
        yield part


RUN_OPERATIONS = (
    Operation(
        method="GET",
        path="/api/runs/{run}/outputs/{path:path}",
        name="download_output",
        about="Download a file that a run has left.",
        handler=_download,
        tag="runs",
        media="application/octet-stream",
        errors=(404,),
    ),
)
