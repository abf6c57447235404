"""Conversations and their logs, in SQL.

Whatever changes a log changes the conversation's own row first, so that PostgreSQL puts such writers in line; SQLite
does so with all.
"""

import json
import re
from collections.abc import Sequence
from itertools import islice

from prowess.state.conversation_rows import pack_event, unpack_conversation, unpack_event
from prowess.state.conversations import ConversationRecord, LoggedEvent, TurnReceipt
from prowess.state.database import Transaction
from prowess.state.packing import pack, unpack
from prowess.state.sql_live_turns import forget_live_rows
from prowess.state.sql_tables import SqlTables
from prowess.state.sql_turns import record_turn
from prowess.state.titles import is_turn, lower_ascii, make_title, read_first_words, read_words

__all__ = ["SqlConversations", "forget_idle_conversations"]

_BEGIN = (
    "INSERT INTO conversations (owner, id, given_title, first_words, model, created_at, used_at, turns, last_event)"
    " VALUES (?, ?, '', ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_CONTINUE = (
    "UPDATE conversations SET first_words = CASE WHEN first_words = '' THEN ? ELSE first_words END,"
    " model = COALESCE(NULLIF(?, ''), model), used_at = CASE WHEN used_at < ? THEN ? ELSE used_at END,"
    " turns = turns + ?, last_event = ? WHERE owner = ? AND id = ? AND last_event = ?"
)
_ADD_EVENTS = "INSERT INTO events (owner, session, number, turn, kind, data, happened_at, fork) VALUES "
_ADDED_AT_ONCE = 100
"""Events: SQLite took no more than 999 parameters for long."""
_EVENTS = (
    "SELECT number, turn, kind, data, happened_at, fork FROM events"
    " WHERE owner = ? AND session = ? AND number > ? ORDER BY number LIMIT ?"
)
_RESUMED = "SELECT number FROM events WHERE owner = ? AND session = ? AND number >= ? AND turn = ? AND kind = 'resumed'"
_CONVERSATION = (
    "SELECT owner, id, given_title, first_words, model, created_at, used_at, turns FROM conversations WHERE owner = ?"
)
_CONVERSATIONS = f"{_CONVERSATION} ORDER BY used_at DESC, id"
_SAID = (
    "SELECT session, kind, data FROM events WHERE owner = ? AND fork = '' AND kind IN ('begun', 'answer')"
    " AND LOWER(data) LIKE ? ESCAPE '!' ORDER BY happened_at DESC LIMIT 2000"
)
_FORGET = "DELETE FROM conversations WHERE owner = ? AND id = ?"
_FORGET_EVENTS = "DELETE FROM events WHERE owner = ? AND session = ?"
_IDLE = "SELECT id FROM conversations WHERE owner = ? AND used_at < ? ORDER BY id"


class SqlConversations(SqlTables):
    """The part of a store that keeps conversations."""

    def append_events(
        self,
        *,
        user: str,
        session: str,
        events: Sequence[LoggedEvent],
        model: str = "",
        turns: Sequence[TurnReceipt] = (),
    ) -> bool:
        which = pack(user, session)

        def work(transaction: Transaction) -> bool:
            added = not events or (_are_consecutive(events) and _append(transaction, which, events, model))
            for turn in turns:
                if added or not _is_resumed(transaction, which, turn, since=events[0].number):
                    record_turn(transaction, turn)
            if added and events:
                transaction.wake()
            return added

        return self._database.write(work) if events or turns else True

    def events(self, *, user: str, session: str, after: int = 0, limit: int = 100_000) -> tuple[LoggedEvent, ...]:
        return tuple(map(unpack_event, self._database.read(_EVENTS, (*pack(user, session), after, limit))))

    def last_event(self, *, user: str, session: str) -> int:
        statement = "SELECT last_event FROM conversations WHERE owner = ? AND id = ?"
        rows = self._database.read(statement, pack(user, session))
        return int(rows[0][0]) if rows else 0

    def conversations(self, *, user: str, limit: int = 1_000) -> tuple[ConversationRecord, ...]:
        return tuple(map(unpack_conversation, self._database.read(f"{_CONVERSATIONS} LIMIT ?", (*pack(user), limit))))

    def find_conversation(self, *, user: str, session: str) -> ConversationRecord | None:
        rows = self._database.read(f"{_CONVERSATION} AND id = ?", pack(user, session))
        return unpack_conversation(rows[0]) if rows else None

    def search_conversations(self, *, user: str, query: str, limit: int = 100) -> tuple[ConversationRecord, ...]:
        wanted = lower_ascii(query.strip())
        rows = self._database.read(_SAID, (*pack(user), _make_pattern(json.dumps(wanted, ensure_ascii=False)[1:-1])))
        said = {session for session, kind, data in map(unpack, rows) if wanted in lower_ascii(read_words(kind, data))}
        known = map(unpack_conversation, self._database.read(_CONVERSATIONS, pack(user)))
        found = (one for one in known if one.id in said or wanted in lower_ascii(one.title))
        return tuple(islice(found, limit))

    def name_conversation(self, *, user: str, session: str, title: str) -> bool:
        statement = "UPDATE conversations SET given_title = ? WHERE owner = ? AND id = ?"
        row = pack(make_title(title), user, session)

        def work(transaction: Transaction) -> bool:
            known = transaction.run(statement, row) > 0
            if known:
                transaction.wake()
            return known

        return self._database.write(work)

    def forget_conversation(self, *, user: str, session: str) -> bool:
        which = pack(user, session)

        def work(transaction: Transaction) -> bool:
            known = transaction.run(_FORGET, which) > 0
            if known:
                transaction.run(_FORGET_EVENTS, which)
            forget_live_rows(transaction, which)  # A first turn may have begun of which the log has nothing yet.
            transaction.wake()
            return known

        return self._database.write(work)


