"""The schema, as numbered steps forward. A step that was released is never changed."""

__all__ = ["MIGRATIONS"]

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE switches (
            agent TEXT NOT NULL,
            skill TEXT NOT NULL,
            root TEXT NOT NULL,
            position TEXT NOT NULL,
            PRIMARY KEY (agent, skill, root)
        )""",
        """CREATE TABLE trusted_projects (
            path TEXT NOT NULL PRIMARY KEY
        )""",
    ),
)
