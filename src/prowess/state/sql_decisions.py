"""What people decide, in SQL: switches, trust and grants."""

from collections.abc import Mapping

from prowess.activation.grants import Act, Decision, Grant, join_powers
from prowess.catalog.switches import Switch, SwitchKey
from prowess.state.database import Transaction
from prowess.state.packing import pack, unpack
from prowess.state.rows import pack_grant, unpack_grant, unpack_switch
from prowess.state.sql_tables import SqlTables

__all__ = ["SqlDecisions"]

_SET_SWITCH = (
    "INSERT INTO switches (agent, skill, root, position) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (agent, skill, root) DO UPDATE SET position = excluded.position"
    " WHERE switches.position <> excluded.position"
)
_TRUSTED = "SELECT path FROM trust WHERE owner IN (?, '')"
_GRANTS = (
    "SELECT owner, digest, session, act, skill, root, name, decision, given_by, given_at, files, powers"
    " FROM grants WHERE owner = ?"
)
_ADD_GRANT = (
    "INSERT INTO grants (owner, digest, session, act, skill, root, name, decision, given_by, given_at, files, powers)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, digest, session, act) DO UPDATE SET"
)
_SET_GRANT = (
    f"{_ADD_GRANT} skill = excluded.skill, root = excluded.root, name = excluded.name, decision = excluded.decision,"
    " given_by = excluded.given_by, given_at = excluded.given_at, files = excluded.files, powers = excluded.powers"
)
_HOLD_GRANT = f"{_ADD_GRANT} act = excluded.act"
"""Adds a grant, or keeps other writers from the one that is there."""
_OF_KEY = " AND digest = ? AND session = ? AND act = ?"
_FORMER = (
    " AND skill = ? AND root = ? AND digest <> ? AND act = ? AND decision = ?"
    " ORDER BY given_at DESC, digest, session LIMIT 1"
)
_END_REFUSED = "UPDATE receipts SET ended_at = ? WHERE owner = ? AND digest = ? AND ended_at IS NULL"


class SqlDecisions(SqlTables):
    """The part of a store that keeps decisions. Each is announced in its own transaction."""

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

    def find_grant(self, *, user: str, digest: str, session: str = "", act: Act = Act.USE) -> Grant | None:
        which = " AND digest = ? AND session IN (?, '') AND act = ?"
        by_session = {grant.session: grant for grant in self._grants(which, pack(user, digest, session, act.value))}
        own, general = by_session.get(session), by_session.get("")
        if own is None or general is None:
            return own or general
        if general.decision is Decision.REFUSE and general.at >= own.at:
            return general
        return join_powers(own, general)

    def find_former_grant(self, *, user: str, skill: SwitchKey, digest: str, act: Act = Act.USE) -> Grant | None:
        about = pack(user, skill.skill, skill.root, digest, act.value, Decision.ALLOW.value)
        found = self._grants(_FORMER, about)
        return found[0] if found else None

    def grants(self, *, user: str) -> tuple[Grant, ...]:
        return self._grants(" ORDER BY given_at DESC, digest, session, act", pack(user))

    def set_grant(self, grant: Grant) -> None:
        def work(transaction: Transaction) -> None:
            transaction.run(_SET_GRANT, pack_grant(_join_earlier(transaction, grant)))
            if (grant.act, grant.decision) == (Act.USE, Decision.REFUSE):
                of_session = ("", ()) if not grant.session else (" AND session = ?", pack(grant.session))
                transaction.run(
                    _END_REFUSED + of_session[0], (grant.at, *pack(grant.user, grant.digest), *of_session[1])
                )
            transaction.announce()

        self._database.write(work)

    def revoke_grants(self, *, user: str, skill: SwitchKey | None = None, digest: str | None = None) -> int:
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
        return self._decide(statement, parameters)

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


def _join_earlier(transaction: Transaction, grant: Grant) -> Grant:
    """Return a grant with the powers of the one that it is about to replace, which no other writer can change now."""
    if grant.act is not Act.RUN:
        return grant
    transaction.run(_HOLD_GRANT, pack_grant(grant))
    key = pack(grant.user, grant.digest, grant.session, grant.act.value)
    (held,) = transaction.rows(_GRANTS + _OF_KEY, key)
    return join_powers(grant, unpack_grant(held))
