"""Places that a store can be in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.state.opening import open_store
from prowess.state.store import StateStore
from tests.postgres import Cluster, postgres

__all__ = ["postgres"]

_SHARED = ("sqlite", pytest.param("postgresql", marks=pytest.mark.slow))  # A server takes seconds to start and end.


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The address of a file that is not there yet."""
    return f"sqlite://{tmp_path}/home/state.db"


@pytest.fixture
def postgres_url(postgres: Cluster) -> str:
    """The address of an empty database on a real server."""
    return postgres.make_database()


@pytest.fixture(params=_SHARED)
def url(request: pytest.FixtureRequest) -> str:
    """The address of a new database that several processes can use."""
    wanted: str = request.param
    return request.getfixturevalue("sqlite_url" if wanted == "sqlite" else "postgres_url")


@pytest.fixture(params=[*_SHARED, "memory"])
def store(request: pytest.FixtureRequest) -> Iterator[StateStore]:
    """A new store, of each kind."""
    wanted: str = request.param
    names = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}
    database = wanted if wanted == "memory" else request.getfixturevalue(names[wanted])
    opened = open_store(database, state_file="")
    yield opened
    opened.close()


@pytest.fixture
def shared_store(url: str) -> Iterator[StateStore]:
    """A new store that others can open by its `url`."""
    opened = open_store(url, state_file="")
    yield opened
    opened.close()
