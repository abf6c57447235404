"""What clients are told when the state cannot be reached any more: what was done is told as done, the rest as it is."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from prowess.activation.grants import Decision
from prowess.errors import WorldError
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.state.opening import open_store
from prowess.state.store import StateStore
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.mcp.connecting import LEGACY, MODERN, Person, ask, connect, with_client

pytestmark = pytest.mark.slow


class _LeavingStore:
    """A real store that cannot be reached any more once a method was called."""

    def __init__(self, store: StateStore) -> None:
        self.real = store
        self.last = ""
        """The last method that can be called."""
        self.is_away = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.real, name)
        return self._watch(name, found) if callable(found) and name != "close" else found

    def _watch(self, name: str, method: Callable[..., Any]) -> Any:
        def call(*arguments: Any, **others: Any) -> Any:
            if self.is_away:
                raise WorldError("the state cannot be reached", code="state-unreachable")
            done = method(*arguments, **others)
            self.is_away = name == self.last
            return done

        return call

    def come_back(self) -> None:
        self.last, self.is_away = "", False


@pytest.fixture
def store(home: Home) -> _LeavingStore:
    settings = load_settings()
    return _LeavingStore(open_store(settings.database, state_file=settings.state_file))


@pytest.fixture
def runtime(home: Home, store: Any) -> Iterator[Runtime]:
    """A runtime whose one skill is the user's own."""
    write_skill(home.path / ".agents" / "skills", "careful", description="Is careful. Use with care.")
    with Runtime(load_settings(), store=store) as opened:
        opened.decide("careful", Decision.ALLOW)
        yield opened


def test_call_that_was_carried_out_is_told_as_done_though_nobody_can_say_which_tools_there_are(
    runtime: Runtime, store: _LeavingStore, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(client: Client) -> types.CallToolResult:
        await client.call_tool("activate_skill", {"name": "careful"})
        await client.list_tools()
        store.last = "deactivate"
        try:
            return await client.call_tool("deactivate_skill", {"name": "careful"})
        finally:
            store.come_back()

    with caplog.at_level(logging.WARNING, "prowess"):
        result = with_client(work, connect(runtime, mode=mode))
    assert not result.is_error
    assert result.structured_content["deactivated"] is True
    assert "a client was not told of its tools: the state cannot be reached" in caplog.messages


def test_wish_to_hear_of_a_file_is_refused_with_a_code(runtime: Runtime, store: _LeavingStore, mode: str) -> None:
    async def work(client: Client) -> str:
        await client.list_tools()
        uri = (await client.list_resources()).resources[0].uri
        store.is_away = True
        try:
            with pytest.raises(MCPError) as caught:
                await _listen(client, uri, mode)
        finally:
            store.come_back()
        return caught.value.error.data["code"]

    assert with_client(work, connect(runtime, mode=mode)) == "state-unreachable"


async def _listen(client: Client, uri: str, mode: str) -> None:
    if mode == LEGACY:
        await ask(client, "resources/subscribe", {"uri": uri})
    else:
        async with client.listen(resource_subscriptions=[uri]):
            pass


def test_question_that_cannot_be_put_into_words_is_told_with_a_code(
    home: Home, runtime: Runtime, store: _LeavingStore
) -> None:
    async def work(client: Client) -> str:
        await client.list_tools()
        write_skill(home.path / ".agents" / "skills", "careful", description="Is careful.", body="Changed.\n")
        runtime.rescan()
        store.last = "find_former_grant"
        try:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("activate_skill", {"name": "careful"})
        finally:
            store.come_back()
        return caught.value.error.data["code"]

    opened = connect(runtime, mode=MODERN, person=Person(["allow-once"]))
    assert with_client(work, opened) == "state-unreachable"
