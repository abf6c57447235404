"""Compact a conversation in the middle of a turn: the model sums it up, or it is truncated."""

from contextlib import aclosing
from typing import TYPE_CHECKING, cast

import anyio

from prowess.agent.chat_model import ModelFailure
from prowess.agent.conversation import Conversation
from prowess.agent.cuts import (
    SUMMARISE,
    Cut,
    measure_unseen,
    plan_cut,
    quote_request,
    render_for_summary,
    shorten,
    truncate,
)
from prowess.agent.events import Compacted, Noticed, make_storable
from prowess.agent.hearing import Hearing
from prowess.agent.messages import UserMessage
from prowess.agent.opening import tell_system
from prowess.state.conversations import TokenUse

if TYPE_CHECKING:
    from prowess.agent.turn import Turn

__all__ = ["compact"]

_CHARACTERS_A_TOKEN = 3
_LEAST_CHARACTERS = 1_000
"""Of a summary, however short a conversation must be."""
_SUMMARY_CHARACTERS = 20_000
_TRUNCATED_CHARACTERS = 4_000
_REQUEST_CHARACTERS = 4_000
"""Of the user's words that stay at least; at most, they take a quarter of the conversation."""


async def compact(turn: "Turn", *, refused_tokens: int | None = None) -> bool:
    """Replace the older part of the conversation by a summary; say whether there was one.

    The instructions of active skills are given again, the newest first, as far as the budget goes; the catalog is told
    anew, as it is now. `refused_tokens` is a length at which the provider takes it no more.
    """
    conversation = turn.conversation
    before = conversation.length
    bound = min(conversation.compact_at, refused_tokens or conversation.compact_at)
    cut = plan_cut(conversation.transcript.entries, keep_tokens=_decide_kept(conversation, bound))
    if cut is None:
        return False
    summary, use = await _sum_up(turn, cut, bound, window=refused_tokens or conversation.window)
    by = "model" if use is not None else "truncation"
    request = quote_request(cut, most_characters=max(_REQUEST_CHARACTERS, bound * _CHARACTERS_A_TOKEN // 4))
    event = await turn.work(lambda: _attach(turn, cut, bound, summary=summary, by=by, request=request))
    conversation.reported_tokens = 0
    conversation.transcript.take(event)
    after = conversation.transcript.tokens
    conversation.least_tokens = after
    conversation.is_remeasured = False
    turn.stage.tell(_with_numbers(event, before, after, use or TokenUse()))
    return True


def _decide_kept(conversation: Conversation, bound: int) -> int:
    """Return how many tokens stay: what no model has read yet always does, unless it is half of all that may be."""
    unseen = measure_unseen(conversation.transcript.entries)
    kept = min(conversation.turns.keep_tokens, bound // 4)
    return max(kept, unseen) if unseen <= bound // 2 else kept


async def _sum_up(turn: "Turn", cut: Cut, bound: int, *, window: int) -> tuple[str, TokenUse | None]:
    """Return a summary of what is cut off, and what it has used; None if it is no more than the beginnings of it."""
    conversation = turn.conversation
    earlier = conversation.transcript.summary
    entries = cut.before[1:] if earlier else cut.before  # The first is what the last compaction has left.
    room = max(_LEAST_CHARACTERS, bound * _CHARACTERS_A_TOKEN // 4)
    if conversation.model.summarises:
        text = render_for_summary(entries, most_characters=window * _CHARACTERS_A_TOKEN // 2, earlier=earlier)
        try:
            summary, use = await _ask_for_summary(turn, text)
            return shorten(summary, min(_SUMMARY_CHARACTERS, room)), use
        except ModelFailure as failure:
            turn.tell(Noticed(text=f"the conversation was not summed up but truncated: {failure.message}"))
    return truncate(entries, most_characters=min(_TRUNCATED_CHARACTERS, room), earlier=earlier), None


async def _ask_for_summary(turn: "Turn", text: str) -> tuple[str, TokenUse]:
    request = turn.make_request(SUMMARISE, (UserMessage(f"The conversation:\n\n{text}\n\nSum it up."),))
    hearing = Hearing()
    try:
        async with aclosing(turn.conversation.model.stream(request)) as pieces:
            async for piece in pieces:
                hearing.hear(piece)
    except (ModelFailure, anyio.get_cancelled_exc_class()):
        turn.count(TokenUse(requests=1) + hearing.failed)
        raise
    answered = hearing.conclude(set())
    use = answered.use + hearing.failed
    turn.count(use)
    summary = answered.text.strip()
    if not summary:
        raise ModelFailure("the model gave no summary", code="model-broken")
    return summary, use


def _attach(turn: "Turn", cut: Cut, bound: int, *, summary: str, by: str, request: str) -> Compacted:
    """Return the compaction, with what must be given again."""
    conversation = turn.conversation
    session = conversation.session
    planned = session.reattach(held=cut.held, most_tokens=bound // 2)
    if conversation.model.calls_tools:
        tell_system(conversation, turn.tell, session.standing_prompt(dialect="openai"))
    active = session.active_text()
    conversation.told_active = active
    event = Compacted(
        summary=summary,
        by=by,
        request=request,
        attached="\n\n".join(part for part in (planned.text, active) if part),
        skills=tuple(receipt.name for receipt in planned.kept),
        dropped=tuple(receipt.name for receipt in planned.dropped),
        receipts=tuple(receipt.id for receipt in planned.kept),
        kept_messages=len(cut.kept),
    )
    return cast("Compacted", make_storable(event)[0])


def _with_numbers(event: Compacted, before: int, after: int, use: TokenUse) -> Compacted:
    import msgspec

    return msgspec.structs.replace(event, tokens_before=before, tokens_after=after, use=use)
