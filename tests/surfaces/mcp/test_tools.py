"""Tools over MCP: listed, called, answered with text, data and pictures, and wrong in a way to learn from."""

import base64
import json
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client

from prowess.activation.grants import Act, Decision
from prowess.runtime import Runtime
from tests.runtime.runs import find_processes, is_gone, write_scripts
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.mcp.conftest import PNG
from tests.surfaces.mcp.connecting import LEGACY, MODERN, Person, connect, until, with_client

pytestmark = pytest.mark.slow

_STANDARD = ["activate_skill", "read_skill_resource", "run_skill_script", "search_skills", "deactivate_skill"]


def _text(result: types.CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, types.TextContent))


def test_tools_are_those_of_the_profile(runtime: Runtime, mode: str) -> None:
    async def work(client: Client) -> list[types.Tool]:
        return (await client.list_tools()).tools

    tools = with_client(work, connect(runtime, mode=mode))
    assert [tool.name for tool in tools] == _STANDARD
    first = tools[0]
    assert first.input_schema["properties"]["name"]["enum"] == ["greet", "tables"]
    assert first.annotations is not None
    assert first.annotations.read_only_hint is False


def test_every_tool_answers_with_text_and_data(runtime: Runtime, mode: str) -> None:
    runtime.decide("greet", Decision.ALLOW, act=Act.RUN)

    async def work(client: Client) -> dict[str, types.CallToolResult]:
        calls: list[tuple[str, dict[str, Any]]] = [
            ("search_skills", {"query": "tables"}),
            ("activate_skill", {"name": "greet", "arguments": "Ann"}),
            ("read_skill_resource", {"name": "greet", "path": "references/guide.md", "lines": "1-1"}),
            ("run_skill_script", {"name": "greet", "script": "scripts/slow.py"}),
            ("deactivate_skill", {"name": "greet"}),
        ]
        return {name: await client.call_tool(name, given) for name, given in calls}

    results = with_client(work, connect(runtime, mode=mode))
    assert not any(result.is_error for result in results.values())
    data = {name: result.structured_content for name, result in results.items()}
    assert data["search_skills"]["results"][0]["name"] == "tables"
    assert data["activate_skill"]["instructions"] == "Greet Ann."
    assert "Greet Ann." in _text(results["activate_skill"])
    assert data["read_skill_resource"]["content"].startswith("# Guide")
    assert data["run_skill_script"]["stdout"] == "line 0\nline 1\nline 2\n"
    assert data["deactivate_skill"]["deactivated"] is True


def test_activation_gives_the_instructions_each_time(runtime: Runtime, mode: str) -> None:
    async def work(client: Client) -> list[str]:
        return [_text(await client.call_tool("activate_skill", {"name": "tables"})) for _ in range(2)]

    first, second = with_client(work, connect(runtime, mode=mode))
    assert "Make a table." in first
    assert second == first


def test_binaries_are_content_of_their_kind(runtime: Runtime) -> None:
    async def work(client: Client) -> tuple[types.CallToolResult, types.CallToolResult]:
        picture = await client.call_tool("read_skill_resource", {"name": "greet", "path": "assets/picture.png"})
        return picture, await client.call_tool("read_skill_resource", {"name": "greet", "path": "assets/data.bin"})

    picture, other = with_client(work, connect(runtime))
    image = picture.content[1]
    assert isinstance(image, types.ImageContent)
    assert (image.mime_type, base64.b64decode(image.data)) == ("image/png", PNG)
    assert "content" not in picture.structured_content
    embedded = other.content[1]
    assert isinstance(embedded, types.EmbeddedResource)
    assert isinstance(embedded.resource, types.BlobResourceContents)
    assert embedded.resource.uri == "skill://project/greet/assets/data.bin"


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("activate_skill", {"name": "nobody"}, "unknown-skill"),
        ("activate_skill", {}, "bad-arguments"),
        ("activate_skill", {"name": 3}, "bad-arguments"),
        ("read_skill_resource", {"name": "greet", "path": "../x"}, "path-traversal"),
        ("read_skill_resource", {"name": "greet", "path": "none.md"}, "resource-not-found"),
        ("no_such_tool", {}, "unknown-tool"),
    ],
)
def test_wrong_calls_are_results_and_no_errors_of_the_protocol(
    runtime: Runtime, mode: str, tool: str, arguments: dict[str, Any], code: str
) -> None:
    async def work(client: Client) -> types.CallToolResult:
        return await client.call_tool(tool, arguments)

    result = with_client(work, connect(runtime, mode=mode))
    assert result.is_error
    assert result.structured_content["error"]["code"] == code
    assert _text(result)


