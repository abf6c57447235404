"""Between our words and pydantic-ai's: messages, tools and answers, both ways. Loading this module loads pydantic-ai.

All of it is pure. What a provider gets for the same conversation is the same, byte for byte.
"""

import hashlib
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from prowess.activation.tool_dialects import wire_name
from prowess.activation.tools import Tool
from prowess.agent.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from prowess.skill.deception import make_encodable

__all__ = ["collect_calls", "name_calls", "parse_native", "render_native", "translate_messages", "translate_tools"]

_LONG_AGO = datetime.fromtimestamp(0, UTC)
"""Times are part of the library's messages and sent nowhere; this one keeps equal conversations equal."""
_EMPTY = "(empty)"
"""Where a provider refuses to be sent nothing."""
_NO_RESULT = "The call was broken off and has no result."
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_MAX_NAME = 256
"""Characters of a tool's name and of a call's id, however a model or a server makes them up."""
_DIGITS = string.digits + string.ascii_letters


def translate_tools(tools: Iterable[Tool]) -> ModelRequestParameters:
    """Return the tools as the library takes them, with their schemas as they are."""
    return ModelRequestParameters(function_tools=[_translate_tool(tool) for tool in tools], instruction_parts=[])


def _translate_tool(tool: Tool) -> ToolDefinition:
    return ToolDefinition(
        name=wire_name(tool.name, "openai"),
        description=tool.description,
        parameters_json_schema=tool.schema or {"type": "object", "properties": {}},
        strict=False,  # Else the library rewrites schemas where it thinks that it may.
    )


def translate_messages(
    messages: Sequence[Message],
    *,
    system: str,
    is_own: Callable[[ModelResponse], bool],
    marks_errors: bool = False,
    id_length: int | None = None,
) -> list[ModelMessage]:
    """Return a conversation as the library takes it, the system prompt first and unchanged.

    An answer goes back as its provider made it if `is_own` says so, else it is put together from its text and its
    calls. Every call gets a result and every result a call, since providers refuse anything else. Where the protocol
    can, errors are marked (`marks_errors`); their text is the same either way.
    """
    # As a part of a message, since what the library calls instructions loses white space with some providers.
    begin = ModelRequest([SystemPromptPart(make_encodable(system), timestamp=_LONG_AGO)])
    translated: list[ModelMessage] = [begin] if system else []
    waiting: dict[str, ToolCallPart] = {}
    for message in messages:
        match message:
            case UserMessage(text, context):
                whole = "\n\n".join(part for part in (context, text) if part)
                translated.append(ModelRequest([UserPromptPart(_fill(whole), timestamp=_LONG_AGO)]))
            case AssistantMessage(calls=calls):
                translated += _close(waiting)
                response = _find_own(message, is_own=is_own) or _rebuild(message, id_length=id_length)
                waiting = dict(zip((call.id for call in calls), response.tool_calls, strict=True))
                if response.parts:
                    translated.append(response)
            case ToolMessage() if message.call in waiting:
                result = _result(message, waiting.pop(message.call))
                marked = message.is_error and marks_errors
                translated.append(ModelRequest([replace(result, outcome="failed") if marked else result]))
            case ToolMessage():
                pass  # Nobody has called for it, or it is answered already.
    return repair_messages([*translated, *_close(waiting)])  # Which puts results before what was said meanwhile.


def _close(waiting: Mapping[str, ToolCallPart]) -> list[ModelRequest]:
    """Return results for calls that have none, in their order."""
    results = [
        ToolReturnPart(call.tool_name, _NO_RESULT, call.tool_call_id, outcome="interrupted", timestamp=_LONG_AGO)
        for call in waiting.values()
    ]
    return [ModelRequest(results)] if results else []


def _result(message: ToolMessage, call: ToolCallPart) -> ToolReturnPart:
    return ToolReturnPart(call.tool_name, _fill(message.content), call.tool_call_id, timestamp=_LONG_AGO)


