"""Discovery by fastmcp: its provider of a folder of skills, listed as resources."""
# pyright: basic, reportMissingImports=false

import asyncio
from pathlib import Path

from fastmcp.server.providers.skills import SkillsDirectoryProvider

_MAIN_FILE = "/SKILL.md"


def discover(root: Path) -> dict[str, str]:
    return asyncio.run(_discover(root))


async def _discover(root: Path) -> dict[str, str]:
    resources = await SkillsDirectoryProvider(roots=root).list_resources()
    return {
        str(resource.uri).removeprefix("skill://").removesuffix(_MAIN_FILE): resource.description
        for resource in resources
        if str(resource.uri).endswith(_MAIN_FILE)
    }


class Use:
    """Its provider: a skill and each of its files are resources to read; a catalog's text is the client's business."""

    def __init__(self, root: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._provider = SkillsDirectoryProvider(roots=root, supporting_files="resources")
        self._loop.run_until_complete(self._provider.list_resources())

    def activate(self, name: str) -> str:
        return self.read(name, "SKILL.md")

    def read(self, name: str, path: str) -> str:
        return self._loop.run_until_complete(self._read(f"skill://{name}/{path}"))

    async def _read(self, uri: str) -> str:
        resource = await self._provider.get_resource(uri)
        return str(await resource.read())
