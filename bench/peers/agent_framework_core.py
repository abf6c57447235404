"""Discovery by agent-framework-core: its file source of skills, without the cache a provider puts around it."""
# pyright: basic, reportMissingImports=false

import asyncio
from pathlib import Path
from types import SimpleNamespace

from agent_framework import FileSkillsSource, SkillsSourceContext


def discover(root: Path) -> dict[str, str]:
    return asyncio.run(_discover(root))


async def _discover(root: Path) -> dict[str, str]:
    # The file source ignores who asks.
    context = SkillsSourceContext(agent=SimpleNamespace(name="bench"))
    skills = await FileSkillsSource(root).get_skills(context)
    return {skill.frontmatter.name: skill.frontmatter.description for skill in skills}
