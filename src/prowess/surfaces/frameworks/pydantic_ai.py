"""Skills for agents of Pydantic AI: a toolset, and a capability that takes the user's messages as well."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext, ToolDefinition, UserPromptNode
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import InstructionPart, TextContent, UserContent
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from prowess.runtime.session import Session
from prowess.surfaces.frameworks.threads import run_in_thread
from prowess.surfaces.frameworks.turns import OfferedTool, call_tool, list_tools, open_turn, sync_skills

if TYPE_CHECKING:
    from pydantic_ai.capabilities.abstract import AgentNode  # At run time it is only a text.

__all__ = ["PydanticAISkills", "PydanticAIToolset"]

_ANY_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
"""The session checks them, and says what is wrong in words that help a model."""


class PydanticAIToolset(AbstractToolset[Any]):
    """The tools of a session, and what the system prompt says of its skills."""

    def __init__(self, session: Session, *, id: str = "prowess") -> None:  # noqa: A002 - as Pydantic AI names it
        self._session = session
        self._id = id

    @property
    def id(self) -> str:
        """How Pydantic AI tells it from other toolsets."""
        return self._id

    async def for_run(self, ctx: RunContext[Any]) -> "PydanticAIToolset":  # noqa: ARG002 - the library's signature
        """Bring the copies of skills up to date."""
        await run_in_thread(partial(sync_skills, self._session))
        return self

    async def get_instructions(self, ctx: RunContext[Any]) -> Sequence[InstructionPart]:  # noqa: ARG002
        """Return what stays, which providers keep in their caches, and after it the names of active skills."""
        standing, active = await run_in_thread(self._tell)
        parts = (InstructionPart(standing), InstructionPart(active, dynamic=True))
        return [part for part in parts if standing and part.content]

    def _tell(self) -> tuple[str, str]:
        return self._session.standing_prompt(dialect="openai"), self._session.active_text()

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools that the model is offered now: an activation may bring some."""
        tools = await run_in_thread(partial(list_tools, self._session))
        return {tool.name: self._make(tool, ctx) for tool in tools}

    def _make(self, tool: OfferedTool, ctx: RunContext[Any]) -> ToolsetTool[Any]:
        return ToolsetTool(
            toolset=self,
            tool_def=ToolDefinition(name=tool.name, parameters_json_schema=tool.schema, description=tool.description),
            max_retries=ctx.max_retries,
            args_validator=_ANY_ARGUMENTS,
        )

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],  # noqa: ARG002
        tool: ToolsetTool[Any],  # noqa: ARG002
    ) -> str:
        """Return what the model reads. What went wrong or was refused comes to it as a failed call."""
        result = await run_in_thread(partial(call_tool, self._session, name, tool_args))
        if result.is_error:
            raise ToolFailed(result.content)
        return result.content


@dataclass
class PydanticAISkills(AbstractCapability[Any]):
    """All that a session gives to an agent: prompt, tools, and the skills that a message mentions."""

    session: Session

    @classmethod
    def get_serialization_name(cls) -> None:
        """A session is no part of a specification."""

    def get_toolset(self) -> PydanticAIToolset:
        """Return the tools of the session."""
        return PydanticAIToolset(self.session)

    async def before_node_run(self, ctx: RunContext[Any], *, node: "AgentNode[Any]") -> "AgentNode[Any]":  # noqa: ARG002
        """Give a user's message the instructions of skills that it mentions."""
        if isinstance(node, UserPromptNode) and node.user_prompt:
            return replace(node, user_prompt=await run_in_thread(partial(self._rewrite, node.user_prompt)))
        return node

    def _rewrite(self, prompt: str | Sequence[UserContent]) -> str | Sequence[UserContent]:
        """Return what a user has sent with its first text as the model should get it."""
        if isinstance(prompt, str):
            return open_turn(self.session, prompt)
        for number, part in enumerate(prompt):
            match part:
                case str() if part:
                    opened = open_turn(self.session, part)
                case TextContent() if part.content:
                    opened = replace(part, content=open_turn(self.session, part.content))
                case _:
                    continue
            return [*prompt[:number], opened, *prompt[number + 1 :]]
        return prompt