def _make_pattern(text: str) -> str:
    """Return what LIKE takes for any text that holds this one; what no database takes is left out."""
    plain = "".join(sign for sign in text if sign >= " " and not "\ud800" <= sign <= "\udfff")
    return "%" + re.sub("[%_!]", r"!\g<0>", plain) + "%"


def forget_idle_conversations(transaction: Transaction, whose: tuple[object, ...], *, before: float) -> None:
    """Forget the conversations of a user that were not used since, with their logs."""
    for (session,) in transaction.rows(_IDLE, (*whose, before)):
        # Somebody may have gone on with it meanwhile.
        if transaction.run(_FORGET + " AND used_at < ?", (*whose, session, before)):
            transaction.run(_FORGET_EVENTS, (*whose, session))


def _are_consecutive(events: Sequence[LoggedEvent]) -> bool:
    first = events[0].number
    return first > 0 and all(event.number == number for number, event in enumerate(events, first))


def _append(transaction: Transaction, which: tuple[object, ...], events: Sequence[LoggedEvent], model: str) -> bool:
    """Append what is not there yet; say whether all of it stands in the log now."""
    if _take_numbers(transaction, which, events, model):
        _add(transaction, which, events)
        return True
    found = transaction.rows(_EVENTS, (*which, events[0].number - 1, len(events)))
    known = [_content(unpack_event(row)) for row in found]
    if not known or known != list(map(_content, events[: len(known)])):
        return False
    others = events[len(known) :]
    return not others or _append(transaction, which, others, model)


def _is_resumed(transaction: Transaction, which: tuple[object, ...], turn: TurnReceipt, *, since: int) -> bool:
    """Whether somebody else has gone on with a turn."""
    return bool(transaction.rows(_RESUMED, (*which, since, *pack(turn.id))))


def _take_numbers(
    transaction: Transaction, which: tuple[object, ...], events: Sequence[LoggedEvent], model: str
) -> bool:
    """Bring the conversation up to date, unless its last event is not the one before these."""
    first, last, used_at = events[0], events[-1], max(event.at for event in events)
    said, turns = pack(read_first_words(events), model), sum(map(is_turn, events))
    if first.number == 1:
        row = (*which, *said, first.at, used_at, turns, last.number)
        return transaction.run(_BEGIN, row) > 0
    row = (*said, used_at, used_at, turns, last.number, *which, first.number - 1)
    return transaction.run(_CONTINUE, row) > 0


def _add(transaction: Transaction, which: tuple[object, ...], events: Sequence[LoggedEvent]) -> None:
    for start in range(0, len(events), _ADDED_AT_ONCE):
        rows = [(*which, *pack_event(event)) for event in events[start : start + _ADDED_AT_ONCE]]
        marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * len(rows))
        transaction.run(_ADD_EVENTS + marks, [value for row in rows for value in row])


def _content(event: LoggedEvent) -> tuple[object, ...]:
    """What makes an event this one and no other."""
    return event.number, event.turn, event.kind, event.data
