"""Skills that nobody is asked about, and runtimes that share a state."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.runtime import Runtime
from tests.agent.conftest import OPEN
from tests.skills_on_disk import Home, write_skill


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


@pytest.fixture
def other(root: Path) -> Iterator[Runtime]:
    """Another, on the same state: another process, but for its memory."""
    with Runtime.open() as opened:
        yield opened
