"""The offline model as a chat model."""

import os
import subprocess
import sys

import anyio
import pytest

from prowess.agent.chat_model import CallPiece, ChatModel, FinishPiece, ModelRequest, Piece, TextPiece
from prowess.agent.messages import AssistantMessage, ToolMessage, UserMessage
from prowess.agent.offline.model import OfflineModel
from prowess.agent.offline.steps import decide_step
from prowess.state.conversations import TokenUse
from tests.agent.offline.playing import STANDARD, list_catalog

_SYSTEM = list_catalog(alpha="Paints walls.", beta="Bakes bread.", gamma="Grows roses and tulips.")
_TALK = ModelRequest(_SYSTEM, (UserMessage("hello"),), STANDARD)
_CALL = ModelRequest(_SYSTEM, (UserMessage("use the alpha skill"),), STANDARD)


def _hear(request: ModelRequest) -> list[Piece]:
    async def listen() -> list[Piece]:
        model: ChatModel = OfflineModel()
        pieces = [piece async for piece in model.stream(request)]
        await model.close()
        return pieces

    return anyio.run(listen)


def test_it_says_of_itself_what_it_is() -> None:
    model = OfflineModel()
    assert (model.name, model.calls_tools, model.summarises, model.context_window) == ("offline", True, False, None)


def test_text_is_streamed_in_small_pieces() -> None:
    *pieces, finish = _hear(_TALK)
    texts = [piece.text for piece in pieces if isinstance(piece, TextPiece)]
    assert len(texts) == len(pieces) > 3
    assert "".join(texts) == decide_step(_TALK).text
    assert max(map(len, texts)) <= 96
    assert isinstance(finish, FinishPiece)
    assert finish.use.output_tokens > 50


def test_calls_are_streamed_whole_and_nothing_is_charged() -> None:
    call, finish = _hear(_CALL)
    assert [call] == [CallPiece(one) for one in decide_step(_CALL).calls]
    assert isinstance(finish, FinishPiece)
    assert finish == FinishPiece(
        TokenUse(1, finish.use.input_tokens, finish.use.output_tokens, cached_tokens=0, cost_usd=0.0)
    )


def test_every_message_counts_for_what_was_sent() -> None:
    def sent(*more: object) -> int:
        finish = _hear(ModelRequest(_SYSTEM, (*_TALK.messages, *more), STANDARD))[-1]  # pyright: ignore[reportArgumentType]
        assert isinstance(finish, FinishPiece)
        return finish.use.input_tokens

    alone = sent()
    assert sent(AssistantMessage("x" * 400)) > alone + 90
    assert sent(ToolMessage("1", "t", "x" * 400)) > alone + 90
    assert sent(UserMessage("", "x" * 400)) > alone + 90


_SCRIPT = """
import sys
from prowess.agent.offline.steps import decide_step
from tests.agent.offline.test_model import _CALL, _TALK
sys.stdout.write(f"{decide_step(_TALK)} {decide_step(_CALL)}")
"""


@pytest.mark.slow
def test_answer_is_the_same_in_every_process() -> None:
    answers = [
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert answers == [f"{decide_step(_TALK)} {decide_step(_CALL)}"] * 2
