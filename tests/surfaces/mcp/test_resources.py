"""Files of skills as resources: listed in pages, read byte by byte, and looked after."""

import base64
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError

from prowess.runtime import Runtime
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.mcp.conftest import PNG
from tests.surfaces.mcp.connecting import LEGACY, MODERN, ask, connect, until, with_client

pytestmark = pytest.mark.slow

_ROOT = "skill://project/greet"


async def _list_all(client: Client) -> list[types.Resource]:
    found: list[types.Resource] = []
    cursor: str | None = None
    while True:
        page = await client.list_resources(cursor=cursor)
        found += page.resources
        cursor = page.next_cursor
        if cursor is None:
            return found


def _updates(heard: list[Any]) -> list[str]:
    return [one.params.uri for one in heard if isinstance(one, types.ResourceUpdatedNotification)]


def test_all_files_of_visible_skills_are_listed(runtime: Runtime, mode: str) -> None:
    found = {one.uri: one for one in with_client(_list_all, connect(runtime, mode=mode))}
    assert sorted(found) == [
        f"{_ROOT}/SKILL.md",
        f"{_ROOT}/assets/data.bin",
        f"{_ROOT}/assets/picture.png",
        f"{_ROOT}/references/guide.md",
        f"{_ROOT}/scripts/slow.py",
        f"{_ROOT}/scripts/wait.py",
        "skill://project/office/tables/SKILL.md",
    ]
    head, picture = found[f"{_ROOT}/SKILL.md"], found[f"{_ROOT}/assets/picture.png"]
    assert (head.name, head.mime_type, head.description) == (
        "greet",
        "text/markdown",
        "Greets people. Use when greeting.",
    )
    assert (picture.name, picture.mime_type, picture.size) == ("picture.png", "image/png", len(PNG))


def test_text_and_binary_are_read_byte_by_byte(runtime: Runtime, skills: Path, mode: str) -> None:
    odd = b"\xef\xbb\xbfbegins with a mark\r\nand ends without a line break"
    (skills / "greet" / "odd name.txt").write_bytes(odd)

    async def work(client: Client) -> None:
        text = (await client.read_resource(f"{_ROOT}/odd%20name.txt")).contents[0]
        assert isinstance(text, types.TextResourceContents)
        assert text.text.encode() == odd
        blob = (await client.read_resource(f"{_ROOT}/assets/picture.png")).contents[0]
        assert isinstance(blob, types.BlobResourceContents)
        assert (base64.b64decode(blob.blob), blob.mime_type) == (PNG, "image/png")

    with_client(work, connect(runtime, mode=mode))


@pytest.mark.parametrize(
    "uri",
    [
        f"{_ROOT}/none.md",
        f"{_ROOT}/../office/tables/SKILL.md",
        f"{_ROOT}/%2e%2e/office/tables/SKILL.md",
        f"{_ROOT}/references",
        _ROOT,
        "skill://project/nobody/SKILL.md",
        "file:///etc/passwd",
        "skill://",
        "",
    ],
)
def test_what_is_not_served_is_an_error(runtime: Runtime, mode: str, uri: str) -> None:
    async def work(client: Client) -> int:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        return caught.value.error.code

    assert with_client(work, connect(runtime, mode=mode)) == types.INVALID_PARAMS


def test_link_that_leads_out_is_not_followed(runtime: Runtime, skills: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (skills / "greet" / "out.txt").symlink_to(tmp_path / "secret.txt")

    async def work(client: Client) -> str:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(f"{_ROOT}/out.txt")
        return caught.value.error.message

    said = with_client(work, connect(runtime))
    assert "secret" not in said
    assert str(tmp_path) not in said


def test_pages_hold_whole_skills(home: Home, mode: str) -> None:
    root = home.project / "skills"
    for number in range(5):
        files = {f"files/{index:03}.md": "x" for index in range(90)}
        write_skill(root, f"skill-{number}", files=files)
    with Runtime.open(skills=[root]) as runtime:

        async def work(client: Client) -> tuple[list[int], int]:
            sizes: list[int] = []
            cursor: str | None = None
            while True:
                page = await client.list_resources(cursor=cursor)
                sizes.append(len(page.resources))
                cursor = page.next_cursor
                if cursor is None:
                    break
            with pytest.raises(MCPError) as caught:
                await client.list_resources(cursor="nonsense")
            return sizes, caught.value.error.code

        sizes, code = with_client(work, connect(runtime, mode=mode))
    assert sizes == [273, 182]
    assert code == types.INVALID_PARAMS


def test_template_and_its_completions(runtime: Runtime, mode: str) -> None:
    async def work(client: Client) -> None:
        (template,) = (await client.list_resource_templates()).resource_templates
        ref = types.ResourceTemplateReference(uri=template.uri_template)
        skills = await client.complete(ref, {"name": "skill", "value": "project/g"})
        assert skills.completion.values == ["project/greet"]
        paths = await client.complete(
            ref, {"name": "path", "value": "ref"}, context_arguments={"skill": "project/greet"}
        )
        assert paths.completion.values == ["references/guide.md"]

    with_client(work, connect(runtime, mode=mode))


@pytest.mark.slow
def test_changes_are_told_to_those_who_shook_hands(runtime: Runtime, skills: Path) -> None:
    heard: list[Any] = []

    def count(kind: type[Any]) -> int:
        return sum(isinstance(one, kind) for one in heard)

    async def work(client: Client) -> None:
        await _list_all(client)
        uri = f"{_ROOT}/references/guide.md"
        await ask(client, "resources/subscribe", {"uri": uri})
        (skills / "greet/references/guide.md").write_text("# Other guide\n")
        await until(lambda: count(types.ResourceUpdatedNotification))
        updated = next(one for one in heard if isinstance(one, types.ResourceUpdatedNotification))
        assert updated.params.uri == uri
        assert count(types.ResourceListChangedNotification) == 0
        write_skill(skills, "new-one")
        await until(lambda: count(types.ToolListChangedNotification))
        await until(lambda: count(types.PromptListChangedNotification))
        await until(lambda: count(types.ResourceListChangedNotification))
        await ask(client, "resources/unsubscribe", {"uri": uri})

    with_client(work, connect(runtime, mode=LEGACY, heard=heard))


@pytest.mark.slow
def test_changes_are_told_to_those_who_listen(runtime: Runtime, skills: Path) -> None:
    async def work(client: Client) -> None:
        uri = f"{_ROOT}/references/guide.md"
        async with client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=[uri],
        ) as events:
            (skills / "greet/references/guide.md").write_text("# Other guide\n")
            assert await anext(aiter(events)) == ResourceUpdated(uri)
            write_skill(skills, "new-one")
            unheard: set[type[Any]] = {ToolsListChanged, PromptsListChanged, ResourcesListChanged}
            async for event in events:
                unheard.discard(type(event))
                if not unheard:
                    break
            assert unheard == set()

    with_client(work, connect(runtime, mode=MODERN))


