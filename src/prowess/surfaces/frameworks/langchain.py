"""Skills for agents of LangChain and graphs of LangGraph: middleware, and the tools by themselves."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, ToolException
from langgraph.runtime import Runtime
from langgraph.types import Command

from prowess.runtime.session import Session
from prowess.runtime.tool_results import ToolResult
from prowess.surfaces.frameworks.threads import run_in_thread
from prowess.surfaces.frameworks.turns import call_tool, join_texts, list_tools, open_turn, sync_and_prompt

__all__ = ["LangChainSkills", "make_langchain_tools"]

_Content = str | list[str | dict[Any, Any]]
"""A text, or texts and pictures one after the other."""


class _SkillTool(BaseTool):
    """One tool of a session."""

    session: Any

    def _run(self, /, **given: Any) -> str:
        return _read(call_tool(self.session, self.name, given))

    async def _arun(self, /, **given: Any) -> str:
        return _read(await run_in_thread(partial(call_tool, self.session, self.name, given)))


def _read(result: ToolResult) -> str:
    if result.is_error:
        raise ToolException(result.content)
    return result.content


def make_langchain_tools(session: Session) -> list[BaseTool]:
    """Return the tools that a session offers now, for a graph of your own. An activation may bring more."""
    return [
        _SkillTool(
            name=one.name,
            description=one.description,
            args_schema=one.schema,
            session=session,
            handle_tool_error=True,
        )
        for one in list_tools(session)
    ]


class LangChainSkills(AgentMiddleware[AgentState[Any], Any, Any]):
    """All that a session gives to an agent: prompt, tools, and the skills that a message mentions."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.tools = ()
        self._session = session

    # The user's message

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Give a user's message the instructions of skills that it mentions."""
        return self._open(state)

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Do so in a thread."""
        return await run_in_thread(partial(self._open, state))

    def _open(self, state: AgentState[Any]) -> dict[str, Any] | None:
        last = state["messages"][-1] if state["messages"] else None
        if not isinstance(last, HumanMessage):
            return None
        content = self._rewrite(last.content)
        if content == last.content:
            return None
        return {"messages": [last.model_copy(update={"content": content})]}  # Of the same id: it takes its place.

    def _rewrite(self, content: _Content) -> _Content:
        """Return what a user has sent with its first text as the model should get it."""
        if isinstance(content, str):
            return open_turn(self._session, content)
        for number, block in enumerate(content):
            if isinstance(block, str) and block:
                return [*content[:number], open_turn(self._session, block), *content[number + 1 :]]
            if isinstance(block, dict) and block.get("type") == "text" and block.get("text"):
                opened = {**block, "text": open_turn(self._session, block["text"])}
                return [*content[:number], opened, *content[number + 1 :]]
        return content

    # What is sent

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Send the system prompt and the tools as they are now."""
        return handler(self._tell(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Do so from a thread."""
        return await handler(await run_in_thread(partial(self._tell, request)))

    def _tell(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        prompt = sync_and_prompt(self._session)
        tools = [*request.tools, *make_langchain_tools(self._session)]
        if not prompt:
            return request.override(tools=tools)
        return request.override(system_message=_add(request.system_message, prompt), tools=tools)

    # Calls

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Carry out a call of a tool that the graph does not know by itself."""
        return handler(self._find(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Do so in a thread."""
        return await handler(await run_in_thread(partial(self._find, request)))

    def _find(self, request: ToolCallRequest) -> ToolCallRequest:
        if request.tool is not None:
            return request
        for tool in make_langchain_tools(self._session):
            if tool.name == request.tool_call["name"]:
                return request.override(tool=tool)
        return request


def _add(message: SystemMessage | None, prompt: str) -> SystemMessage:
    """Return a system message with the prompt after what it says, in the manner that it says it."""
    if message is None:
        return SystemMessage(prompt)
    if isinstance(message.content, str):
        return SystemMessage(join_texts(message.content, prompt))
    return SystemMessage(content=[*message.content, {"type": "text", "text": prompt}])
