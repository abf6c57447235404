"""Live turns and questions as rows, and back."""

from prowess.state.database import Row
from prowess.state.live_turns import LiveTurn, OpenQuestion
from prowess.state.packing import pack, unpack

__all__ = ["pack_live_turn", "pack_question", "unpack_live_turn", "unpack_question"]


def pack_live_turn(turn: LiveTurn) -> tuple[object, ...]:
    """Return owner, session, turn, message, model, holder, beats, begun_at, beat_at, draft, wish."""
    return (
        *pack(turn.user, turn.session, turn.turn, turn.message, turn.model, turn.holder),
        *pack(turn.beats, turn.begun_at, turn.beat_at, turn.draft, turn.wish),
    )


def unpack_live_turn(row: Row) -> LiveTurn:
    """Return the turn of a row as `pack_live_turn` made it."""
    return LiveTurn(*unpack(row))


def pack_question(question: OpenQuestion) -> tuple[object, ...]:
    """Return owner, session, id, turn, record, asked_at, answer, answered_by, answered_at."""
    return (
        *pack(question.user, question.session, question.id, question.turn, question.record),
        *pack(question.asked_at, question.answer, question.answered_by, question.answered_at),
    )


def unpack_question(row: Row) -> OpenQuestion:
    """Return the question of a row as `pack_question` made it."""
    return OpenQuestion(*unpack(row))
