"""Discovery by strands-agents: its skills plugin's loader of a folder."""
# pyright: basic, reportMissingImports=false

import asyncio
from pathlib import Path
from typing import Any

from strands import Agent
from strands.hooks import BeforeInvocationEvent
from strands.models import Model
from strands.vended_plugins.skills import AgentSkills, Skill


class _NoModel(Model):
    """Is never asked."""

    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    def stream(self, *_: Any, **__: Any) -> Any: ...

    def structured_output(self, *_: Any, **__: Any) -> Any: ...


def discover(root: Path) -> dict[str, str]:
    return {skill.name: skill.description for skill in Skill.from_directory(root)}


class Use:
    """Its plugin in an agent without a model, asked as before each invocation; files are read by a general tool."""

    def __init__(self, root: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._plugin = AgentSkills(skills=str(root))
        self._agent = Agent(model=_NoModel(), plugins=[self._plugin], callback_handler=None)
        self._skills = {skill.name: skill for skill in self._plugin.get_available_skills(self._agent)}

    def prompt(self) -> str:
        self._loop.run_until_complete(self._plugin._on_before_invocation(BeforeInvocationEvent(agent=self._agent)))
        return self._agent.system_prompt

    def activate(self, name: str) -> str:
        told = self._plugin._format_skill_response(self._skills[name], self._agent.sandbox)
        return self._loop.run_until_complete(told)
