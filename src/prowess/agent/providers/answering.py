"""One request to a provider and the pieces of its answer. Loading this module loads pydantic-ai."""

import math
import re
import warnings
from collections.abc import AsyncGenerator, Awaitable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from typing import TypeVar

import anyio
from pydantic_ai import UsageExtractionFailedWarning
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import ContentFilterError, ModelAPIError
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import StreamedResponse
from pydantic_ai.usage import RequestUsage

from prowess.agent.chat_model import CallPiece, FinishPiece, ModelRequest, Piece, TextPiece, ThinkingPiece
from prowess.agent.messages import AssistantMessage
from prowess.agent.providers.bounding import AnswerBounds, AnswerTooLong
from prowess.agent.providers.building import BuiltModel
from prowess.agent.providers.translating import (
    collect_calls,
    name_calls,
    render_native,
    translate_messages,
    translate_tools,
)
from prowess.state.conversations import TokenUse

__all__ = ["Asking"]

_T = TypeVar("_T")
_CUT_SHORT = frozenset({"length", "content_filter"})
_MAX_TOKENS = 2**53 - 1
"""The largest number that every reader of JSON takes as it is."""
_STRANGE_VALUES = re.compile("Pydantic serializer warnings")


class Asking:
    """A request in a provider's words, which can be sent any number of times."""

    def __init__(self, built: BuiltModel, request: ModelRequest, *, bounds: AnswerBounds) -> None:
        self._built = built
        self._bounds = bounds
        self._timeout_seconds = request.timeout_seconds
        self._parameters = translate_tools(request.tools)
        self._messages = translate_messages(
            request.messages,
            system=request.system,
            is_own=built.has_made,
            marks_errors=built.marks_errors,
            id_length=built.id_length,
        )
        self._taken = frozenset(
            call.id for message in request.messages if isinstance(message, AssistantMessage) for call in message.calls
        )

    async def stream(self) -> AsyncGenerator[Piece]:
        """Send it, and return the answer piece by piece.

        Raise `TimeoutError` if the provider is silent for too long, and `AnswerTooLong` if it goes beyond the bounds.
        The clock runs only while we wait for the provider, not while somebody looks at a piece.
        """
        _silence_warnings()
        scale = _Scale(self._bounds)
        async with AsyncExitStack() as stack:
            patience = _Patience(self._timeout_seconds, timeouts=self._bounds.timeouts)
            answer = await patience.wait(stack.enter_async_context(self._send()))
            events = aiter(answer)
            while (event := await patience.wait(anext(events, None))) is not None:
                scale.weigh(event)
                for piece in _pieces(event):
                    yield piece
                patience.renew()
            response = answer.get()
        for piece in self._conclude(response):
            yield piece

    def _send(self) -> AbstractAsyncContextManager[StreamedResponse]:
        return model_request_stream(
            self._built.model,
            self._messages,
            model_settings=self._built.settings(timeout_seconds=self._timeout_seconds),
            model_request_parameters=self._parameters,
        )

    def _conclude(self, response: ModelResponse) -> Iterator[Piece]:
        """Return what can be said only of a whole answer: its calls, what it has used, and what to keep of it."""
        _check_whole(response)
        use = _measure(response)
        usage = RequestUsage(input_tokens=use.input_tokens, output_tokens=use.output_tokens)
        response = replace(response, provider_url=self._built.url, usage=usage)
        response = name_calls(response, taken=self._taken)
        yield from (CallPiece(call) for call in collect_calls(response))
        native = render_native(response)
        if len(native) > self._bounds.characters:  # Then it goes back as it was heard: its text and its calls.
            native = ""
        yield FinishPiece(use, native, response.finish_reason in _CUT_SHORT)


def _check_whole(response: ModelResponse) -> None:
    """Raise what the library does not: an answer that stops half-way, or that is withheld altogether."""
    if response.state != "complete":
        raise ModelAPIError(response.model_name or "", f"it is {response.state}")
    if response.text or response.tool_calls:
        return
    if response.finish_reason == "content_filter":
        raise ContentFilterError(str((response.provider_details or {}).get("refusal") or "its filter forbids it"))
    if response.finish_reason == "error":
        raise ModelAPIError(response.model_name or "", "it ends with an error")


