"""Skills in a loop of your own over OpenAI's chat completions."""

from collections.abc import Iterable
from functools import partial
from typing import Required, TypedDict, cast

from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionMessage,
    ChatCompletionMessageFunctionToolCall,
    ChatCompletionMessageParam,
    ChatCompletionToolMessageParam,
    ChatCompletionToolParam,
    ChatCompletionUserMessageParam,
)

from prowess.runtime.session import Session
from prowess.surfaces.frameworks.threads import run_in_thread
from prowess.surfaces.frameworks.turns import call_tool, join_texts, list_tools, open_turn, sync_and_prompt

__all__ = ["ChatRequest", "OpenAISkills"]


class ChatRequest(TypedDict, total=False):
    """What `chat.completions.create` is called with, besides the model."""

    messages: Required[list[ChatCompletionMessageParam]]
    tools: list[ChatCompletionToolParam]


class OpenAISkills:
    """The skills of a session, as messages and tools of chat completions.

    The conversation is the caller's: `receive` gives its next message, `request` what is sent, `answer` what follows.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    async def receive(self, message: str) -> ChatCompletionUserMessageParam:
        """Return a user's message for the conversation, with the instructions of skills that it mentions."""
        return {"role": "user", "content": await run_in_thread(partial(open_turn, self._session, message))}

    async def request(self, messages: Iterable[ChatCompletionMessageParam], *, instructions: str = "") -> ChatRequest:
        """Return the next request: the system prompt and the tools as they are now, before the conversation."""
        system, tools = await run_in_thread(lambda: (sync_and_prompt(self._session), list_tools(self._session)))
        told = join_texts(instructions, system)
        request = ChatRequest(messages=[{"role": "system", "content": told}, *messages] if told else [*messages])
        if tools:  # An empty list is refused.
            request["tools"] = [
                {
                    "type": "function",
                    "function": {"name": one.name, "description": one.description, "parameters": one.schema},
                }
                for one in tools
            ]
        return request

    async def answer(self, message: ChatCompletionMessage) -> list[ChatCompletionMessageParam]:
        """Carry out the calls of a model's answer; return what they add to the conversation, the answer first."""
        said = message.model_dump(mode="json", exclude_none=True, exclude={"annotations", "audio", "function_call"})
        results = [await self._call(call) for call in message.tool_calls or () if call.type == "function"]
        return [cast("ChatCompletionAssistantMessageParam", said), *results]

    async def _call(self, call: ChatCompletionMessageFunctionToolCall) -> ChatCompletionToolMessageParam:
        function = call.function
        result = await run_in_thread(partial(call_tool, self._session, function.name, function.arguments))
        return {"role": "tool", "tool_call_id": call.id, "content": result.content}
