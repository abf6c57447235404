"""Skills as large as one may be, from servers that take their time: fetched whole, and no slower than need be."""

import time
from pathlib import Path

import pytest

from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.sources.skill_files import FileSet
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home
from tests.sources.mcp.scripts import Acted, skill_md

pytestmark = [pytest.mark.slow, pytest.mark.requirement("J11")]

_MOST_FILES, _MOST_BYTES = 512, 16 << 20


def _fetch(home: Home, acted: Acted, *, timeout_seconds: int) -> FileSet:
    command = ", ".join(f'"{part}"' for part in acted.command)
    table = f"[mcp.servers.acme]\ncommand = [{command}]\ntimeout_seconds = {timeout_seconds}\n"
    home.write_settings(f"{ONLY_MINE}{table}")
    with Runtime(load_settings()) as runtime:
        return runtime.files(runtime.catalog().get("refunds"))


def _add(acted: Acted, *, files: int) -> None:
    parts = {f"parts/{number:03}.md": f"Part {number}.\n" for number in range(files - 1)}
    acted.add("skill://refunds", parts)


def test_skill_of_many_files_is_fetched_from_a_server_that_is_far_away(home: Home, tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme")
    _add(acted, files=_MOST_FILES)
    acted.change(pause=0.08, threads=True)
    began = time.monotonic()
    found = _fetch(home, acted, timeout_seconds=10)
    assert (len(found.files), found.problems) == (_MOST_FILES, ())
    assert time.monotonic() - began < _MOST_FILES * 0.08 / 2  # One after the other would take twice that at least.


def test_skill_has_the_time_that_its_files_need_one_after_the_other(home: Home, tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme")
    _add(acted, files=60)
    acted.change(pause=0.08)
    found = _fetch(home, acted, timeout_seconds=1)
    assert (len(found.files), found.problems) == (60, ())


def test_changed_skill_has_the_time_that_it_needs_when_it_is_fetched_again(home: Home, tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme")
    _add(acted, files=2)
    _fetch(home, acted, timeout_seconds=3)
    _add(acted, files=60)
    acted.change(pause=0.08)
    with Runtime(load_settings()) as runtime:
        assert runtime.hosting is not None
        runtime.hosting.refresh()
        (server,) = runtime.hosting.servers
        assert runtime.hosting.record(server).failure is None
        assert len(runtime.files(runtime.catalog().get("refunds")).files) == 60


def test_one_answer_that_never_comes_is_noticed_in_time(tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme", timeout_seconds=1)
    _add(acted, files=4)
    assert acted.refresh() is None
    acted.change(pause=5.0, pause_at="parts/001", threads=True)
    began = time.monotonic()
    problem = acted.fetch("refunds")
    assert problem is not None
    assert problem.code == "mcp-unreachable"
    assert "no answer to the file skill://refunds/parts/001.md within 1 seconds" in problem.message
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("text", ["\n", "\x01"], ids=["lines", "controls"])
def test_text_that_takes_much_more_on_the_way_is_fetched(home: Home, tmp_path: Path, text: str) -> None:
    acted = Acted(tmp_path / "acme")
    head = skill_md("refunds")
    acted.add("skill://refunds", {"SKILL.md": head, "large.txt": text * (_MOST_BYTES - len(head))})
    found = _fetch(home, acted, timeout_seconds=30)
    assert (len(found.files), found.problems) == (2, ())
