"""Conversations, their events and the receipts of their turns as rows, and back."""

from prowess.state.conversations import ConversationRecord, LoggedEvent, ModelUsage, Outcome, TokenUse, TurnReceipt
from prowess.state.database import Row
from prowess.state.packing import pack, pack_texts, unpack, unpack_texts
from prowess.state.rows import known_choice

__all__ = ["pack_event", "pack_turn", "unpack_conversation", "unpack_event", "unpack_model_usage", "unpack_turn"]


def pack_event(event: LoggedEvent) -> tuple[object, ...]:
    """Return number, turn, kind, data, happened_at, fork."""
    return pack(event.number, event.turn, event.kind, event.data, event.at, event.within)


def unpack_event(row: Row) -> LoggedEvent:
    """Return the event of a row as `pack_event` made it."""
    return LoggedEvent(*unpack(row))


def unpack_conversation(row: Row) -> ConversationRecord:
    """Return a conversation: owner, id, given_title, first_words, model, created_at, used_at, turns."""
    user, id_, given_title, first_words, model, created_at, used_at, turns = unpack(row)
    return ConversationRecord(user, id_, given_title or first_words, model, created_at, used_at, turns)


def pack_turn(turn: TurnReceipt) -> tuple[object, ...]:
    """Return owner, session, id, model, agent, parent, skill, name, digest, permissions, and so on up to cost_usd."""
    use = turn.use
    return (
        *pack(turn.user, turn.session, turn.id, turn.model, turn.agent),
        *pack(turn.parent, turn.skill, turn.name, turn.digest, pack_texts(turn.permissions), turn.granted_by),
        turn.at,
        turn.ended_at,
        turn.outcome.value if turn.outcome else "",
        turn.steps,
        turn.calls,
        *(use.requests, use.input_tokens, use.output_tokens, use.cached_tokens, use.cost_usd),
    )


def unpack_turn(row: Row) -> TurnReceipt:
    """Return the turn of a row as `pack_turn` made it."""
    user, session, id_, model, agent, parent, skill, name, digest, permissions, granted_by, *others = unpack(row)
    at, ended_at, outcome, steps, calls, *use = others
    return TurnReceipt(
        id=id_,
        user=user,
        session=session,
        model=model,
        agent=agent,
        at=at,
        ended_at=ended_at,
        outcome=known_choice(Outcome, outcome) if outcome else None,
        steps=steps,
        calls=calls,
        use=TokenUse(*use),
        parent=parent,
        skill=skill,
        name=name,
        digest=digest,
        permissions=unpack_texts(permissions),
        granted_by=granted_by,
    )


def unpack_model_usage(row: Row) -> ModelUsage:
    """Return how much a model was used: model, turns, forks, and the columns of its use."""
    model, turns, forks, *use = unpack(row)
    return ModelUsage(model, turns, forks, TokenUse(*use))
