"""The skills extension against the cases of its published text (J11)."""

import hashlib
import os
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from prowess.activation.grants import Decision
from prowess.runtime import Runtime
from prowess.sources.mcp.wire import EXTENSION, MAX_RESOURCES, SkillEntry, parse_entry
from prowess.sources.mcp.wire_frontmatter import matches_frontmatter
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.mcp.connecting import MODERN, Person, ask, connect, with_client

pytestmark = pytest.mark.requirement("J11")

_ROOT = "skill://project/greet"


async def _list(client: Client) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    cursor: str | None = None
    while True:
        page = await ask(client, "skills/list", {"cursor": cursor} if cursor else {})
        assert (page["resultType"], page["cacheScope"]) == ("complete", "private")
        assert page["ttlMs"] >= 0
        found |= {entry["uri"]: entry for entry in page["skills"]}
        cursor = page.get("nextCursor")
        if cursor is None:
            return found


async def _read(client: Client, uri: str) -> bytes:
    import base64

    content = (await client.read_resource(uri)).contents[0]
    return content.text.encode() if isinstance(content, types.TextResourceContents) else base64.b64decode(content.blob)


async def _code(client: Client, method: str, params: dict[str, Any]) -> int:
    with pytest.raises(MCPError) as caught:
        await ask(client, method, params)
    return caught.value.error.code


def test_extension_is_declared_with_its_setting(runtime: Runtime) -> None:
    async def work(client: Client) -> types.ServerCapabilities:
        return client.server_capabilities

    found = with_client(work, connect(runtime, mode=MODERN))
    assert found.extensions == {EXTENSION: {"directoryRead": True}}
    assert found.resources is not None


def test_every_file_is_what_its_entry_says(runtime: Runtime, mode: str) -> None:
    async def work(client: Client) -> None:
        entries = await _list(client)
        assert sorted(entries) == [f"{_ROOT}/SKILL.md", "skill://project/office/tables/SKILL.md"]
        for raw in entries.values():
            entry = parse_entry(raw)
            assert isinstance(entry, SkillEntry)
            assert entry.resources is not None
            assert entry.uri.split("/")[-2] == entry.name
            for record in entry.resources:
                content = await _read(client, record.uri)
                assert (hashlib.sha256(content).hexdigest(), len(content)) == (record.sha256, record.size)
            assert matches_frontmatter(entry.frontmatter, await _read(client, entry.uri))

    with_client(work, connect(runtime, mode=mode))


def test_get_answers_as_the_list_does(runtime: Runtime, mode: str) -> None:
    async def work(client: Client) -> None:
        for uri, entry in (await _list(client)).items():
            found = await ask(client, "skills/get", {"uri": uri})
            assert found["skill"] == entry
            assert (found["resultType"], found["cacheScope"]) == ("complete", "private")

    with_client(work, connect(runtime, mode=mode))


@pytest.mark.parametrize(
    "uri",
    ["skill://project/nobody/SKILL.md", f"{_ROOT}/references/guide.md", _ROOT, "x", "", "https://example.org/SKILL.md"],
)
def test_get_of_what_is_no_skill_is_an_invalid_parameter(runtime: Runtime, mode: str, uri: str) -> None:
    async def work(client: Client) -> int:
        return await _code(client, "skills/get", {"uri": uri})

    assert with_client(work, connect(runtime, mode=mode)) == types.INVALID_PARAMS


@pytest.mark.parametrize("params", [{}, {"uri": 3}, {"uri": ["x"]}])
def test_broken_parameters_are_said_to_be_so(runtime: Runtime, mode: str, params: dict[str, Any]) -> None:
    async def work(client: Client) -> tuple[int, int]:
        return await _code(client, "skills/get", params), await _code(client, "resources/directory/read", params)

    assert with_client(work, connect(runtime, mode=mode)) == (types.INVALID_PARAMS,) * 2


def test_frontmatter_is_verbatim(home: Home) -> None:
    root = home.project / "skills"
    write_skill(
        root, "rich", extra="license: MIT\nmetadata:\n  version: '1.0'\n  tags: [a, b]\nx-own: {deep: [1, true]}\n"
    )
    with Runtime.open(skills=[root]) as runtime:
        (entry,) = with_client(_list, connect(runtime)).values()
    assert entry["frontmatter"] == {
        "name": "rich",
        "description": "Does a thing. Use when the thing is asked for.",
        "license": "MIT",
        "metadata": {"version": "1.0", "tags": ["a", "b"]},
        "x-own": {"deep": [1, True]},
    }


def test_directories_are_listed_level_by_level(runtime: Runtime, mode: str) -> None:
    async def work(client: Client) -> None:
        top = await ask(client, "resources/directory/read", {"uri": _ROOT})
        assert top["resultType"] == "complete"
        kinds = {one["uri"].removeprefix(f"{_ROOT}/"): one["mimeType"] for one in top["resources"]}
        assert kinds == {
            "SKILL.md": "text/markdown",
            "assets": "inode/directory",
            "references": "inode/directory",
            "scripts": "inode/directory",
        }
        inner = await ask(client, "resources/directory/read", {"uri": f"{_ROOT}/references"})
        assert [(one["uri"], one["name"]) for one in inner["resources"]] == [
            (f"{_ROOT}/references/guide.md", "guide.md")
        ]
        for uri in (f"{_ROOT}/SKILL.md", f"{_ROOT}/none", "skill://project/nobody", f"{_ROOT}/..", "x"):
            assert await _code(client, "resources/directory/read", {"uri": uri}) == types.INVALID_PARAMS

    with_client(work, connect(runtime, mode=mode))


