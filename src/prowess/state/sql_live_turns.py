"""Turns under way, in SQL: one row for each session that has one.

Whatever ends or forgets them goes to `live_turns` before `questions`, so that no two wait for each other.
"""

from prowess.state.database import Transaction
from prowess.state.live_rows import pack_live_turn, unpack_live_turn
from prowess.state.live_turns import WITHDRAWN, LiveTurn
from prowess.state.packing import pack
from prowess.state.sql_tables import SqlTables

__all__ = ["SqlLiveTurns", "forget_live_rows", "forget_old_live_rows"]

_TURNS = (
    "SELECT owner, session, turn, message, model, holder, beats, begun_at, beat_at, draft, wish"
    " FROM live_turns WHERE owner = ?"
)
_OF_SESSION = " AND session = ?"
_CLAIM = (
    "INSERT INTO live_turns (owner, session, turn, message, model, holder, beats, begun_at, beat_at, draft, wish)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_BEAT = (
    "UPDATE live_turns SET beats = beats + 1, beat_at = ?, draft = COALESCE(?, draft)"
    " WHERE owner = ? AND session = ? AND turn = ? AND holder = ?"
)
_TAKE = "UPDATE live_turns SET beats = beats + 1, holder = ? WHERE owner = ? AND session = ? AND turn = ? AND beats = ?"
_RELEASE = (
    "UPDATE live_turns SET beats = beats + 1, holder = '' WHERE owner = ? AND session = ? AND turn = ? AND holder = ?"
)
_WISH = "UPDATE live_turns SET wish = ? WHERE owner = ? AND session = ? AND turn = ?"
_END = "DELETE FROM live_turns WHERE owner = ? AND session = ? AND turn = ? AND holder = ?"
_WITHDRAW = (
    "UPDATE questions SET answer = ?, answered_at = ? WHERE owner = ? AND session = ? AND turn = ? AND answer = ''"
)
_FORGET_QUESTIONS = (
    "DELETE FROM questions WHERE owner = ? AND asked_at < ? AND (answer <> '' OR NOT EXISTS (SELECT 1 FROM live_turns t"
    " WHERE t.owner = questions.owner AND t.session = questions.session AND t.turn = questions.turn))"
)


class SqlLiveTurns(SqlTables):
    """The part of a store that keeps turns while they go on."""

    def claim_turn(self, turn: LiveTurn) -> bool:
        def work(transaction: Transaction) -> bool:
            if transaction.run(_CLAIM, pack_live_turn(turn)):
                transaction.wake()
                return True
            found = _find(transaction, pack(turn.user, turn.session))
            return found is not None and (found.turn, found.holder) == (turn.turn, turn.holder)

        return self._database.write(work)

    def live_turn(self, *, user: str, session: str) -> LiveTurn | None:
        rows = self._database.read(_TURNS + _OF_SESSION, pack(user, session))
        return unpack_live_turn(rows[0]) if rows else None

    def live_turns(self, *, user: str) -> tuple[LiveTurn, ...]:
        rows = self._database.read(_TURNS + " ORDER BY begun_at, session", pack(user))
        return tuple(map(unpack_live_turn, rows))

    def beat_turn(
        self, *, user: str, session: str, turn: str, holder: str, at: float, draft: str | None = None
    ) -> LiveTurn | None:
        def work(transaction: Transaction) -> LiveTurn | None:
            if not transaction.run(_BEAT, pack(at, draft, user, session, turn, holder)):
                return None
            if draft is not None:
                transaction.wake()
            return _find(transaction, pack(user, session))

        return self._database.write(work)

    def take_turn(self, *, user: str, session: str, turn: str, beats: int, holder: str) -> bool:
        def work(transaction: Transaction) -> bool:
            if transaction.run(_TAKE, pack(holder, user, session, turn, beats)):
                transaction.wake()
                return True
            found = _find(transaction, pack(user, session))
            return found is not None and (found.turn, found.holder, found.beats) == (turn, holder, beats + 1)

        return self._database.write(work)

    def release_turn(self, *, user: str, session: str, turn: str, holder: str) -> None:
        self._change(_RELEASE, pack(user, session, turn, holder))

    def end_turn(self, *, user: str, session: str, turn: str, holder: str, at: float) -> None:
        which = pack(user, session, turn)

        def work(transaction: Transaction) -> None:
            if transaction.run(_END, (*which, *pack(holder))):
                transaction.run(_WITHDRAW, (WITHDRAWN, at, *which))
                transaction.wake()

        self._database.write(work)

    def wish_turn(self, *, user: str, session: str, turn: str, wish: str) -> bool:
        return self._change(_WISH, pack(wish, user, session, turn)) > 0

    def _change(self, statement: str, parameters: tuple[object, ...]) -> int:
        """Carry out one statement, and wake others if it has changed something; return how many rows."""

        def work(transaction: Transaction) -> int:
            changed = transaction.run(statement, parameters)
            if changed:
                transaction.wake()
            return changed

        return self._database.write(work)


def forget_live_rows(transaction: Transaction, which: tuple[object, ...]) -> None:
    """Forget the turn that goes on in a session of a user, and all its questions."""
    transaction.run("DELETE FROM live_turns WHERE owner = ? AND session = ?", which)
    transaction.run("DELETE FROM questions WHERE owner = ? AND session = ?", which)


def forget_old_live_rows(transaction: Transaction, whose: tuple[object, ...], *, before: float) -> None:
    """Forget turns of a user that began before and never ended, and questions of before that nobody waits with."""
    transaction.run("DELETE FROM live_turns WHERE owner = ? AND begun_at < ?", (*whose, before))
    transaction.run(_FORGET_QUESTIONS, (*whose, before))


def _find(transaction: Transaction, which: tuple[object, ...]) -> LiveTurn | None:
    rows = transaction.rows(_TURNS + _OF_SESSION, which)
    return unpack_live_turn(rows[0]) if rows else None
