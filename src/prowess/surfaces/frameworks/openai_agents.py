"""Skills for the OpenAI Agents SDK: an agent that has those of a session."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from agents import Agent, FunctionTool, RunContextWrapper, Tool
from agents.tool_context import ToolContext

from prowess.runtime.session import Session
from prowess.surfaces.frameworks.threads import run_in_thread
from prowess.surfaces.frameworks.turns import (
    OfferedTool,
    call_tool,
    join_texts,
    list_tools,
    open_turn,
    sync_and_prompt,
)

__all__ = ["OpenAIAgent"]


@dataclass
class OpenAIAgent(Agent[Any]):
    """An agent whose instructions and tools are its own and, after them, those of a session as they are now."""

    session: Session = field(kw_only=True)

    async def receive(self, message: str) -> str:
        """Return a user's message for `Runner.run`, with the instructions of skills that it mentions."""
        return await run_in_thread(partial(open_turn, self.session, message))

    async def get_system_prompt(self, run_context: RunContextWrapper[Any]) -> str | None:
        """Return the system prompt; it is asked for before every request."""
        own = await super().get_system_prompt(run_context)
        return join_texts(own, await run_in_thread(partial(sync_and_prompt, self.session))) or None

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        """Return the tools; they are asked for before every request, and an activation may have brought some."""
        own = await super().get_all_tools(run_context)
        return [*own, *map(self._make, await run_in_thread(partial(list_tools, self.session)))]

    def _make(self, tool: OfferedTool) -> FunctionTool:
        async def invoke(_: ToolContext[Any], arguments: str) -> str:
            result = await run_in_thread(partial(call_tool, self.session, tool.name, arguments))
            return result.content

        return FunctionTool(tool.name, tool.description, tool.schema, invoke, strict_json_schema=False)
