"""An answer of a model, heard piece by piece."""

import math

import pytest

from prowess.agent.chat_model import CallPiece, FinishPiece, ModelFailure, RetryPiece, TextPiece, ThinkingPiece
from prowess.agent.events import Answered
from prowess.agent.hearing import MAX_CHARACTERS, Hearing, make_sound
from prowess.agent.messages import ToolCall
from prowess.state.conversations import TokenUse

CALL = ToolCall("1", "tool", "{}")
USE = TokenUse(1, 10, 5, 2, 0.5)


def hear(*pieces: object) -> Hearing:
    hearing = Hearing()
    for piece in pieces:
        hearing.hear(piece)  # type: ignore[arg-type]
    return hearing


def test_answer_is_what_was_heard_since_the_last_retry() -> None:
    hearing = hear(
        TextPiece("wrong"),
        CallPiece(CALL),
        RetryPiece("down", 2, 1.0),
        ThinkingPiece("hm"),
        TextPiece("ri"),
        TextPiece("ght"),
        CallPiece(CALL),
        FinishPiece(USE, "native"),
    )
    assert hearing.conclude(set()) == Answered(text="right", calls=(CALL,), native="native", thinking="hm", use=USE)
    assert hearing.failed == TokenUse(requests=1)


def test_calls_that_had_to_be_renamed_are_not_replayed_as_the_provider_sent_them() -> None:
    answered = hear(CallPiece(CALL), FinishPiece(USE, "native")).conclude({"1"})
    assert (answered.calls[0].id, answered.native) == ("1-2", "")


def test_what_is_broken_off_keeps_its_text_and_calls_nothing() -> None:
    answered = hear(TextPiece("half"), CallPiece(CALL)).break_off()
    assert answered == Answered(text="half", use=TokenUse(requests=1), cut=True)


@pytest.mark.parametrize(
    "piece",
    [TextPiece("x" * 1_000_000), ThinkingPiece("x" * 1_000_000), CallPiece(ToolCall("", "t", "x" * 1_000_000))],
    ids=lambda piece: type(piece).__name__,
)
def test_answer_without_end_is_broken(piece: object) -> None:
    with pytest.raises(ModelFailure) as caught:
        hear(*[piece] * (MAX_CHARACTERS // 1_000_000 + 1))
    assert caught.value.code == "model-broken"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (TokenUse(1, 10, 5, 2, 0.5), TokenUse(1, 10, 5, 2, 0.5)),
        (TokenUse(-1, 10**30, -5, 2, -0.5), TokenUse(0, 2**53 - 1, 0, 2, None)),
        (TokenUse(1, 1.5, math.nan, math.inf, math.inf), TokenUse(1, 1, 0, 0, None)),  # type: ignore[arg-type]
        (TokenUse(1, 1, 1, 1, math.nan), TokenUse(1, 1, 1, 1, None)),
    ],
)
def test_numbers_of_a_provider_are_such_as_can_be_kept(said: TokenUse, kept: TokenUse) -> None:
    sound = make_sound(said)
    assert sound == kept
    assert type(sound.input_tokens) is int
