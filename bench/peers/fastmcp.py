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
