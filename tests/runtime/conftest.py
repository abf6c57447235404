"""A home whose only skills are the user's own, so that consent is asked for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.runtime import Runtime
from tests.greeting_server import port
from tests.postgres import Cluster, postgres
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home

__all__ = ["port", "postgres"]


@pytest.fixture
def root(home: Home) -> Path:
    """Where the user's skills are; the settings name no other place."""
    home.write_settings(ONLY_MINE)
    folder = home.path / ".agents" / "skills"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def runtime(root: Path) -> Iterator[Runtime]:
    """A runtime over the user's skills; nobody is there to be asked."""
    with Runtime.open() as opened:
        yield opened


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def shared_database(request: pytest.FixtureRequest, root: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A new database that all runtimes of this test use, in other processes too."""
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("postgres")
        monkeypatch.setenv("PROWESS_DATABASE", cluster.make_database())
    return request.param
