"""`prowess mcp --http`: clients over HTTP, and whoever else comes along."""

import subprocess
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.subscriptions import ToolsListChanged

from tests.runtime.runs import find_processes, is_gone
from tests.skills_on_disk import write_skill
from tests.surfaces.command import PROWESS, run
from tests.surfaces.mcp.connecting import (
    HEADERS,
    HELLO,
    LEGACY,
    MODERN,
    TOKEN,
    Person,
    connect_http,
    serving_http,
    until,
    with_client,
)

pytestmark = pytest.mark.slow


def test_clients_of_both_kinds_are_served_and_left_in_order(skills: Path, tmp_path: Path) -> None:
    run("--skills", str(skills), "grants", "--allow", "greet", "--run")
    with serving_http("--skills", str(skills)) as url:
        for mode in (LEGACY, MODERN):
            marker = f"marker-{tmp_path.name}-{mode}"
            with_client(lambda client, marker=marker: _use(client, marker), connect_http(url, mode=mode))
        with_client(_see_change, connect_http(url, mode=MODERN))
    assert run("sessions", "--json").json["sessions"] == []


async def _use(client: Client, marker: str) -> None:
    heard: list[str | None] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    assert len((await client.list_tools()).tools) == 5
    assert len((await client.list_resources()).resources) == 7
    assert "Greet" in str((await client.get_prompt("greet")).messages)
    slow = {"name": "greet", "script": "scripts/slow.py"}
    result = await client.call_tool("run_skill_script", slow, progress_callback=listen)
    assert result.structured_content["exit_status"] == 0
    assert "line 0" in "".join(text or "" for text in heard)
    async with anyio.create_task_group() as tasks:
        wait = {"name": "greet", "script": "scripts/wait.py", "arguments": [marker]}
        tasks.start_soon(client.call_tool, "run_skill_script", wait)
        await until(lambda: find_processes(marker))
        tasks.cancel_scope.cancel()
    assert await anyio.to_thread.run_sync(is_gone, marker)


async def _see_change(client: Client) -> None:
    async with client.listen(tools_list_changed=True) as events:
        await anyio.sleep(0.7)
        write_skill(Path("skills"), "new-one")
        assert await anext(aiter(events)) == ToolsListChanged()


def test_people_are_asked_over_http_too(skills: Path) -> None:
    given = {"name": "greet", "script": "scripts/slow.py"}

    async def work(client: Client) -> types.CallToolResult:
        return await client.call_tool("run_skill_script", given)

    with serving_http("--skills", str(skills)) as url:
        for mode in (LEGACY, MODERN):
            person = Person(["allow-once"])
            result = with_client(work, connect_http(url, mode=mode, person=person))
            assert result.structured_content["exit_status"] == 0
            assert len(person.asked) == 1
            nobody = with_client(work, connect_http(url, mode=mode))
            assert nobody.structured_content["error"]["code"] == "consent-needed"


def test_only_those_are_let_in_who_may(skills: Path) -> None:
    with serving_http("--skills", str(skills)) as url, httpx2.Client(timeout=20) as web:
        port = url.split(":")[2].split("/")[0]

        def status(**headers: str) -> int:
            given = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
            return web.post(
                url, json=HELLO, headers={name: value for name, value in given.items() if value}
            ).status_code

        assert status() == 200
        assert status(Authorization="") == 401
        assert status(Authorization="Bearer wrong") == 401
        assert status(Authorization=f"Basic {TOKEN}") == 401
        assert status(Host="evil.example") == 421
        assert status(Host=f"evil.example:{port}") == 421
        assert status(Host="127.0.0.1:1") == 421
        assert status(Host=f"localhost:{port}") == 200
        assert status(Origin="https://evil.example") == 403
        assert status(Origin="null") == 403
        assert status(Origin="http://127.0.0.1:1") == 403
        assert status(Origin=f"http://127.0.0.1:{port}") == 200
        assert status(Sec_Fetch_Site="cross-site") == 403
        assert web.post(url, content=b"{", headers=HEADERS).status_code == 400
        assert web.post(url, content=b"x" * 2_000_000, headers=HEADERS).status_code == 413
        assert web.post(url, content=b"{}", headers={**HEADERS, "Content-Type": "text/plain"}).status_code == 400
        assert web.post(url, json=HELLO, headers={**HEADERS, "Mcp-Session-Id": "guessed"}).status_code == 404
        assert web.get(url.replace("/mcp", "/"), headers=HEADERS).status_code == 404
        assert web.post(url, json=HELLO, headers={**HEADERS, "MCP-Protocol-Version": "2099-01-01"}).status_code == 400


def test_session_that_is_left_is_gone(skills: Path) -> None:
    with serving_http("--skills", str(skills)) as url, httpx2.Client(timeout=20, headers=HEADERS) as web:
        opened = web.post(url, json=HELLO)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        activate = {"name": "activate_skill", "arguments": {"name": "greet"}}
        web.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        call: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": activate}
        assert "Greet" in web.post(url, json=call, headers=session).text
        assert len(run("sessions", "--json").json["sessions"]) == 1
        assert web.delete(url, headers=session).status_code == 200
        assert web.post(url, json=call, headers=session).status_code == 404
        assert run("sessions", "--json").json["sessions"] == []


def test_sessions_of_clients_are_their_own(skills: Path) -> None:
    async def activate(client: Client) -> None:
        await client.call_tool("activate_skill", {"name": "greet"})
        assert len(run("sessions", "--json").json["sessions"]) == 1

    async def look(client: Client) -> dict[str, Any]:
        return (await client.call_tool("deactivate_skill", {"name": "greet"})).structured_content

    with serving_http("--skills", str(skills)) as url:

        async def both(client: Client) -> None:
            await activate(client)
            async with connect_http(url, mode=LEGACY) as other:
                assert (await look(other))["deactivated"] is False
            assert (await look(client))["deactivated"] is True

        with_client(both, connect_http(url, mode=LEGACY))


@pytest.mark.parametrize(
    ("arguments", "token", "said"),
    [
        (["--http", "0.0.0.0:0", "--no-token"], "", "without a token"),
        (["--http", "127.0.0.1:0", "--no-token", "--allow-host", "example.org"], "", "without a token"),
        (["--http", "127.0.0.1:0"], "short", "too easy to guess"),
        (["--http", "127.0.0.1"], "", "has no port"),
        (["--http", "127.0.0.1:99999"], "", "there is no port 99999"),
        (["--no-token"], "", "are for --http"),
        (["--http", "192.0.2.1:1"], "", "cannot be listened on"),
    ],
)
def test_server_that_would_be_unsafe_is_not_started(skills: Path, arguments: list[str], token: str, said: str) -> None:
    outcome = run("--skills", str(skills), "mcp", *arguments, env={"PROWESS_TOKEN": token})
    assert outcome.status in (2, 3)
    assert said in outcome.stderr
    assert outcome.stdout == ""


def test_token_is_made_and_said_where_none_is_given(skills: Path) -> None:
    with subprocess.Popen(
        [PROWESS, "--skills", str(skills), "mcp", "--http", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            url = process.stderr.readline().removeprefix("MCP: ").strip()
            token = process.stderr.readline().removeprefix("token: ").strip()
            headers = {**HEADERS, "Authorization": f"Bearer {token}"}
            assert len(token) == 48
            assert httpx2.post(url, json=HELLO, headers=headers).status_code == 200
            assert httpx2.post(url, json=HELLO, headers=HEADERS).status_code == 401
        finally:
            process.terminate()
