"""The state store, in SQL that SQLite and PostgreSQL understand alike.

Every write may be done twice without harm, since the first answer can be lost with a connection. Whatever changes one
session touches its row in `sessions` first, so that PostgreSQL puts such writers in line; SQLite does so with all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from prowess.activation.grants import Decision, Grant
from prowess.activation.receipts import Receipt, SessionRecord, Usage
from prowess.catalog.switches import Switch, SwitchKey
from prowess.state.database import Database, Transaction
from prowess.state.packing import pack, unpack
from prowess.state.rows import (
    pack_grant,
    pack_receipt,
    unpack_grant,
    unpack_receipt,
    unpack_sessions,
    unpack_switch,
)

__all__ = ["SqlStore"]

_SET_SWITCH = (
    "INSERT INTO switches (agent, skill, root, position) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (agent, skill, root) DO UPDATE SET position = excluded.position"
    " WHERE switches.position <> excluded.position"
)
_TRUSTED = "SELECT path FROM trust WHERE owner IN (?, '')"
_GRANTS = (
    "SELECT owner, digest, session, skill, root, name, decision, given_by, given_at, files FROM grants WHERE owner = ?"
)
_SET_GRANT = (
    "INSERT INTO grants (owner, digest, session, skill, root, name, decision, given_by, given_at, files)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (owner, digest, session) DO UPDATE SET skill = excluded.skill, root = excluded.root,"
    " name = excluded.name, decision = excluded.decision, given_by = excluded.given_by,"
    " given_at = excluded.given_at, files = excluded.files"
)
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
_END_REFUSED = "UPDATE receipts SET ended_at = ? WHERE owner = ? AND digest = ? AND ended_at IS NULL"
_MARK = "UPDATE receipts SET in_context = ? WHERE owner = ? AND session = ? AND id = ?"
_USAGE = (
    "SELECT r.skill, (SELECT n.name FROM receipts n WHERE n.owner = r.owner AND n.skill = r.skill"
    " ORDER BY n.started_at DESC, n.number DESC LIMIT 1),"
    " COUNT(*), COUNT(DISTINCT r.session), CAST(SUM(r.tokens) AS BIGINT), MAX(r.started_at)"
    " FROM receipts r WHERE r.owner = ? AND r.started_at >= ? GROUP BY r.owner, r.skill"
)
_RECENT = (
    "SELECT skill FROM receipts WHERE owner = ? AND started_at >= ? GROUP BY skill"
    " ORDER BY MAX(started_at) DESC, skill LIMIT ?"
)
_FORGET_SESSIONS = "DELETE FROM sessions WHERE owner = ? AND used_at < ?"
_FORGET_GRANTS = (
    "DELETE FROM grants WHERE owner = ? AND session <> '' AND given_at < ? AND NOT EXISTS"
    " (SELECT 1 FROM sessions s WHERE s.owner = grants.owner AND s.id = grants.session)"
)
_FORGET_RECEIPTS = (
    "DELETE FROM receipts WHERE owner = ? AND (ended_at < ? OR (ended_at IS NULL AND started_at < ? AND NOT EXISTS"
    " (SELECT 1 FROM sessions s WHERE s.owner = receipts.owner AND s.id = receipts.session)))"
)
_T = TypeVar("_T")


class SqlStore:
    """A state store in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # What people decide

    def switches(self) -> Mapping[tuple[str, SwitchKey], Switch]:
        rows = self._database.read("SELECT agent, skill, root, position FROM switches")
        return dict(map(unpack_switch, rows))

    def set_switch(self, agent: str, key: SwitchKey, position: Switch) -> None:
        self._decide(_SET_SWITCH, (*pack(agent, key.skill, key.root), position.value))

    def trusted_projects(self, *, user: str) -> frozenset[str]:
        return frozenset(path for (path,) in map(unpack, self._database.read(_TRUSTED, pack(user))))

    def trust(self, project: str, *, user: str) -> bool:
        """What is trusted for everybody is trusted for the user too, who keeps it when another withdraws it."""
        which = pack(user, project)

        def work(transaction: Transaction) -> bool:
            known = transaction.rows(_TRUSTED + " AND path = ?", which)
            changed = transaction.run("INSERT INTO trust (owner, path) VALUES (?, ?) ON CONFLICT DO NOTHING", which)
            if changed:
                transaction.announce()
            return changed > 0 and not known

        return self._database.write(work)

    def untrust(self, project: str, *, user: str) -> bool:
        return self._decide("DELETE FROM trust WHERE owner IN (?, '') AND path = ?", pack(user, project)) > 0

    # Grants

    def find_grant(self, *, user: str, digest: str, session: str = "") -> Grant | None:
        found = self._grants(" AND digest = ? AND session IN (?, '')", pack(user, digest, session))
        by_session = {grant.session: grant for grant in found}
        own, general = by_session.get(session), by_session.get("")
        if own is None or general is None:
            return own or general
        return general if general.decision is Decision.REFUSE and general.at >= own.at else own

    def find_former_grant(self, *, user: str, skill: SwitchKey, digest: str) -> Grant | None:
        newest = " AND skill = ? AND root = ? AND digest <> ? AND decision = ? ORDER BY given_at DESC, digest LIMIT 1"
        return _first(self._grants(newest, pack(user, skill.skill, skill.root, digest, Decision.ALLOW.value)))

    def grants(self, *, user: str) -> tuple[Grant, ...]:
        return self._grants(" ORDER BY given_at DESC, digest, session", pack(user))

    def set_grant(self, grant: Grant) -> None:
        def work(transaction: Transaction) -> None:
            transaction.run(_SET_GRANT, pack_grant(grant))
            if grant.decision is Decision.REFUSE:
                of_session = ("", ()) if not grant.session else (" AND session = ?", pack(grant.session))
                transaction.run(
                    _END_REFUSED + of_session[0], (grant.at, *pack(grant.user, grant.digest), *of_session[1])
                )
            transaction.announce()

        self._database.write(work)

    def revoke_grants(
        self, *, user: str, skill: SwitchKey | None = None, digest: str | None = None, session: str | None = None
    ) -> int:
        statement, parameters = "DELETE FROM grants WHERE owner = ?", pack(user)
        about: list[str] = []
        if skill is not None:
            about.append("(skill = ? AND root = ?)")
            parameters += pack(skill.skill, skill.root)
        if digest is not None:
            about.append("digest = ?")
            parameters += pack(digest)
        if about:
            statement += f" AND ({' OR '.join(about)})"
        if session is not None:
            statement += " AND session = ?"
            parameters += pack(session)
        return self._decide(statement, parameters)

    # Sessions and receipts

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

    def prompt_basis(self, *, user: str, session: str) -> str:
        rows = self._database.read("SELECT prompt_basis FROM sessions WHERE owner = ? AND id = ?", pack(user, session))
        return str(unpack(rows[0])[0]) if rows else ""

    def keep_prompt_basis(self, record: SessionRecord, basis: str) -> None:
        which = pack(record.user, record.id)

        def work(transaction: Transaction) -> None:
            transaction.run(_USE_SESSION, (*which, *pack(record.agent), record.created_at, record.used_at))
            transaction.run("UPDATE sessions SET prompt_basis = ? WHERE owner = ? AND id = ?", (*pack(basis), *which))

        self._database.write(work)

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

    def usage(self, *, user: str, since: float = 0.0) -> tuple[Usage, ...]:
        rows = self._database.read(_USAGE, (*pack(user), since))
        found = [Usage(*unpack(row)) for row in rows]
        return tuple(sorted(found, key=lambda usage: (-usage.activations, -usage.last_used_at, usage.skill)))

    def count_sessions(self, *, user: str, since: float = 0.0) -> int:
        statement = "SELECT COUNT(DISTINCT session) FROM receipts WHERE owner = ? AND started_at >= ?"
        rows = self._database.read(statement, (*pack(user), since))
        return int(rows[0][0]) if rows else 0

    def recent_skills(self, *, user: str, since: float, limit: int) -> tuple[str, ...]:
        rows = self._database.read(_RECENT, (*pack(user), since, limit))
        return tuple(skill for (skill,) in map(unpack, rows))

    def forget_receipts(self, *, user: str, before: float) -> int:
        """A session not used since goes with its grants, and with what is still switched on in it."""
        whose = pack(user)

        def work(transaction: Transaction) -> int:
            transaction.run(_FORGET_SESSIONS, (*whose, before))
            forgotten = transaction.run(_FORGET_RECEIPTS, (*whose, before, before))
            if transaction.run(_FORGET_GRANTS, (*whose, before)):
                transaction.announce()
            return forgotten

        return self._database.write(work)

    def open_skills(self, *, user: str) -> frozenset[str]:
        statement = "SELECT DISTINCT skill FROM receipts WHERE owner = ? AND ended_at IS NULL"
        return frozenset(skill for (skill,) in map(unpack, self._database.read(statement, pack(user))))

    def held_digests(self) -> frozenset[str]:
        rows = self._database.read("SELECT DISTINCT digest FROM receipts WHERE ended_at IS NULL")
        return frozenset(digest for (digest,) in map(unpack, rows))

    # The store itself

    def version(self) -> int:
        return self._database.announced()

    def close(self) -> None:
        self._database.close()

    def _grants(self, condition: str, parameters: tuple[object, ...]) -> tuple[Grant, ...]:
        return tuple(map(unpack_grant, self._database.read(_GRANTS + condition, parameters)))

    def _decide(self, statement: str, parameters: tuple[object, ...]) -> int:
        """Carry out one statement, and announce it if it has changed something; return how many rows."""

        def work(transaction: Transaction) -> int:
            changed = transaction.run(statement, parameters)
            if changed:
                transaction.announce()
            return changed

        return self._database.write(work)


def _first(values: Sequence[_T]) -> _T | None:
    return values[0] if values else None
