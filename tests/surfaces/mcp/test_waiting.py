"""People take their time: what waits for one of them stops no other request."""

from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client

from prowess.runtime import Runtime
from prowess.surfaces.mcp.options import McpLimits, McpOptions
from prowess.surfaces.mcp.server import make_server
from prowess.surfaces.mcp.visits import Hall
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.mcp.connecting import LEGACY, Person, connect, connect_http, serving_within, until, with_client

pytestmark = pytest.mark.requirement("K1")


@pytest.fixture
def own_skills(home: Home) -> Path:
    """Skills of the user's own, each of which is asked about."""
    root = home.path / ".agents" / "skills"
    for name in ("one", "two", "three"):
        write_skill(root, name, description=f"Does {name}. Use it.", body="Do it.\n")
    return root


def _use(client: Client, name: str) -> Any:
    return client.call_tool("activate_skill", {"name": name})


def _code(result: types.CallToolResult) -> str:
    return result.structured_content.get("error", {}).get("code", "")


def _within(**bounds: Any) -> McpOptions:
    return McpOptions(limits=McpLimits(**bounds))


@pytest.mark.usefixtures("own_skills")
def test_lists_are_answered_while_every_call_waits_for_a_person() -> None:
    person = Person(waits=True)

    async def work(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            for name in ("one", "two"):
                tasks.start_soon(_use, client, name)
            await until(lambda: len(person.asked) == 2)
            assert (await client.list_tools()).tools
            assert (await client.list_prompts()).prompts
            assert (await client.list_resources()).resources
            tasks.cancel_scope.cancel()

    with Runtime.open() as runtime:
        with_client(work, connect(runtime, mode=LEGACY, person=person, options=_within(calls=2)))


@pytest.mark.usefixtures("own_skills")
def test_form_that_nobody_fills_in_is_given_up() -> None:
    person = Person(waits=True)

    async def work(client: Client) -> types.CallToolResult:
        return await _use(client, "one")

    with Runtime.open() as runtime:
        result = with_client(work, connect(runtime, mode=LEGACY, person=person, options=_within(question_seconds=0.2)))
    assert len(person.asked) == 1
    assert _code(result) == "consent-needed"


@pytest.mark.usefixtures("own_skills")
def test_client_shows_so_many_forms_at_once_and_no_more() -> None:
    person = Person(waits=True)

    async def work(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            for name in ("one", "two"):
                tasks.start_soon(_use, client, name)
            await until(lambda: len(person.asked) == 2)
            assert _code(await _use(client, "three")) == "too-many-questions"
            tasks.cancel_scope.cancel()
        person.waits, person.answers = False, ["allow-once"]
        assert not (await _use(client, "three")).is_error  # Those that were left count no more.

    with Runtime.open() as runtime:
        with_client(work, connect(runtime, mode=LEGACY, person=person, options=_within(questions_per_client=2)))


@pytest.mark.usefixtures("own_skills")
def test_cancelled_call_that_waits_for_the_answer_of_another_frees_its_thread() -> None:
    person = Person(waits=True)

    async def work(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_use, client, "one")
            await until(lambda: person.asked)
            with anyio.move_on_after(0.5):
                await _use(client, "one")
            assert _code(await _use(client, "unknown")) == "unknown-skill"  # With the only other thread.
            tasks.cancel_scope.cancel()

    with Runtime.open() as runtime:
        with_client(work, connect(runtime, mode=LEGACY, person=person, options=_within(calls=2)))


@pytest.mark.usefixtures("own_skills")
def test_call_that_is_cancelled_while_it_waits_for_a_thread_is_never_carried_out() -> None:
    person = Person(waits=True)

    async def work(client: Client, hall: Hall) -> None:
        (visit,) = hall.visits
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_use, client, "one")
            await until(lambda: person.asked)
            with anyio.move_on_after(0.3):
                await _use(client, "two")
            await until(lambda: visit.requests == 1)  # Its handler is done, though the only thread is not free.
            tasks.cancel_scope.cancel()
        assert _code(await _use(client, "unknown")) == "unknown-skill"
        assert len(person.asked) == 1

    with Runtime.open() as runtime:

        async def run() -> None:
            server, hall = make_server(runtime, _within(calls=1))
            async with Client(server, mode=LEGACY, elicitation_callback=person.fill, cache=None) as client:
                await client.list_tools()
                with anyio.fail_after(20):
                    await work(client, hall)

        anyio.run(run)


@pytest.mark.slow
@pytest.mark.usefixtures("own_skills")
def test_client_whose_user_is_away_leaves_threads_for_others() -> None:
    person = Person(waits=True)

    async def work(client: Client) -> None:
        async with anyio.create_task_group() as tasks:
            for name in ("one", "one", "one", "two"):
                tasks.start_soon(_use, client, name)
            await until(lambda: person.asked)
            await anyio.sleep(0.5)  # The others have come, too.
            async with connect_http(url, mode=LEGACY) as other:
                assert _code(await _use(other, "one")) == "consent-needed"
            tasks.cancel_scope.cancel()

    with serving_within("", mcp={"calls": 4, "calls_per_client": 3}) as url:
        with_client(work, connect_http(url, mode=LEGACY, person=person))
