"""All that a client can do with the real server: over pipes and over HTTP, with the handshake of old and without it."""

import base64
import hashlib
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged

from tests.runtime.runs import find_processes, is_gone
from tests.skills_on_disk import write_skill
from tests.surfaces.mcp.conftest import PNG
from tests.surfaces.mcp.connecting import (
    LEGACY,
    Person,
    ask,
    connect_http,
    connect_stdio,
    serving_http,
    until,
    with_client,
)

pytestmark = pytest.mark.slow

_ROOT = "skill://project/greet"
_GUIDE = f"{_ROOT}/references/guide.md"


@dataclass
class _Visitor:
    """Does everything, one thing after the other."""

    client: Client
    mode: str
    skills: Path
    marker: str
    person: Person
    heard: list[Any]
    progress: list[str] = field(default_factory=list[str])

    async def do_everything(self) -> None:
        await self.list_all()
        await self.call_every_tool()
        await self.read_resources()
        await self.use_prompts()
        await self.complete()
        await self.use_the_extension()
        await self.cancel()
        await self.hear_of_changes()

    async def list_all(self) -> None:
        client = self.client
        assert client.instructions is not None
        assert "<name>greet</name>" in client.instructions
        assert len((await client.list_tools()).tools) == 5
        assert len((await client.list_resources()).resources) == 8
        assert [one.name for one in (await client.list_prompts()).prompts] == ["greet", "letter", "tables"]

    async def _call(self, tool: str, **given: Any) -> dict[str, Any]:
        async def listen(progress: float, total: float | None, message: str | None) -> None:
            self.progress.append(message or "")

        result = await self.client.call_tool(tool, given, progress_callback=listen)
        assert not result.is_error, result.content
        assert "Base directory" not in str(result.content)  # A client sees none of this machine's folders.
        return result.structured_content

    async def call_every_tool(self) -> None:
        assert (await self._call("search_skills", query="tables"))["results"][0]["name"] == "tables"
        assert (await self._call("activate_skill", name="greet", arguments="Ann"))["instructions"] == "Greet Ann."
        guide = await self._call("read_skill_resource", name="greet", path="references/guide.md")
        assert guide["content"] == "# Guide\nRead me.\n"
        done = await self._call("run_skill_script", name="greet", script="scripts/slow.py")
        assert (done["exit_status"], done["stdout"]) == (0, "line 0\nline 1\nline 2\n")
        assert "".join(self.progress) == done["stdout"]
        assert len(self.person.asked) == 1  # Only that a script runs is asked about.
        assert (await self._call("deactivate_skill", name="greet"))["deactivated"] is True
        wrong = await self.client.call_tool("activate_skill", {"name": "nobody"})
        assert (wrong.is_error, wrong.structured_content["error"]["code"]) == (True, "unknown-skill")

    async def read_resources(self) -> None:
        text = (await self.client.read_resource(_GUIDE)).contents[0]
        blob = (await self.client.read_resource(f"{_ROOT}/assets/picture.png")).contents[0]
        assert isinstance(text, types.TextResourceContents)
        assert isinstance(blob, types.BlobResourceContents)
        assert (text.text, base64.b64decode(blob.blob)) == ("# Guide\nRead me.\n", PNG)

    async def use_prompts(self) -> None:
        assert "Greet Bo." in str((await self.client.get_prompt("greet", {"arguments": "Bo"})).messages)

    async def complete(self) -> None:
        (template,) = (await self.client.list_resource_templates()).resource_templates
        address = types.ResourceTemplateReference(uri=template.uri_template)
        found = await self.client.complete(address, {"name": "skill", "value": "project/g"})
        assert found.completion.values == ["project/greet"]
        prompt = types.PromptReference(name="letter")
        found = await self.client.complete(prompt, {"name": "arguments", "value": "f"})
        assert found.completion.values == ["final"]

    async def use_the_extension(self) -> None:
        listed = (await ask(self.client, "skills/list", {}))["skills"]
        assert [one["uri"] for one in listed] == [
            f"{_ROOT}/SKILL.md",
            "skill://project/letter/SKILL.md",
            "skill://project/office/tables/SKILL.md",
        ]
        (entry,) = [one for one in listed if one["uri"] == f"{_ROOT}/SKILL.md"]
        assert (await ask(self.client, "skills/get", {"uri": entry["uri"]}))["skill"] == entry
        (picture,) = [one for one in entry["resources"] if one["uri"].endswith(".png")]
        assert picture["digest"] == f"sha256:{hashlib.sha256(PNG).hexdigest()}"
        inside = await ask(self.client, "resources/directory/read", {"uri": f"{_ROOT}/assets"})
        assert [one["name"] for one in inside["resources"]] == ["data.bin", "picture.png"]

    async def cancel(self) -> None:
        given = {"name": "greet", "script": "scripts/wait.py", "arguments": [self.marker]}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.client.call_tool, "run_skill_script", given)
            await until(lambda: find_processes(self.marker))
            tasks.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(is_gone, self.marker)
        assert len(self.person.asked) == 2

    async def hear_of_changes(self) -> None:
        lists: set[Any] = {ToolsListChanged(), PromptsListChanged(), ResourcesListChanged()}
        wanted = {ResourceUpdated(_GUIDE), *lists}
        async with AsyncExitStack() as stack:
            events: Any = None
            if self.mode == LEGACY:
                await ask(self.client, "resources/subscribe", {"uri": _GUIDE})
            else:
                stream = self.client.listen(
                    tools_list_changed=True,
                    prompts_list_changed=True,
                    resources_list_changed=True,
                    resource_subscriptions=[_GUIDE],
                )
                events = await stack.enter_async_context(stream)
            (self.skills / "greet/references/guide.md").write_text("# Other guide\n")
            write_skill(self.skills, f"new-{self.mode}")
            if events is None:
                await until(lambda: wanted <= {_name(one) for one in self.heard})
                return
            async for event in events:
                wanted.discard(event)
                if not wanted:
                    return
            raise AssertionError(f"nothing was heard of {wanted}")


def _name(message: Any) -> Any:
    """Return a notification as those who listen get it."""
    match message:
        case types.ResourceUpdatedNotification(params=params):
            return ResourceUpdated(str(params.uri))
        case types.ToolListChangedNotification():
            return ToolsListChanged()
        case types.PromptListChangedNotification():
            return PromptsListChanged()
        case types.ResourceListChangedNotification():
            return ResourcesListChanged()
        case _:
            return None


@pytest.fixture
def person(skills: Path) -> Person:
    write_skill(
        skills, "letter", description="Writes letters. Use it.", extra="argument-hint: draft|final\n", body="Write.\n"
    )
    return Person(["allow-once", "allow-once"])


@pytest.mark.requirement("K1")
def test_everything_works_over_pipes(skills: Path, person: Person, mode: str, tmp_path: Path) -> None:
    heard: list[Any] = []

    async def work(client: Client) -> None:
        await _Visitor(client, mode, skills, f"marker-{tmp_path.name}-{mode}", person, heard).do_everything()

    with_client(work, connect_stdio("--skills", str(skills), mode=mode, person=person, heard=heard))


@pytest.mark.requirement("K1")
def test_everything_works_over_http(skills: Path, person: Person, mode: str, tmp_path: Path) -> None:
    heard: list[Any] = []

    async def work(client: Client) -> None:
        await _Visitor(client, mode, skills, f"marker-{tmp_path.name}-{mode}", person, heard).do_everything()

    with serving_http("--skills", str(skills)) as url:
        with_client(work, connect_http(url, mode=mode, person=person, heard=heard))
