"""What the parts of the SQL store stand on."""

from prowess.state.database import Database

__all__ = ["SqlTables"]


class SqlTables:
    """Tables in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database