def _find_own(message: AssistantMessage, *, is_own: Callable[[ModelResponse], bool]) -> ModelResponse | None:
    """Return the answer as its provider made it, if it still says the same and can go back as it is."""
    response = parse_native(message.native)
    if response is None or not is_own(response):
        return None
    calls = collect_calls(response)
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    whole = (text or calls) and calls == message.calls and text.strip() == message.text.strip()
    return response if whole and all(_TOOL_NAME.fullmatch(call.tool) for call in calls) else None


def _rebuild(message: AssistantMessage, *, id_length: int | None) -> ModelResponse:
    text = [TextPart(make_encodable(message.text))] if message.text.strip() else []
    calls = [
        ToolCallPart(_fit_name(call.tool), make_encodable(call.arguments), _fit_id(call.id, length=id_length))
        for call in message.calls
    ]
    return ModelResponse(parts=[*text, *calls], timestamp=_LONG_AGO)


def parse_native(native: str) -> ModelResponse | None:
    """Return the answer that this JSON keeps, or None if it keeps none."""
    if not native:
        return None
    try:
        (message,) = ModelMessagesTypeAdapter.validate_json(native)
    except (ValidationError, ValueError):
        return None
    return message if isinstance(message, ModelResponse) else None


def render_native(response: ModelResponse) -> str:
    """Return an answer as JSON that keeps all of it; nothing if it cannot be kept."""
    try:
        return ModelMessagesTypeAdapter.dump_json([response]).decode()
    except ValueError:  # Something of the provider's that is no JSON: then it is rebuilt from text and calls.
        return ""


def name_calls(response: ModelResponse, *, taken: Iterable[str]) -> ModelResponse:
    """Return an answer in which each call has an id that no other has: new ones where they are missing or taken.

    Ids that are too long are new as well, and names of tools that are too long are cut.
    """
    seen = set(taken)
    parts = list(response.parts)
    for number, part in enumerate(parts):
        if isinstance(part, ToolCallPart):
            if len(part.tool_name) > _MAX_NAME:
                part = replace(part, tool_name=part.tool_name[:_MAX_NAME])  # noqa: PLW2901 - the same call
                parts[number] = part
            if not 0 < len(part.tool_call_id) <= _MAX_NAME or part.tool_call_id in seen:
                part = replace(part, tool_call_id=f"call_{uuid4().hex[:24]}")  # noqa: PLW2901 - the same call
                parts[number] = part
            seen.add(part.tool_call_id)
    return replace(response, parts=parts)


def collect_calls(response: ModelResponse) -> tuple[ToolCall, ...]:
    """Return the calls of an answer, their arguments as the model wrote them; none at all are an empty object."""
    return tuple(
        ToolCall(
            part.tool_call_id,
            part.tool_name,
            part.args if isinstance(part.args, str) and part.args else part.args_as_json_str(),
        )
        for part in response.parts
        if isinstance(part, ToolCallPart)
    )


def _fit_name(tool: str) -> str:
    """Return a tool's name as providers let it stand in a conversation, also one that a model has made up."""
    if _TOOL_NAME.fullmatch(tool):
        return tool
    return re.sub(r"[^A-Za-z0-9_-]+", "_", wire_name(tool, "openai"))[:64] or "unknown"


def _fit_id(name: str, *, length: int | None) -> str:
    """Return an id that every provider takes, the same for the same call: Mistral wants nine letters and digits."""
    if length is None:
        return (
            name
            if _CALL_ID.fullmatch(name)
            else "call_" + hashlib.sha256(name.encode(errors="replace")).hexdigest()[:24]
        )
    if len(name) == length and name.isascii() and name.isalnum():
        return name
    number = int.from_bytes(hashlib.sha256(name.encode(errors="replace")).digest())
    return "".join(_DIGITS[number // len(_DIGITS) ** place % len(_DIGITS)] for place in range(length))


def _fill(text: str) -> str:
    return make_encodable(text) if text.strip() else _EMPTY
