"""What blocks is not done in the event loop, in which all clients are served."""

import json
import threading
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client

from prowess.activation.consent import Question
from prowess.catalog.views import View
from prowess.runtime import Runtime
from prowess.runtime.changed_texts import TextChange
from prowess.runtime.session import Session
from prowess.settings import load_settings
from prowess.surfaces.mcp.options import McpOptions
from prowess.surfaces.mcp.server import make_server
from tests.skills_on_disk import Home, write_skill
from tests.sources.mcp.scripts import Acted
from tests.surfaces.mcp.connecting import MODERN, Person, connect, with_client

pytestmark = pytest.mark.slow


class _Noting(Runtime):
    """Notes in which threads it is asked for what takes long."""

    def __init__(self, *given: Any, **more: Any) -> None:
        self.threads: set[tuple[str, int]] = set()
        super().__init__(*given, **more)

    def session(self, *given: Any, **more: Any) -> Session:
        self._note("session")
        return super().session(*given, **more)

    def view(self, *given: Any, **more: Any) -> View:
        self._note("view")
        return super().view(*given, **more)

    def changed_texts(self, question: Question) -> tuple[TextChange, ...]:
        self._note("changed_texts")
        return super().changed_texts(question)

    def __enter__(self) -> "_Noting":
        return self

    def _note(self, what: str) -> None:
        self.threads.add((what, threading.get_ident()))


def test_sessions_questions_and_addresses_are_made_in_threads(home: Home) -> None:
    write_skill(home.path / ".agents" / "skills", "careful", body="Be careful.\n", files={"data.bin": b"\0\1\2"})

    async def work(client: Client) -> None:
        runtime.threads.clear()  # The instructions are made before anybody is served.
        read = await client.call_tool("read_skill_resource", {"name": "careful", "path": "data.bin"})
        assert isinstance(read.content[1], types.EmbeddedResource)

    with _Noting(load_settings()) as runtime:
        with_client(work, connect(runtime, mode=MODERN, person=Person(["allow-once"])))
        loop = threading.get_ident()
        assert {what for what, _ in runtime.threads} == {"session", "view", "changed_texts"}
        assert [what for what, thread in runtime.threads if thread == loop] == []


@pytest.mark.slow
def test_client_is_answered_before_hosted_servers_are(home: Home, tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme")
    acted.add("skill://refunds")
    home.write_settings(f"[mcp.servers.acme]\ncommand = {json.dumps(acted.command)}\n")

    def instruct() -> str | None:
        async def make() -> str | None:
            return make_server(runtime, McpOptions())[0].instructions

        return anyio.run(make)

    with Runtime.open() as runtime:
        assert instruct() is None
        assert acted.log.read_text() == ""  # Nobody was asked.
        runtime.catalog()
        assert "refunds" in (instruct() or "")
