"""What was done, in SQL: runs, how much each skill was used, and the end of remembering."""

from prowess.activation.receipts import DayUsage, RunReceipt, Usage
from prowess.state.database import Transaction
from prowess.state.packing import pack, unpack
from prowess.state.rows import pack_run, unpack_day_usage, unpack_run, unpack_usage
from prowess.state.sql_conversations import forget_idle_conversations
from prowess.state.sql_live_turns import forget_old_live_rows
from prowess.state.sql_tables import SqlTables

__all__ = ["SqlHistory"]

_RUNS = (
    "SELECT owner, session, id, skill, name, digest, script, arguments, asked_by, agent, consent, backend, powers,"
    " started_at, ended_at, exit_status, timed_out, seconds, stdout_bytes, stderr_bytes, output_files, output_bytes"
    " FROM runs WHERE owner = ?"
)
_RECORD_RUN = (
    "INSERT INTO runs (owner, session, id, skill, name, digest, script, arguments, asked_by, agent, consent, backend,"
    " powers, started_at, ended_at, exit_status, timed_out, seconds, stdout_bytes, stderr_bytes, output_files,"
    " output_bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (owner, session, id) DO UPDATE SET skill = excluded.skill, name = excluded.name,"
    " digest = excluded.digest, script = excluded.script, arguments = excluded.arguments,"
    " asked_by = excluded.asked_by, agent = excluded.agent, consent = excluded.consent, backend = excluded.backend,"
    " powers = excluded.powers, started_at = excluded.started_at, ended_at = excluded.ended_at,"
    " exit_status = excluded.exit_status, timed_out = excluded.timed_out, seconds = excluded.seconds,"
    " stdout_bytes = excluded.stdout_bytes, stderr_bytes = excluded.stderr_bytes,"
    " output_files = excluded.output_files, output_bytes = excluded.output_bytes"
    " WHERE runs.ended_at IS NULL OR excluded.ended_at IS NOT NULL"
)
_USAGE = (
    "SELECT r.skill, (SELECT n.name FROM receipts n WHERE n.owner = r.owner AND n.skill = r.skill"
    " ORDER BY n.started_at DESC, n.number DESC LIMIT 1),"
    " COUNT(*), COUNT(DISTINCT r.session), CAST(SUM(r.tokens) AS BIGINT), MAX(r.started_at), 0"
    " FROM receipts r WHERE r.owner = ? AND r.started_at >= ? GROUP BY r.owner, r.skill"
    " UNION ALL SELECT r.skill, (SELECT n.name FROM runs n WHERE n.owner = r.owner AND n.skill = r.skill"
    " ORDER BY n.started_at DESC, n.session, n.id LIMIT 1), 0, 0, 0, MAX(r.started_at), COUNT(*)"
    " FROM runs r WHERE r.owner = ? AND r.started_at >= ? GROUP BY r.owner, r.skill"
)
_USAGE_BY_DAY = (
    "SELECT near - CASE WHEN near > days THEN 1 ELSE 0 END AS day, skill, name, CAST(SUM(activations) AS BIGINT),"
    " CAST(SUM(runs) AS BIGINT) FROM (SELECT days, CAST(days AS BIGINT) AS near, skill, name, activations, runs FROM"
    " (SELECT started_at / 86400.0 AS days, skill, name, 1 AS activations, 0 AS runs FROM receipts"
    " WHERE owner = ? AND started_at >= ? UNION ALL SELECT started_at / 86400.0, skill, name, 0, 1 FROM runs"
    " WHERE owner = ? AND started_at >= ?) begun) used GROUP BY 1, skill, name ORDER BY 1, skill, MAX(days), name"
)
"""The cast goes to the nearest whole day in PostgreSQL, and towards zero in SQLite."""
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


class SqlHistory(SqlTables):
    """The part of a store that keeps runs, and counts and forgets them and receipts."""

    def record_run(self, run: RunReceipt) -> None:
        row = pack_run(run)
        self._database.write(lambda transaction: transaction.run(_RECORD_RUN, row))

    def runs(self, *, user: str, session: str | None = None, limit: int = 1_000) -> tuple[RunReceipt, ...]:
        statement, parameters = _RUNS, pack(user)
        if session is not None:
            statement += " AND session = ?"
            parameters += pack(session)
        rows = self._database.read(statement + " ORDER BY started_at DESC, session, id LIMIT ?", (*parameters, limit))
        return tuple(map(unpack_run, rows))

    def usage(self, *, user: str, since: float = 0.0) -> tuple[Usage, ...]:
        of_both = 2 * (*pack(user), since)
        return unpack_usage(self._database.read(_USAGE, of_both))

    def usage_by_day(self, *, user: str, since: float) -> tuple[DayUsage, ...]:
        of_both = 2 * (*pack(user), since)
        return unpack_day_usage(self._database.read(_USAGE_BY_DAY, of_both))

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
            transaction.run("DELETE FROM runs WHERE owner = ? AND started_at < ?", (*whose, before))
            transaction.run("DELETE FROM turns WHERE owner = ? AND started_at < ?", (*whose, before))
            forget_idle_conversations(transaction, whose, before=before)
            forget_old_live_rows(transaction, whose, before=before)
            forgotten = transaction.run(_FORGET_RECEIPTS, (*whose, before, before))
            if transaction.run(_FORGET_GRANTS, (*whose, before)):
                transaction.announce()
            return forgotten

        return self._database.write(work)
