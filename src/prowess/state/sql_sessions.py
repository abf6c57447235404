"""Sessions and what is switched on in them, in SQL.

Whatever changes one session touches its row in `sessions` first, so that PostgreSQL puts such writers in line; SQLite
does so with all.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from prowess.activation.receipts import Receipt, SessionRecord
from prowess.state.database import Transaction
from prowess.state.packing import pack, unpack
from prowess.state.rows import pack_receipt, unpack_receipt, unpack_sessions
from prowess.state.sql_tables import SqlTables

__all__ = ["SqlSessions"]

_USE_SESSION = (
    "INSERT INTO sessions (owner, id, agent, created_at, used_at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (owner, id) DO UPDATE SET used_at ="
    " CASE WHEN excluded.used_at > sessions.used_at THEN excluded.used_at ELSE sessions.used_at END"
)
_TOUCH_SESSION = "UPDATE sessions SET used_at = ? WHERE owner = ? AND id = ? AND used_at < ?"
_HOLD_SESSION = "UPDATE sessions SET used_at = used_at WHERE owner = ? AND id = ?"
_SESSIONS = (
    "SELECT s.owner, s.id, s.agent, s.created_at, s.used_at, r.name"
    " FROM (SELECT * FROM sessions WHERE owner = ? ORDER BY used_at DESC, id LIMIT ?) s"
    " LEFT JOIN receipts r ON r.owner = s.owner AND r.session = s.id AND r.ended_at IS NULL"
    " ORDER BY s.used_at DESC, s.id, r.number"
)
_SESSION = (
    "SELECT s.owner, s.id, s.agent, s.created_at, s.used_at, r.name FROM sessions s"
    " LEFT JOIN receipts r ON r.owner = s.owner AND r.session = s.id AND r.ended_at IS NULL"
    " WHERE s.owner = ? AND s.id = ? ORDER BY r.number"
)
_RECEIPTS = (
    "SELECT owner, session, id, skill, name, digest, asked_by, agent, triggered_by, arguments, consent,"
    " size_bytes, tokens, started_at, in_context, ended_at FROM receipts WHERE owner = ?"
)
_OF_ID = " AND session = ? AND id = ?"
_OPEN = " AND session = ? AND ended_at IS NULL"
_ADD_RECEIPT = (
    "INSERT INTO receipts (owner, session, id, skill, name, digest, asked_by, agent, triggered_by, arguments, consent,"
    " size_bytes, tokens, started_at, in_context, number) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
    " (SELECT COALESCE(MAX(number), 0) + 1 FROM receipts WHERE owner = ? AND session = ?)) ON CONFLICT DO NOTHING"
)
_END = "UPDATE receipts SET ended_at = ? WHERE owner = ? AND session = ? AND ended_at IS NULL"
_MARK = "UPDATE receipts SET in_context = ? WHERE owner = ? AND session = ? AND id = ?"
_T = TypeVar("_T")
_HELD = (
    "SELECT digest FROM receipts WHERE ended_at IS NULL UNION"
    " SELECT g.digest FROM grants g WHERE g.decision = 'allow' AND g.given_at = (SELECT MAX(n.given_at) FROM grants n"
    " WHERE n.owner = g.owner AND n.skill = g.skill AND n.root = g.root AND n.act = g.act AND n.decision = 'allow')"
)
"""What is switched on, and what a person last agreed to: the next question shows what has changed since."""


class SqlSessions(SqlTables):
    """The part of a store that keeps sessions and the receipts of activations."""

    def open_session(self, record: SessionRecord) -> SessionRecord:
        """Who uses a session first gives it its agent and its date; both stay."""

        def work(transaction: Transaction) -> SessionRecord:
            times = (record.created_at, record.used_at)
            transaction.run(_USE_SESSION, (*pack(record.user, record.id, record.agent), *times))
            (found,) = unpack_sessions(transaction.rows(_SESSION, pack(record.user, record.id)))
            return found

        return self._database.write(work)

    def touch_session(self, *, user: str, session: str, at: float) -> None:
        row = (at, *pack(user, session), at)
        self._database.write(lambda transaction: transaction.run(_TOUCH_SESSION, row))

    def sessions(self, *, user: str, limit: int = 1_000) -> tuple[SessionRecord, ...]:
        return unpack_sessions(self._database.read(_SESSIONS, (*pack(user), limit)))

    def end_session(self, *, user: str, session: str, at: float) -> bool:
        which = pack(user, session)

        def work(transaction: Transaction) -> bool:
            known = transaction.run("DELETE FROM sessions WHERE owner = ? AND id = ?", which)
            transaction.run(_END, (at, *which))
            # The empty session stands for decisions that hold in all of them.
            if session and transaction.run("DELETE FROM grants WHERE owner = ? AND session = ?", which):
                transaction.announce()
            return known > 0

        return self._database.write(work)

    def prompt_basis(self, *, user: str, session: str) -> str:
        rows = self._database.read("SELECT prompt_basis FROM sessions WHERE owner = ? AND id = ?", pack(user, session))
        return str(unpack(rows[0])[0]) if rows else ""

    def keep_prompt_basis(self, record: SessionRecord, basis: str) -> None:
        which = pack(record.user, record.id)

        def work(transaction: Transaction) -> None:
            transaction.run(_USE_SESSION, (*which, *pack(record.agent), record.created_at, record.used_at))
            transaction.run("UPDATE sessions SET prompt_basis = ? WHERE owner = ? AND id = ?", (*pack(basis), *which))

        self._database.write(work)

    # Receipts

    def activate(self, receipt: Receipt) -> Receipt:
        """An id is used once: a receipt that has ended since stays so, and is returned as it is."""
        which = pack(receipt.user, receipt.session)
        row = (*pack_receipt(receipt), *which)

        def work(transaction: Transaction) -> Receipt:
            transaction.run(_USE_SESSION, (*which, *pack(receipt.agent), receipt.at, receipt.at))
            if transaction.run(_ADD_RECEIPT, row):
                return replace(receipt, ended_at=None)
            known = _first(transaction.rows(_RECEIPTS + _OF_ID, (*which, *pack(receipt.id))))
            if known is not None:
                return unpack_receipt(known)
            (found,) = transaction.rows(_RECEIPTS + _OPEN + " AND skill = ?", (*which, *pack(receipt.skill)))
            earlier = unpack_receipt(found)
            if earlier.digest == receipt.digest:
                return earlier
            transaction.run(_END + " AND skill = ?", (receipt.at, *which, *pack(receipt.skill)))
            transaction.run(_ADD_RECEIPT, row)
            return replace(receipt, ended_at=None)

        return self._database.write(work)

    def deactivate(self, *, user: str, session: str, skill: str, at: float) -> Receipt | None:
        which = pack(user, session)

        def work(transaction: Transaction) -> Receipt | None:
            transaction.run(_HOLD_SESSION, which)
            found = _first(transaction.rows(_RECEIPTS + _OPEN + " AND skill = ?", (*which, *pack(skill))))
            if found is None:
                return None
            transaction.run(_END + " AND skill = ?", (at, *which, *pack(skill)))
            return replace(unpack_receipt(found), ended_at=at)

        return self._database.write(work)

    def active(self, *, user: str, session: str) -> tuple[Receipt, ...]:
        rows = self._database.read(_RECEIPTS + _OPEN + " ORDER BY number", pack(user, session))
        return tuple(map(unpack_receipt, rows))

    def mark_context(self, *, user: str, session: str, in_context: frozenset[str]) -> None:
        which = pack(user, session)

        def work(transaction: Transaction) -> None:
            transaction.run(_HOLD_SESSION, which)
            for receipt in map(unpack_receipt, transaction.rows(_RECEIPTS + _OPEN + " ORDER BY number", which)):
                is_there = receipt.id in in_context
                if receipt.in_context != is_there:
                    transaction.run(_MARK, (int(is_there), *which, *pack(receipt.id)))

        self._database.write(work)

    def enter_context(self, *, user: str, session: str, receipt: str) -> None:
        which = pack(user, session)

        def work(transaction: Transaction) -> None:
            transaction.run(_HOLD_SESSION, which)
            transaction.run(_MARK + " AND ended_at IS NULL", (1, *which, *pack(receipt)))

        self._database.write(work)

    def receipts(self, *, user: str, session: str | None = None, limit: int = 1_000) -> tuple[Receipt, ...]:
        of_session = ("", ()) if session is None else (" AND session = ?", pack(session))
        statement = _RECEIPTS + of_session[0] + " ORDER BY started_at DESC, number DESC, session, id LIMIT ?"
        rows = self._database.read(statement, (*pack(user), *of_session[1], limit))
        return tuple(map(unpack_receipt, rows))

    def open_skills(self, *, user: str) -> frozenset[str]:
        statement = "SELECT DISTINCT skill FROM receipts WHERE owner = ? AND ended_at IS NULL"
        return frozenset(skill for (skill,) in map(unpack, self._database.read(statement, pack(user))))

    def held_digests(self) -> frozenset[str]:
        rows = self._database.read(_HELD)
        return frozenset(digest for (digest,) in map(unpack, rows))


def _first(values: Sequence[_T]) -> _T | None:
    return values[0] if values else None
