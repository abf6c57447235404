"""Databases as a former release left them: its statements, and its number."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing

import psycopg

__all__ = ["write_old_database", "write_old_file"]


def write_old_database(url: str, statements: Sequence[str], *, version: int) -> None:
    """Make a database at an address that has none."""
    if url.startswith("sqlite"):
        path = url.removeprefix("sqlite://")
        os.makedirs(os.path.dirname(path))
        write_old_file(path, statements, version=version)
    else:
        _write_postgres_schema(url, statements, version=version)


def write_old_file(path: str, statements: Sequence[str], *, version: int) -> None:
    """Make a SQLite file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in (*statements, f"PRAGMA user_version = {version}"):
            connection.execute(statement)


def _write_postgres_schema(url: str, statements: Sequence[str], *, version: int) -> None:
    before = (
        "CREATE SCHEMA prowess",
        "SET search_path TO prowess",
        "CREATE TABLE schema_version (version BIGINT NOT NULL)",
        f"INSERT INTO schema_version VALUES ({version})",
    )
    with psycopg.connect(url) as connection:
        for statement in (*before, *statements):
            connection.execute(statement.replace(" TEXT ", ' TEXT COLLATE "C" ').encode())
