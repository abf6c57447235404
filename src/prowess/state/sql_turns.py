"""Receipts of turns, in SQL, and what they add up to."""

from prowess.state.conversation_rows import pack_turn, unpack_model_usage, unpack_turn
from prowess.state.conversations import ModelUsage, TurnReceipt
from prowess.state.database import Transaction
from prowess.state.packing import pack
from prowess.state.sql_tables import SqlTables

__all__ = ["SqlTurns", "record_turn"]

_TURNS = (
    "SELECT owner, session, id, model, agent, parent, skill, name, digest, permissions, granted_by, started_at,"
    " ended_at, outcome, steps, calls, requests, input_tokens, output_tokens, cached_tokens, cost_usd"
    " FROM turns WHERE owner = ?"
)
_RECORD_TURN = (
    "INSERT INTO turns (owner, session, id, model, agent, parent, skill, name, digest, permissions, granted_by,"
    " started_at, ended_at, outcome, steps, calls, requests, input_tokens, output_tokens, cached_tokens, cost_usd)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (owner, session, id) DO UPDATE SET model = excluded.model, agent = excluded.agent,"
    " parent = excluded.parent, skill = excluded.skill, name = excluded.name, digest = excluded.digest,"
    " permissions = excluded.permissions, granted_by = excluded.granted_by, started_at = excluded.started_at,"
    " ended_at = excluded.ended_at, outcome = excluded.outcome, steps = excluded.steps, calls = excluded.calls,"
    " requests = excluded.requests, input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens,"
    " cached_tokens = excluded.cached_tokens, cost_usd = excluded.cost_usd"
    " WHERE turns.ended_at IS NULL OR excluded.ended_at IS NOT NULL"
)
_MODEL_USAGE = (
    "SELECT model, CAST(SUM(CASE WHEN parent = '' THEN 1 ELSE 0 END) AS BIGINT),"
    " CAST(SUM(CASE WHEN parent = '' THEN 0 ELSE 1 END) AS BIGINT), CAST(SUM(requests) AS BIGINT),"
    " CAST(SUM(input_tokens) AS BIGINT), CAST(SUM(output_tokens) AS BIGINT), CAST(SUM(cached_tokens) AS BIGINT),"
    " SUM(cost_usd) FROM turns WHERE owner = ? AND started_at >= ? GROUP BY model"
    " ORDER BY SUM(input_tokens + output_tokens) DESC, model"
)


def record_turn(transaction: Transaction, turn: TurnReceipt) -> None:
    """Record a turn with what else the transaction does."""
    transaction.run(_RECORD_TURN, pack_turn(turn))


class SqlTurns(SqlTables):
    """The part of a store that keeps and counts the turns of conversations and forks."""

    def record_turn(self, turn: TurnReceipt) -> None:
        self._database.write(lambda transaction: record_turn(transaction, turn))

    def turns(
        self, *, user: str, session: str | None = None, parent: str | None = None, limit: int = 1_000
    ) -> tuple[TurnReceipt, ...]:
        statement, parameters = _TURNS, pack(user)
        for column, wanted in (("session", session), ("parent", parent)):
            if wanted is not None:
                statement += f" AND {column} = ?"
                parameters += pack(wanted)
        rows = self._database.read(statement + " ORDER BY started_at DESC, session, id LIMIT ?", (*parameters, limit))
        return tuple(map(unpack_turn, rows))

    def model_usage(self, *, user: str, since: float = 0.0) -> tuple[ModelUsage, ...]:
        return tuple(map(unpack_model_usage, self._database.read(_MODEL_USAGE, (*pack(user), since))))
