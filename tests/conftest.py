"""Fixtures for all tests, and the map from requirements to the tests that prove them."""

import json
import os
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import settings

from tests.skills_on_disk import Home
from tools.requirements import known_numbers

settings.register_profile("prowess", deadline=None)  # A busy machine must not make a law fail.
settings.load_profile("prowess")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty home and an empty repository as the working folder, for this process and for those it starts."""
    place = Home(tmp_path / "home", tmp_path / "home" / ".prowess", tmp_path / "project")
    place.path.mkdir()
    (place.project / ".git").mkdir(parents=True)
    for name in [name for name in os.environ if name.startswith(("PROWESS_", "_PROWESS", "PYTHON"))]:
        monkeypatch.delenv(name)  # What a developer has set must not change what a child process does.
    monkeypatch.setenv("HOME", str(place.path))
    monkeypatch.setenv("PROWESS_HOME", str(place.prowess))
    monkeypatch.chdir(place.project)
    return place


def pytest_configure() -> None:
    """Let children hear Ctrl-C, which a shell keeps from what it starts in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--requirements-json", metavar="FILE", help="write which tests are marked with which requirement")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    refuse_unknown_numbers(items)


def refuse_unknown_numbers(items: Iterable[pytest.Item]) -> None:
    """A mark whose number is not in the table proves nothing."""
    known = known_numbers()
    for item in items:
        unknown = {number for mark in item.iter_markers("requirement") for number in mark.args} - known
        if unknown:
            raise pytest.UsageError(f"{item.nodeid}: no requirement {', '.join(sorted(unknown))}")


def pytest_collection_finish(session: pytest.Session) -> None:
    file: str | None = session.config.getoption("--requirements-json")
    worker = getattr(session.config, "workerinput", {"workerid": "gw0"})
    if file and worker["workerid"] == "gw0":  # All workers of xdist collect the same.
        Path(file).write_text(json.dumps(_tests_by_requirement(session.items), indent=2) + "\n", "utf-8")


def _tests_by_requirement(items: Iterable[pytest.Item]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in items:
        numbers = {number for mark in item.iter_markers("requirement") for number in mark.args}
        for number in numbers:
            found.setdefault(number, []).append(item.nodeid)
    return {number: sorted(found[number]) for number in sorted(found)}