def test_nested_skill_is_supporting_content(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "outer", files={"inner/SKILL.md": "---\nname: inner\ndescription: Inner.\n---\nx\n"})
    with Runtime.open(skills=[root]) as runtime:
        entries = with_client(_list, connect(runtime))
    (entry,) = entries.values()
    uris = [record["uri"] for record in entry["resources"]]
    assert uris == ["skill://project/outer/SKILL.md", "skill://project/outer/inner/SKILL.md"]


def test_too_large_skills_are_left_out_and_reported(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    root = home.project / "skills"
    write_skill(root, "many", files={f"f/{number}": "x" for number in range(MAX_RESOURCES)})
    write_skill(root, "full", files={f"f/{number}": "x" for number in range(MAX_RESOURCES - 1)})
    write_skill(root, "large", files={"a.bin": b"\0" * (9 << 20), "b.bin": b"\0" * (8 << 20)})
    with Runtime.open(skills=[root]) as runtime:

        async def work(client: Client) -> dict[str, Any]:
            entries = await _list(client)
            uri = "skill://project/many/SKILL.md"
            assert await _code(client, "skills/get", {"uri": uri}) == types.INVALID_PARAMS
            assert await _read(client, uri)  # As a resource it is there all the same.
            return entries

        entries = with_client(work, connect(runtime))
    assert list(entries) == ["skill://project/full/SKILL.md"]
    assert len(entries["skill://project/full/SKILL.md"]["resources"]) == MAX_RESOURCES
    assert "skill 'many' is not published over MCP" in caplog.text
    assert "skill 'large' is not published over MCP" in caplog.text


def test_what_other_hosts_would_refuse_is_not_published(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "good")
    write_skill(root, "odd", text="---\nname: Odd_Name\ndescription: Odd.\n---\nx\n")
    write_skill(root, "mended", text="---\nname: mended\ndescription: Use when: asked\n---\nx\n")
    os.symlink("SKILL.md", root / "good" / "link.md")
    with Runtime.open(skills=[root]) as runtime:

        async def work(client: Client) -> dict[str, Any]:
            entries = await _list(client)
            link = entries["skill://project/good/SKILL.md"]["resources"][1]
            content = await _read(client, link["uri"])
            assert link["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
            return entries

        entries = with_client(work, connect(runtime))
    assert list(entries) == ["skill://project/good/SKILL.md"]


def test_skill_in_a_folder_of_another_name_has_its_own_name_last(home: Home) -> None:
    root = home.project / "skills"
    write_skill(root, "folder", text="---\nname: named\ndescription: Named.\n---\nx\n", files={"a.md": "a"})
    with Runtime.open(skills=[root]) as runtime:

        async def work(client: Client) -> None:
            ((uri, entry),) = (await _list(client)).items()
            assert uri == "skill://project/folder/=/named/SKILL.md"
            for record in entry["resources"]:
                assert await _read(client, record["uri"])

        with_client(work, connect(runtime))


def test_changed_file_has_another_digest(runtime: Runtime, skills: Path, mode: str) -> None:
    async def work(client: Client) -> None:
        before = (await _list(client))[f"{_ROOT}/SKILL.md"]
        (skills / "greet/references/guide.md").write_text("changed")
        after = (await ask(client, "skills/get", {"uri": f"{_ROOT}/SKILL.md"}))["skill"]
        changed = [
            one["uri"] for one, other in zip(after["resources"], before["resources"], strict=True) if one != other
        ]
        assert changed == [f"{_ROOT}/references/guide.md"]

    with_client(work, connect(runtime, mode=mode))


def test_who_cannot_be_asked_gets_only_what_was_granted(wary: Runtime, mode: str) -> None:
    uri = "skill://agents/careful/SKILL.md"
    assert uri not in with_client(_list, connect(wary, mode=mode))
    assert uri in with_client(_list, connect(wary, mode=mode, person=Person()))
    wary.decide("careful", Decision.ALLOW)
    assert uri in with_client(_list, connect(wary, mode=mode))
    wary.decide("careful", Decision.REFUSE)
    assert uri not in with_client(_list, connect(wary, mode=mode, person=Person()))


def test_long_lists_come_in_pages(home: Home, mode: str) -> None:
    root = home.project / "skills"
    for number in range(205):
        write_skill(root, f"skill-{number:03}")
    with Runtime.open(skills=[root]) as runtime:

        async def work(client: Client) -> None:
            first = await ask(client, "skills/list", {})
            assert len(first["skills"]) == 100
            assert len(await _list(client)) == 205
            assert await _code(client, "skills/list", {"cursor": "-1"}) == types.INVALID_PARAMS

        with_client(work, connect(runtime, mode=mode))
