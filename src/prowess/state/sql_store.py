"""The state store, in SQL that SQLite and PostgreSQL understand alike.

Every write may be done twice without harm, since the first answer can be lost with a connection.
"""

from prowess.state.sql_conversations import SqlConversations
from prowess.state.sql_decisions import SqlDecisions
from prowess.state.sql_history import SqlHistory
from prowess.state.sql_live_turns import SqlLiveTurns
from prowess.state.sql_questions import SqlQuestions
from prowess.state.sql_sessions import SqlSessions
from prowess.state.sql_turns import SqlTurns

__all__ = ["SqlStore"]


class SqlStore(SqlDecisions, SqlSessions, SqlConversations, SqlTurns, SqlHistory, SqlLiveTurns, SqlQuestions):
    """A state store in a database."""

    def version(self) -> int:
        return self._database.announced()

    def changes(self) -> int:
        return self._database.changes()

    def close(self) -> None:
        self._database.close()
