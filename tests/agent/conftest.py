"""A home whose only skills are in one folder, which the settings trust."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.runtime import Runtime
from tests.greeting_server import port
from tests.postgres import postgres
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill

__all__ = ["port", "postgres"]

OPEN = f'{ONLY_MINE}[activation]\nconsent = "never"\n'


@pytest.fixture
def root(home: Home) -> Path:
    """The user's skills, which nobody is asked about."""
    home.write_settings(OPEN)
    folder = home.path / ".agents" / "skills"
    folder.mkdir(parents=True)
    write_skill(folder, "painting", description="Paints walls. Use for walls.", body="Paint with red.\n")
    return folder


@pytest.fixture
def runtime(root: Path) -> Iterator[Runtime]:
    """A runtime over the user's skills."""
    with Runtime.open() as opened:
        yield opened