class _Patience:
    """How long a provider is waited for: until it says something, and in all."""

    def __init__(self, timeout_seconds: float, *, timeouts: float) -> None:
        self._timeout_seconds = timeout_seconds
        self._whole_seconds = timeout_seconds * timeouts
        self._left_seconds = self._whole_seconds
        self.renew()

    def renew(self) -> None:
        """Begin to wait anew, since it has said something."""
        self._silent_until = anyio.current_time() + self._timeout_seconds

    async def wait(self, awaited: Awaitable[_T]) -> _T:
        begun = anyio.current_time()
        end = begun + self._left_seconds
        with anyio.CancelScope(deadline=min(self._silent_until, end)):
            result = await awaited
            self._left_seconds -= anyio.current_time() - begun
            return result
        if end < self._silent_until:
            raise AnswerTooLong(f"over {self._whole_seconds:g} seconds")
        raise TimeoutError


class _Scale:
    """Weighs an answer while it comes, since the library keeps all of it."""

    def __init__(self, bounds: AnswerBounds) -> None:
        self._bounds = bounds
        self._characters = 0
        self._calls = 0

    def weigh(self, event: ModelResponseStreamEvent) -> None:
        """Count what an event adds. Raise `AnswerTooLong` if that is too much."""
        self._characters += _count_characters(event)
        self._calls += isinstance(event, PartStartEvent) and isinstance(event.part, ToolCallPart)
        if self._characters > self._bounds.characters:
            raise AnswerTooLong(f"over {self._bounds.characters:,} characters")
        if self._calls > self._bounds.calls:
            raise AnswerTooLong(f"over {self._bounds.calls:,} calls")


def _count_characters(event: ModelResponseStreamEvent) -> int:
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return len(text)
        case (
            PartStartEvent(part=ThinkingPart(content=text, signature=signature))
            | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text, signature_delta=signature))
        ):
            return len(text or "") + len(signature or "")
        case (
            PartStartEvent(part=ToolCallPart(tool_name=name, args=arguments, tool_call_id=call))
            | PartDeltaEvent(delta=ToolCallPartDelta(tool_name_delta=name, args_delta=arguments, tool_call_id=call))
        ):
            written = arguments if isinstance(arguments, str) else str(arguments or "")
            return len(name or "") + len(written) + len(call or "")
        case PartStartEvent(part=part):
            return len(str(part))
        case _:
            return 0


def _silence_warnings() -> None:
    """Keep from the terminal what libraries have to say about the numbers of a provider, which we bound ourselves.

    It cannot be undone after a request, since others go on at the same time; so it is narrow.
    """
    serializing = ("ignore", _STRANGE_VALUES, UserWarning, None, 0)
    extracting = ("ignore", None, UsageExtractionFailedWarning, None, 0)
    if serializing not in warnings.filters:
        warnings.filterwarnings("ignore", _STRANGE_VALUES.pattern, UserWarning)
    if extracting not in warnings.filters:
        warnings.simplefilter("ignore", UsageExtractionFailedWarning)


def _pieces(event: ModelResponseStreamEvent) -> Iterator[Piece]:
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            if text:
                yield TextPiece(text)
        case (
            PartStartEvent(part=ThinkingPart(content=text))
            | PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text))
        ):
            if text:
                yield ThinkingPiece(text)
        case _:
            pass


def _measure(response: ModelResponse) -> TokenUse:
    """Return what an answer has used, in numbers that everybody can store, whatever its provider says."""
    usage = response.usage
    sent, written = _bound_tokens(usage.input_tokens), _bound_tokens(usage.output_tokens)
    return TokenUse(1, sent, written, _bound_tokens(usage.cache_read_tokens), _price(response))


def _bound_tokens(told: object) -> int:
    if isinstance(told, float) and math.isfinite(told):
        told = int(told)
    return min(max(told, 0), _MAX_TOKENS) if isinstance(told, int) else 0


def _price(response: ModelResponse) -> float | None:
    """Return what the answer costs, if anybody knows: a price must never fail an answer."""
    told = response.usage.cost
    if told is None and not response.usage.has_values():
        return None
    try:
        price = float(response.cost().total_price if told is None else told)
    except Exception:  # noqa: BLE001 - a foreign table; None says that it does not know
        return None
    return price if math.isfinite(price) and price >= 0 else None
