"""Discovery by agent-framework-core: its file source of skills, without the cache a provider puts around it."""
# pyright: basic, reportMissingImports=false

import asyncio
from pathlib import Path
from types import SimpleNamespace

from agent_framework import AgentSession, FileSkillsSource, SessionContext, SkillsProvider, SkillsSourceContext

# The file source ignores who asks.
_AGENT = SimpleNamespace(name="bench")


def discover(root: Path) -> dict[str, str]:
    return asyncio.run(_discover(root))


async def _discover(root: Path) -> dict[str, str]:
    skills = await FileSkillsSource(root).get_skills(SkillsSourceContext(agent=_AGENT))
    return {skill.frontmatter.name: skill.frontmatter.description for skill in skills}


class Use:
    """Its provider, asked as before each run, and the skills that it found."""

    def __init__(self, root: Path) -> None:
        self._provider = SkillsProvider.from_paths(root)
        self._source = FileSkillsSource(root)
        context = SkillsSourceContext(agent=_AGENT)
        self._loop = asyncio.new_event_loop()
        self._skills = {
            skill.frontmatter.name: skill for skill in self._loop.run_until_complete(self._source.get_skills(context))
        }

    def prompt(self) -> str:
        context = SessionContext(input_messages=[])
        asked = self._provider.before_run(agent=_AGENT, session=AgentSession(), context=context, state={})
        self._loop.run_until_complete(asked)
        return "\n".join(context.instructions)

    def activate(self, name: str) -> str:
        return self._loop.run_until_complete(self._skills[name].get_content())

    def read(self, name: str, path: str) -> str:
        return self._loop.run_until_complete(self._read(name, path))

    async def _read(self, name: str, path: str) -> str:
        resource = await self._skills[name].get_resource(path)
        return str(await resource.read())
