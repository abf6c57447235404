"""One tool call in a turn: carried out in the session, and told as a card."""

import codecs
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from prowess.activation.tool_dialects import find_tool
from prowess.activation.tools import Role, Tool
from prowess.agent.conversation import Conversation
from prowess.agent.events import CallBegun, CallEnded, Event, OutputHeard
from prowess.agent.messages import ToolCall
from prowess.agent.opening import announce_skill
from prowess.disclosure.instructions import defuse
from prowess.errors import ProwessError, ToolInputError
from prowess.execution.jobs import Listener, Stream
from prowess.execution.stopping import Stopped, check_stopped
from prowess.runtime.tool_results import ToolResult, render_error

__all__ = ["carry_out"]

_RESULT_TOKENS = 25_000
"""Of one result that a model reads, but for instructions, which have bounds of their own."""
_KEPT_CHARACTERS = 20_000
"""Of one text in the data of a card."""
_MAX_DEPTH = 32
"""Of lists and objects within each other there."""
_HEARD_CHARACTERS = 1_000_000
"""Of what a script writes that is told while it runs; its result has the beginning and the end."""
_MAY_HOLD_INSTRUCTIONS = frozenset((Role.ACTIVATE.value, Role.PYTHON.value))
"""Roles of tools whose results give the instructions of skills; whatever others return must not look like that."""
_SAID_ALREADY = frozenset(("instructions", "body", "content"))
"""What the data of a result says once more."""


def carry_out(
    conversation: Conversation,
    call: ToolCall,
    tools: Sequence[Tool],
    tell: Callable[[Event], None],
    *,
    flush: Callable[[], None],
) -> None:
    """Call a tool and tell what came of it; whatever that is, the conversation has a result for the call. Blocks.

    `flush` writes down what was told, before anything is done: a process that dies in the middle leaves word of it.
    """
    tool = _find(tools, call.tool)
    role = tool.role.value if tool else ""
    tell(
        CallBegun(
            call=call.id,
            tool=tool.name if tool else call.tool,
            role=role,
            title=tool.title if tool else "",
            arguments=_slim(_parse(call.arguments)),
        )
    )
    flush()
    begun_at = time.monotonic()
    state, result = _call(conversation, call, listener=_listen(call.id, tell))
    content = result.content if role == Role.ACTIVATE else _shorten(conversation, result.content)
    content = content if role in _MAY_HOLD_INSTRUCTIONS else defuse(content)
    tell(
        CallEnded(
            call=call.id,
            tool=call.tool,
            role=role,
            content=content,
            data=_slim(result.data),
            state=state,
            summary=result.summary,
            receipt=result.receipt.id if result.receipt else "",
            seconds=round(time.monotonic() - begun_at, 6),
        )
    )
    if result.receipt is not None:
        truncated = bool(result.data.get("truncated"))
        announce_skill(conversation, result.receipt, tell, call=call.id, truncated=truncated)


def _find(tools: Sequence[Tool], name: str) -> Tool | None:
    try:
        return find_tool(tools, name)
    except ToolInputError:
        return None


def _call(conversation: Conversation, call: ToolCall, *, listener: Listener) -> tuple[str, ToolResult]:
    conversation.asker.call = call.id
    try:
        check_stopped()
        result = conversation.session.call(call.tool, call.arguments, listener=listener)
    except Stopped as error:
        return "cancelled", _fail(conversation, call, error)
    except ProwessError as error:  # The disk or the database fails: the model is told, and the user sees the card.
        return "failed", _fail(conversation, call, error)
    finally:
        conversation.asker.call = ""
    if result.data.get("error", {}).get("code") == Stopped.default_code:
        return "cancelled", result
    return ("refused" if result.refused else "failed") if result.is_error else "done", result


def _fail(conversation: Conversation, call: ToolCall, error: ProwessError) -> ToolResult:
    return render_error(call.tool, None, conversation.session.policy.tools, error, names=())


def _parse(arguments: str) -> dict[str, Any]:
    try:
        found: object = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _listen(call: str, tell: Callable[[Event], None]) -> Listener:
    decoders = {stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in Stream}
    left = _HEARD_CHARACTERS

    def listen(stream: Stream, content: bytes) -> None:
        nonlocal left
        text = decoders[stream].decode(content) if left > 0 else ""
        if not text:
            return
        left -= len(text)
        more = f"\n[… more than {_HEARD_CHARACTERS:,} characters: the rest is not shown here …]\n" if left <= 0 else ""
        tell(OutputHeard(call=call, stream=stream.value, text=f"{text}{more}"))

    return listen


def _shorten(conversation: Conversation, content: str) -> str:
    """Keep the beginning and the end of what is too long for a conversation."""
    most = min(_RESULT_TOKENS, conversation.window // 4)
    if len(content) <= most * 2:  # No text has a token for fewer characters than that, but for rare scripts.
        return content
    total = conversation.session.count_tokens(content)
    if total <= most:
        return content
    half = len(content) * most // total // 2
    left_out = len(content) - 2 * half
    return f"{content[:half]}\n[… {left_out:,} characters left out: this result is too long …]\n{content[-half:]}"


def _slim(data: dict[str, Any]) -> dict[str, Any]:
    """Return data as a card keeps it: without what the content says already, and with long texts cut."""
    return {key: _cut(value) for key, value in data.items() if key not in _SAID_ALREADY}


def _cut(value: object, depth: int = 0) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _KEPT_CHARACTERS else f"{value[:_KEPT_CHARACTERS]}…"
    if isinstance(value, dict | list | tuple) and depth >= _MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {str(key): _cut(item, depth + 1) for key, item in cast("dict[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_cut(item, depth + 1) for item in cast("Sequence[object]", value)]
    return value