def test_progress_tells_what_a_script_writes(runtime: Runtime, mode: str) -> None:
    runtime.decide("greet", Decision.ALLOW, act=Act.RUN)
    heard: list[tuple[float, str | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    async def work(client: Client) -> None:
        given = {"name": "greet", "script": "scripts/slow.py"}
        await client.call_tool("run_skill_script", given, progress_callback=listen)

    with_client(work, connect(runtime, mode=mode))
    assert "".join(message or "" for _, message in heard) == "line 0\nline 1\nline 2\n"
    assert [progress for progress, _ in heard] == sorted({progress for progress, _ in heard})
    assert heard[-1][0] == len("line 0\nline 1\nline 2\n")


@pytest.mark.slow
def test_cancelled_call_ends_its_script(runtime: Runtime, mode: str, tmp_path: Path) -> None:
    runtime.decide("greet", Decision.ALLOW, act=Act.RUN)
    marker = f"marker-{tmp_path.name}-{mode}"

    async def work(client: Client) -> None:
        given = {"name": "greet", "script": "scripts/wait.py", "arguments": [marker]}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "run_skill_script", given)
            await until(lambda: find_processes(marker))
            tasks.cancel_scope.cancel()
        await anyio.to_thread.run_sync(is_gone, marker)
        assert not find_processes(marker)
        assert (await client.list_tools()).tools  # The server goes on.

    with_client(work, connect(runtime, mode=mode))


_SUMS = '''
from prowess_toolset import Toolset, tool

class Sums(Toolset):
    @tool
    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        return a + b
'''


@pytest.mark.slow
def test_tools_of_a_skill_come_and_go_with_it(home: Home, mode: str) -> None:
    root = home.project / "skills"
    write_scripts(root, "sums", {"toolsets/index.py": _SUMS}, extra='toolsets: ["toolsets/index:Sums"]\n')
    heard: list[Any] = []
    with Runtime.open(skills=[root]) as runtime:
        runtime.decide("sums", Decision.ALLOW, act=Act.RUN)

        async def work(client: Client) -> None:
            before = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("activate_skill", {"name": "sums"})
            assert "sums__add" in _text(result)
            after = [tool.name for tool in (await client.list_tools()).tools]
            assert set(after) - set(before) == {"sums__add"}
            added = await client.call_tool("sums__add", {"a": 2, "b": 3})
            assert added.structured_content["result"] == 5
            await client.call_tool("deactivate_skill", {"name": "sums"})
            assert [tool.name for tool in (await client.list_tools()).tools] == before
            if mode == LEGACY:
                await until(lambda: sum(isinstance(one, types.ToolListChangedNotification) for one in heard) >= 2)

        with_client(work, connect(runtime, mode=mode, heard=heard))


def test_skill_for_subagents_is_handed_to_the_client(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "deep", extra="context: fork\n", body="Dig deep.\n")
    with Runtime.open(skills=[root]) as runtime:

        async def work(client: Client) -> types.CallToolResult:
            return await client.call_tool("activate_skill", {"name": "deep", "arguments": "x"})

        result = with_client(work, connect(runtime))
    assert _text(result).startswith("[This skill is meant for a subagent")
    assert "Dig deep." in _text(result)


@pytest.mark.parametrize("profile", ["daycare", "workspace", "remcochat"])
def test_other_profiles_bring_their_own_tools(home: Home, skills: Path, profile: str) -> None:
    home.write_settings("enabled = true\n")
    names = {"daycare": "skill", "workspace": "activateSkill", "remcochat": "skills.activate"}
    with Runtime.open(skills=[skills], profile=profile) as runtime:

        async def work(client: Client) -> tuple[list[str], types.CallToolResult]:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            return tools, await client.call_tool(names[profile], {"name": "greet"})

        tools, result = with_client(work, connect(runtime, person=Person(["allow-once"])))
    assert tools[0] == names[profile]
    assert not result.is_error
    assert "Greet" in json.dumps(result.structured_content)


def test_nothing_visible_means_no_tools(home: Home) -> None:
    (home.project / "skills").mkdir()
    with Runtime.open(skills=[home.project / "skills"]) as runtime:

        async def work(client: Client) -> tuple[Any, ...]:
            tools, resources = await client.list_tools(), await client.list_resources()
            return tools.tools, resources.resources, (await client.list_prompts()).prompts, client.instructions

        assert with_client(work, connect(runtime, mode=MODERN)) == ([], [], [], None)
