"""A file of a run is closed whatever becomes of the answer."""

import os
from pathlib import Path

import anyio
import pytest
from starlette.routing import Router
from starlette.types import Message, Scope

from prowess.runtime import Runtime
from prowess.surfaces.http.options import HttpOptions
from prowess.surfaces.web.api.operations import make_route
from prowess.surfaces.web.api.runs import RUN_OPERATIONS
from tests.surfaces.web.conftest import MakeSite

_RUN = "0123456789abcdef"


@pytest.fixture
def output(runtime: Runtime) -> Path:
    file = Path(runtime.workbench.output_folder(_RUN)) / "a.txt"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"hello" * 100_000)
    return file


def _is_open(file: Path) -> bool:
    names = [f"/proc/self/fd/{one}" for one in os.listdir("/proc/self/fd")]
    return str(file) in [os.readlink(name) for name in names if os.path.islink(name)]


def test_file_is_closed_though_the_client_goes_before_anything_is_sent(make_site: MakeSite, output: Path) -> None:
    app, seen = Router([make_route(RUN_OPERATIONS[0], make_site(HttpOptions()))]), list[bool]()
    path = f"/api/runs/{_RUN}/outputs/a.txt"
    scope: Scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [], "state": {}}

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None:
        seen.append(_is_open(output))
        raise OSError

    with pytest.raises(BaseException):  # noqa: B017, PT011 - whatever the library makes of it
        anyio.run(app, scope, receive, send)
    assert seen == [True]
    assert not _is_open(output)
