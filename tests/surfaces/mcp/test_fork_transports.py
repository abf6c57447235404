"""Skills for subagents over pipes and HTTP, as clients really come."""

import anyio
import mcp_types as types
import pytest
from mcp.client import Client

from tests.agent.openai_server import ScriptedServer
from tests.surfaces.command import run
from tests.surfaces.mcp.connecting import LEGACY, Person, connect_http, connect_stdio, serving_http, until, with_client

pytestmark = pytest.mark.slow


def _text(result: types.CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, types.TextContent))


async def _dig(client: Client, how: str = "Dig here.") -> types.CallToolResult:
    return await client.call_tool("activate_skill", {"name": "deep", "arguments": how})


@pytest.mark.parametrize("way", ["pipes", "http"])
def test_subagent_works_the_skill_for_a_client_from_outside(served: ScriptedServer, mode: str, way: str) -> None:
    person = Person(["allow-once"])
    if way == "pipes":
        result = with_client(_dig, connect_stdio(mode=mode, person=person))
    else:
        with serving_http() as url:
            result = with_client(_dig, connect_http(url, mode=mode, person=person))
    assert (_text(result), result.is_error) == ("Dug.", False)
    assert len(person.asked) == 1
    assert len(served.requests) == 1


def test_cancelled_call_ends_its_subagent_that_works(served: ScriptedServer, mode: str) -> None:
    run("grants", "--allow", "deep")

    async def work(client: Client) -> types.CallToolResult:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_dig, client, "Dig for ever.")
            await until(lambda: served.requests)
            tasks.cancel_scope.cancel()
        await until(served.requests[0].gone.is_set)
        return await _dig(client)

    result = with_client(work, connect_stdio(mode=mode))
    assert (_text(result), result.is_error) == ("Dug.", False)


@pytest.mark.usefixtures("served_in_turn")
def test_clients_of_one_session_have_subagents_work_one_after_the_other() -> None:
    run("grants", "--allow", "deep")
    results: list[str] = []

    async def dig(client: Client) -> None:
        results.append(_text(await _dig(client)))

    async def work(client: Client) -> None:
        async with connect_http(url, mode=LEGACY) as other, anyio.create_task_group() as tasks:
            for one in (client, other):
                tasks.start_soon(dig, one)
                await anyio.sleep(0.3)

    with serving_http(further=("--session", "kept")) as url:
        with_client(work, connect_http(url, mode=LEGACY))
    assert results == ["Dug.", "Dug."]
