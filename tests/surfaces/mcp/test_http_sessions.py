"""Sessions of clients over HTTP: how many there are at once, and when one that nobody uses ends."""

import logging
import time
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp.client import Client

from prowess.agent.chat import Chat
from prowess.runtime import Runtime
from prowess.surfaces.mcp.options import McpOptions
from prowess.surfaces.mcp.server import make_server
from prowess.surfaces.mcp.visits import Visit
from tests.skills_on_disk import write_skill
from tests.surfaces.command import run
from tests.surfaces.mcp.connecting import HEADERS, HELLO, LEGACY, ask, connect_http, serving_within, until, with_client

pytestmark = pytest.mark.slow

_IDLE_SECONDS = 0.6
_ACTIVATE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "activate_skill", "arguments": {"name": "greet"}},
}


def _begin(web: httpx2.Client, url: str) -> httpx2.Response:
    return web.post(url, json=HELLO, headers=HEADERS)


def _sessions() -> int:
    return len(run("sessions", "--json").json["sessions"])


def test_client_that_only_listens_keeps_its_session(skills: Path) -> None:
    heard: list[Any] = []

    async def work(client: Client) -> None:
        uri = "skill://project/greet/references/guide.md"
        await client.call_tool("activate_skill", {"name": "greet"})
        await ask(client, "resources/subscribe", {"uri": uri})
        await anyio.sleep(_IDLE_SECONDS * 1.1 + 1.5)
        (skills / "greet/references/guide.md").write_text("# Other guide\n")
        write_skill(skills, "new-one")
        for kind in (types.ResourceUpdatedNotification, types.ToolListChangedNotification):
            await until(lambda kind=kind: any(isinstance(one, kind) for one in heard))
        result = await client.call_tool("deactivate_skill", {"name": "greet"})
        assert result.structured_content["deactivated"] is True

    with serving_within(str(skills), mcp={"idle_seconds": _IDLE_SECONDS}) as url:
        with_client(work, connect_http(url, mode=LEGACY, heard=heard))


def test_session_that_nobody_uses_ends(skills: Path) -> None:
    with serving_within(str(skills), mcp={"idle_seconds": _IDLE_SECONDS}) as url, httpx2.Client(timeout=20) as web:
        session = {**HEADERS, "Mcp-Session-Id": _begin(web, url).headers["mcp-session-id"]}
        web.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        assert web.post(url, json=_ACTIVATE, headers=session).status_code == 200
        deadline = time.monotonic() + 20
        while _sessions():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert web.post(url, json=_ACTIVATE, headers=session).status_code == 404


def test_one_session_too_many_is_refused_until_another_ends(skills: Path) -> None:
    with serving_within(str(skills), mcp={"sessions": 2}) as url, httpx2.Client(timeout=20) as web:
        first, second, third = _begin(web, url), _begin(web, url), _begin(web, url)
        assert (first.status_code, second.status_code, third.status_code) == (200, 200, 503)
        assert "Too many open sessions" in third.text
        session = {**HEADERS, "Mcp-Session-Id": first.headers["mcp-session-id"]}
        assert web.post(url, json=_ACTIVATE, headers=session).status_code == 200  # Those that are open go on.
        assert web.delete(url, headers=session).status_code == 200
        assert _begin(web, url).status_code == 200


class _Broken:
    def close(self) -> None:
        raise RuntimeError("broken")


def test_session_that_cannot_be_ended_is_logged_and_hurts_nobody(
    runtime: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        _, hall = make_server(runtime, McpOptions())
        visit = Visit(hall, runtime.session(), cast("Any", None), cast("Chat", _Broken()))
        visit.end()

    with caplog.at_level(logging.ERROR, "prowess"):
        anyio.run(work)
    assert "a session was not ended" in caplog.text
