"""Questions of consent that wait for an answer, in SQL."""

from prowess.state.database import Transaction
from prowess.state.live_rows import pack_question, unpack_question
from prowess.state.live_turns import OpenQuestion
from prowess.state.packing import pack
from prowess.state.sql_tables import SqlTables

__all__ = ["SqlQuestions"]

_QUESTIONS = (
    "SELECT owner, session, id, turn, record, asked_at, answer, answered_by, answered_at FROM questions WHERE owner = ?"
)
_OF_ID = " AND session = ? AND id = ?"
_ASK = (
    "INSERT INTO questions (owner, session, id, turn, record, asked_at, answer, answered_by, answered_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_ANSWER = (
    "UPDATE questions SET answer = ?, answered_by = ?, answered_at = ?"
    " WHERE owner = ? AND session = ? AND id = ? AND answer = ''"
)


class SqlQuestions(SqlTables):
    """The part of a store that keeps questions."""

    def ask_question(self, question: OpenQuestion) -> None:
        def work(transaction: Transaction) -> None:
            if transaction.run(_ASK, pack_question(question)):
                transaction.wake()

        self._database.write(work)

    def find_question(self, *, user: str, session: str, question: str) -> OpenQuestion | None:
        rows = self._database.read(_QUESTIONS + _OF_ID, pack(user, session, question))
        return unpack_question(rows[0]) if rows else None

    def open_questions(self, *, user: str, session: str | None = None) -> tuple[OpenQuestion, ...]:
        of_session = ("", ()) if session is None else (" AND session = ?", pack(session))
        statement = f"{_QUESTIONS} AND answer = ''{of_session[0]} ORDER BY asked_at, session, id"
        rows = self._database.read(statement, (*pack(user), *of_session[1]))
        return tuple(map(unpack_question, rows))

    def answer_question(
        self, *, user: str, session: str, question: str, answer: str, answered_by: str, at: float
    ) -> OpenQuestion | None:
        which = pack(user, session, question)

        def work(transaction: Transaction) -> OpenQuestion | None:
            if transaction.run(_ANSWER, (*pack(answer, answered_by, at), *which)):
                transaction.wake()
            rows = transaction.rows(_QUESTIONS + _OF_ID, which)
            return unpack_question(rows[0]) if rows else None

        return self._database.write(work)
