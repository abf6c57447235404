"""Discovery by pydantic-ai-skills: its capability, resolved as at the start of a run."""
# pyright: basic, reportMissingImports=false

import asyncio
import warnings
from pathlib import Path
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from pydantic_ai_skills import SkillsCapability

# One long warning tells that it does not implement allowed-tools.
warnings.simplefilter("ignore")


def discover(root: Path) -> dict[str, str]:
    return asyncio.run(_discover(root))


async def _discover(root: Path) -> dict[str, str]:
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    resolved = await SkillsCapability(root).for_run(context)
    found: dict[str, str] = {}

    def visit(leaf: Any) -> None:
        # The capability visits itself too, for its file tools.
        if leaf is not resolved:
            found[leaf.id] = leaf.get_description()

    resolved.apply(visit)
    return found


class Use:
    """Its capability, resolved once: instructions of each skill, files of its packages. The catalog is its host's."""

    def __init__(self, root: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
        resolved = self._loop.run_until_complete(SkillsCapability(root).for_run(self._context))
        self._leaves: dict[str, Any] = {}
        resolved.apply(lambda leaf: self._leaves.__setitem__(leaf.id, leaf))
        self._packages = resolved.packages

    def activate(self, name: str) -> str:
        told = self._leaves[name].get_instructions()
        return told if isinstance(told, str) else "\n".join(told)

    def read(self, name: str, path: str) -> str:
        resource = self._packages[name].resources_by_name[path]
        return self._loop.run_until_complete(resource.load(ctx=self._context))