@pytest.mark.slow
def test_file_that_comes_or_goes_changes_the_list(runtime: Runtime, skills: Path) -> None:
    heard: list[Any] = []

    async def work(client: Client) -> None:
        await _list_all(client)
        (skills / "greet/more.md").write_text("more")
        await until(lambda: any(isinstance(one, types.ResourceListChangedNotification) for one in heard))
        assert f"{_ROOT}/more.md" in [one.uri for one in await _list_all(client)]

    with_client(work, connect(runtime, mode=LEGACY, heard=heard))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("arguments: [one]", "arguments: [two]"), types.PromptListChangedNotification),
        (("Greets people.", "Greets everybody."), types.ResourceListChangedNotification),
    ],
    ids=["arguments", "description"],
)
def test_whatever_lists_say_of_a_skill_is_told_when_it_changes(home: Home, change: tuple[str, str], told: Any) -> None:
    heard: list[Any] = []
    folder = write_skill(
        home.project / "skills", "hello", description="Greets people. Use it.", extra="arguments: [one]\n"
    )
    text = (folder / "SKILL.md").read_text()

    async def work(client: Client) -> None:
        await client.list_prompts()
        (folder / "SKILL.md").write_text(text.replace(*change))
        await until(lambda: any(isinstance(one, told) for one in heard))

    with Runtime.open(skills=[home.project / "skills"]) as runtime:
        with_client(work, connect(runtime, mode=LEGACY, heard=heard))


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.7])
def test_file_that_changes_soon_after_it_is_subscribed_to_is_told_of_once(
    runtime: Runtime, skills: Path, seconds: float
) -> None:
    heard: list[Any] = []
    uri, guide = f"{_ROOT}/references/guide.md", skills / "greet/references/guide.md"

    async def work(client: Client) -> None:
        await ask(client, "resources/subscribe", {"uri": uri})
        await anyio.sleep(seconds)
        guide.write_text("# Other guide\n")
        await until(lambda: _updates(heard))
        await anyio.sleep(1.2)  # It looks twice a second.

    with_client(work, connect(runtime, mode=LEGACY, heard=heard))
    assert _updates(heard) == [uri]


@pytest.mark.slow
def test_skill_that_goes_soon_after_it_is_subscribed_to_and_comes_back_is_told_of(
    runtime: Runtime, skills: Path, tmp_path: Path
) -> None:
    heard: list[Any] = []
    uri = f"{_ROOT}/references/guide.md"

    async def work(client: Client) -> None:
        await ask(client, "resources/subscribe", {"uri": uri})
        (skills / "greet").rename(tmp_path / "greet")
        await until(lambda: _updates(heard))
        (tmp_path / "greet").rename(skills / "greet")
        await until(lambda: len(_updates(heard)) == 2)

    with_client(work, connect(runtime, mode=LEGACY, heard=heard))
    assert _updates(heard) == [uri, uri]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["prompts", "resources", "tools"])
def test_skill_that_comes_right_after_the_first_list_is_told_of(runtime: Runtime, skills: Path, kind: str) -> None:
    heard: list[Any] = []

    async def work(client: Client) -> None:
        await ask(client, f"{kind}/list", {})
        write_skill(skills, "new-one")
        await until(lambda: f"notifications/{kind}/list_changed" in [one.method for one in heard])

    with_client(work, connect(runtime, mode=LEGACY, heard=heard))


@pytest.mark.slow
def test_tool_that_comes_with_a_change_of_a_skill_is_told_of(home: Home) -> None:
    heard: list[Any] = []
    folder = write_skill(home.project / "skills", "hello", description="Says hello. Use it.")

    async def work(client: Client) -> None:
        assert "run_skill_script" not in [tool.name for tool in (await client.list_tools()).tools]
        (folder / "scripts").mkdir()
        (folder / "scripts/run.py").write_text("print('it ran')\n")
        (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text().replace("Says", "Prints"))
        await until(lambda: any(isinstance(one, types.ToolListChangedNotification) for one in heard))
        assert "run_skill_script" in [tool.name for tool in (await client.list_tools()).tools]

    with Runtime.open(skills=[home.project / "skills"]) as runtime:
        with_client(work, connect(runtime, mode=LEGACY, heard=heard))
