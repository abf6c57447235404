"""Skills for Google's Agent Development Kit: a toolset for agents, and a plugin for the runner."""

from contextvars import ContextVar
from functools import partial
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from prowess.runtime.session import Session
from prowess.surfaces.frameworks.threads import run_in_thread
from prowess.surfaces.frameworks.turns import OfferedTool, call_tool, list_tools, open_turn, sync_and_prompt

__all__ = ["AdkPlugin", "AdkToolset"]

_calls: ContextVar[int] = ContextVar("prowess_adk_calls", default=0)
"""How many calls of tools this is within. An agent that is a tool has the plugins of its caller's runner."""


class AdkToolset(BaseToolset):
    """The tools of a session, and what the system prompt says of its skills, both as they are at each request."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._use_invocation_cache = False  # An activation may bring tools for the next request of the same turn.

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:  # noqa: ARG002
        """Return the tools that the model is offered now."""
        return [_SkillTool(self._session, tool) for tool in await run_in_thread(partial(list_tools, self._session))]

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:  # noqa: ARG002
        """Add what is said of skills to the system prompt."""
        prompt = await run_in_thread(partial(sync_and_prompt, self._session))
        if prompt:
            llm_request.append_instructions([prompt])


class _SkillTool(BaseTool):
    def __init__(self, session: Session, tool: OfferedTool) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._session = session
        self._schema = tool.schema

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> dict[str, str]:  # noqa: ARG002
        """Return what the model reads, as a result or as an error."""
        result = await run_in_thread(partial(call_tool, self._session, self.name, args))
        return {"error" if result.is_error else "result": result.content}


class AdkPlugin(BasePlugin):
    """Gives users' messages the instructions of skills that they mention.

    What an agent is told that another calls as a tool, a model has written: skills that it mentions stay as they are.
    """

    def __init__(self, session: Session, *, name: str = "prowess") -> None:
        super().__init__(name)
        self._session = session

    async def on_user_message_callback(
        self,
        *,
        invocation_context: InvocationContext,  # noqa: ARG002
        user_message: types.Content,
    ) -> types.Content | None:
        """Return the message as the model should get it; None if it has no text, or is no user's."""
        if _calls.get():
            return None
        parts = user_message.parts or []
        first = next((number for number, part in enumerate(parts) if part.text), None)
        if first is None:
            return None
        message = await run_in_thread(partial(open_turn, self._session, parts[first].text or ""))
        rewritten = [*parts[:first], types.Part(text=message), *parts[first + 1 :]]
        return types.Content(role=user_message.role, parts=rewritten)

    async def before_tool_callback(self, **_: Any) -> None:
        """Count a call. Only what it does itself sees that: each has a context of its own."""
        _calls.set(_calls.get() + 1)

    async def after_tool_callback(self, **_: Any) -> None:
        """Count it no more."""
        _calls.set(max(0, _calls.get() - 1))

    async def on_tool_error_callback(self, **_: Any) -> None:
        """Count it no more."""
        _calls.set(max(0, _calls.get() - 1))
