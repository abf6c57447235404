"""Skills in a loop of your own over Anthropic's messages."""

from collections.abc import Iterable
from functools import partial
from typing import Required, TypedDict

from anthropic.types import (
    Message,
    MessageParam,
    TextBlockParam,
    ToolParam,
    ToolResultBlockParam,
    ToolUseBlock,
)

from prowess.runtime.session import Session
from prowess.surfaces.frameworks.threads import run_in_thread
from prowess.surfaces.frameworks.turns import call_tool, join_texts, list_tools, open_turn, sync_skills

__all__ = ["AnthropicSkills", "MessagesRequest"]


class MessagesRequest(TypedDict, total=False):
    """What `messages.create` is called with, besides the model and its limits."""

    messages: Required[list[MessageParam]]
    system: list[TextBlockParam]
    tools: list[ToolParam]


class AnthropicSkills:
    """The skills of a session, as messages and tools of Anthropic.

    The conversation is the caller's: `receive` gives its next message, `request` what is sent, `answer` what follows.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    async def receive(self, message: str) -> MessageParam:
        """Return a user's message for the conversation, with the instructions of skills that it mentions."""
        return {"role": "user", "content": await run_in_thread(partial(open_turn, self._session, message))}

    async def request(self, messages: Iterable[MessageParam], *, instructions: str = "") -> MessagesRequest:
        """Return the next request: the system prompt and the tools as they are now, and the conversation."""
        return await run_in_thread(partial(self._request, [*messages], instructions))

    def _request(self, messages: list[MessageParam], instructions: str) -> MessagesRequest:
        sync_skills(self._session)
        request = MessagesRequest(messages=messages)
        system = self._system(instructions)
        if system:
            request["system"] = system
        tools = list_tools(self._session)
        if tools:
            request["tools"] = [
                {"name": one.name, "description": one.description, "input_schema": one.schema} for one in tools
            ]
        return request

    def _system(self, instructions: str) -> list[TextBlockParam]:
        """Return the system prompt: what stays is kept in the provider's cache, the active names come after it."""
        blocks: list[TextBlockParam] = []
        standing = self._session.standing_prompt(dialect="anthropic")
        told = join_texts(instructions, standing)
        if told:
            blocks.append({"type": "text", "text": told, "cache_control": {"type": "ephemeral"}})
        active = self._session.active_text() if standing else ""
        if active:
            blocks.append({"type": "text", "text": active})
        return blocks

    async def answer(self, message: Message) -> list[MessageParam]:
        """Carry out the calls of a model's answer; return what they add to the conversation, the answer first.

        An empty answer adds nothing: no further request could hold it.
        """
        if not message.content:
            return []
        results = [await self._call(block) for block in message.content if block.type == "tool_use"]
        said: MessageParam = {"role": "assistant", "content": message.content}
        return [said, {"role": "user", "content": results}] if results else [said]

    async def _call(self, block: ToolUseBlock) -> ToolResultBlockParam:
        arguments = block.input
        result = await run_in_thread(partial(call_tool, self._session, block.name, arguments))
        return {
            "type": "tool_result",
            "tool_use_id": block.id,
            "content": result.content,
            "is_error": result.is_error,
        }
