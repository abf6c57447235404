"""The offline model as a chat model: it streams what `decide_step` has decided."""

from collections.abc import AsyncGenerator, Iterator

from prowess.agent.chat_model import CallPiece, FinishPiece, ModelRequest, Piece, TextPiece
from prowess.agent.messages import AssistantMessage, Message, ToolMessage, UserMessage
from prowess.agent.offline.steps import Step, decide_step
from prowess.disclosure.tokens import EstimatedTokens
from prowess.state.conversations import TokenUse

__all__ = ["OfflineModel"]

_PIECE = 48
"""Characters of a piece, about."""


class OfflineModel:
    """Answers by fixed rules, at no cost, without a network; the same request always gets the same answer."""

    name = "offline"
    calls_tools = True
    summarises = False
    context_window = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Return the answer piece by piece."""
        step = decide_step(request)
        for text in _split(step.text):
            yield TextPiece(text)
        for call in step.calls:
            yield CallPiece(call)
        yield FinishPiece(_measure(request, step))

    async def close(self) -> None:
        """Nothing is held."""


def _split(text: str) -> Iterator[str]:
    """Return the text in small pieces, cut behind blanks where there are any."""
    start = 0
    while start < len(text):
        end = text.find(" ", start + _PIECE, start + 2 * _PIECE) + 1 or start + 2 * _PIECE
        yield text[start:end]
        start = end


def _measure(request: ModelRequest, step: Step) -> TokenUse:
    """Return what the answer would have cost elsewhere in tokens, by an estimate; it costs no money."""
    count = EstimatedTokens().count
    sent = count(request.system) + sum(map(count, map(_text_of, request.messages)))
    answered = count(step.text) + sum(count(call.arguments) for call in step.calls)
    return TokenUse(requests=1, input_tokens=sent, output_tokens=answered, cost_usd=0.0)


def _text_of(message: Message) -> str:
    match message:
        case UserMessage():
            return f"{message.text}\n{message.context}"
        case AssistantMessage():
            return "\n".join([message.text, *(call.arguments for call in message.calls)])
        case ToolMessage():
            return message.content
