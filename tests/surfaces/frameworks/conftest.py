"""A home whose only skills are the user's, nothing of a developer's set, and one framework after the other."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.runtime import Runtime
from tests.runtime.opening import ONLY_MINE
from tests.runtime.runs import Agreeable
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.frameworks.drivers import DRIVERS, Driver

_SET_BY_OTHERS = ("OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_", "LANGSMITH_", "LANGCHAIN_", "ADK_")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(_SET_BY_OTHERS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("GOOGLE_API_KEY", "none")
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


@pytest.fixture(params=DRIVERS, ids=lambda driver: driver.page)
def driver(request: pytest.FixtureRequest) -> Driver:
    """Each framework."""
    return request.param


@pytest.fixture
def root(home: Home) -> Path:
    """The user's skills, of which people are asked."""
    home.write_settings(ONLY_MINE)
    folder = home.path / ".agents" / "skills"
    folder.mkdir(parents=True)
    write_skill(folder, "painting", description="Paints walls. Use for walls.", body="Paint with red.\n")
    return folder


@pytest.fixture
def runtime(root: Path) -> Iterator[Runtime]:
    """A runtime over them, with a user who agrees to everything."""
    with Runtime.open(asker=Agreeable()) as opened:
        yield opened
