"""Prowess takes skills from Prowess, by pipes and by HTTP."""

import os
import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from prowess.activation.grants import Decision
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.skill.digest import digest_files
from prowess.sources.skill_files import read_skill_files
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import PROWESS

pytestmark = pytest.mark.slow

_EXTRA = 'license: MIT\nversion: 1.10\nwhen: 2026-01-01\nmetadata:\n  author: "Ünal"\n  stable: true\n  n: 0x10\n'


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Skills that another Prowess serves: a plain one, one with all sorts of files, and one in a folder."""
    root = tmp_path / "shared"
    write_skill(root, "git-flow", extra=_EXTRA)
    files: dict[str, str | bytes] = {"assets/logo.bin": b"\x00\xff", "references/ü b.md": "Grüße\r\n", "empty": ""}
    write_skill(root, "billing/refunds", files=files)
    return root


@contextmanager
def _serving_http(folder: Path, token: str) -> Generator[str]:
    with subprocess.Popen(
        [PROWESS, "--skills", str(folder), "mcp", "--http", "127.0.0.1:0"],
        env={**os.environ, "PROWESS_TOKEN": token},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stderr is not None
        try:
            found = None
            while found is None and (line := server.stderr.readline()):
                found = re.search(r"http://[^\s]+", line)
            assert found is not None
            yield found[0].rstrip(".,;")
        finally:
            server.terminate()
            server.wait(20)


def _check(home: Home, shared: Path, table: str) -> None:
    home.write_settings(f"{ONLY_MINE}[mcp.servers.peer]\ntimeout_seconds = 30\n{table}\n")
    with Runtime(load_settings()) as runtime:
        catalog = runtime.catalog()
        assert [problem for problem in catalog.problems if problem.code.startswith("mcp-")] == []
        assert sorted(skill.name for skill in catalog.skills) == ["git-flow", "refunds"]
        for name, place in (("git-flow", "git-flow"), ("refunds", "billing/refunds")):
            runtime.decide(name, Decision.ALLOW)
            skill = runtime.catalog().get(name)
            original = read_skill_files(str(shared / place))
            assert [(file.path, file.sha256) for file in runtime.files(skill).files] == [
                (file.path, file.sha256) for file in original.files
            ]
            assert runtime.digest(skill) == digest_files(original.files)
            assert "Do the thing." in runtime.session("chat").activate(name).text
        assert [problem for problem in runtime.rescan().problems if problem.code.startswith("mcp-")] == []


@pytest.mark.slow
@pytest.mark.requirement("J11")
def test_skills_come_over_pipes_as_they_are(home: Home, shared: Path) -> None:
    _check(home, shared, f'command = ["{PROWESS}", "--skills", "{shared}", "mcp"]')


@pytest.mark.slow
@pytest.mark.requirement("J11")
def test_skills_come_over_http_as_they_are(home: Home, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEER_TOKEN", "s3cretOfThePeer0123456789abcdef")
    with _serving_http(shared, "s3cretOfThePeer0123456789abcdef") as url:
        _check(home, shared, f'url = "{url}"\nheaders_from = {{ Authorization = "PEER_TOKEN" }}')


@pytest.mark.slow
@pytest.mark.requirement("J11")
def test_wrong_token_is_told_of(home: Home, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEER_TOKEN", "wrong")
    with _serving_http(shared, "s3cretOfThePeer0123456789abcdef") as url:
        home.write_settings(
            f'{ONLY_MINE}[mcp.servers.peer]\nurl = "{url}"\nheaders_from = {{ Authorization = "PEER_TOKEN" }}\n'
        )
        with Runtime(load_settings()) as runtime:
            codes = [problem.code for problem in runtime.catalog().problems]
    assert "mcp-unreachable" in codes
