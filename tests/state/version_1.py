"""Databases as the first release left them, with rows. The text of its schema stands here as it was released."""

import sqlite3
from contextlib import closing

import psycopg

from prowess.catalog.switches import Switch, SwitchKey

__all__ = ["SWITCHES", "TRUSTED", "write_postgres_schema", "write_sqlite_file"]

SWITCHES = {("", SwitchKey("core:pdf")): Switch.OFF, ("x", SwitchKey("project:pdf", "/old\udcff")): Switch.NAME_ONLY}
TRUSTED = frozenset({"/old", "/old\udcff"})
_STATEMENTS = (
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
    "INSERT INTO switches VALUES ('', 'core:pdf', '', 'off'), ('x', 'project:pdf', 'bytes:2f6f6c64ff', 'name-only')",
    "INSERT INTO trusted_projects VALUES ('/old'), ('bytes:2f6f6c64ff')",
)


def write_sqlite_file(path: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in (*_STATEMENTS, "PRAGMA user_version = 1"):
            connection.execute(statement)


def write_postgres_schema(url: str) -> None:
    before = (
        "CREATE SCHEMA prowess",
        "SET search_path TO prowess",
        "CREATE TABLE schema_version (version BIGINT NOT NULL)",
        "INSERT INTO schema_version VALUES (1)",
    )
    with psycopg.connect(url) as connection:
        for statement in (*before, *_STATEMENTS):
            connection.execute(statement.encode())
