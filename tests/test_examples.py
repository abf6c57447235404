"""Every example of the README and of the docs works."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prowess.runtime import Runtime
from tests.skills_on_disk import Home, write_skill

_PROJECT = Path(__file__).parents[1]
_DOCS = _PROJECT / "docs"
_PAGES = [_PROJECT / "README.md", *sorted(_DOCS.glob("*.md")), *sorted((_DOCS / "profiles").glob("*.md"))]
_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def _blocks(page: Path, *languages: str) -> list[str]:
    found = re.finditer(r"(?ms)^```(\w+)\n(.*?)^```$", page.read_text("utf-8"))
    return [match[2] for match in found if match[1] in languages]


def _commands(page: Path) -> list[str]:
    """What is typed; without what needs a keeper of passwords."""
    lines = [line for text in _blocks(page, "console") for line in text.replace("\\\n", "").splitlines()]
    return [line.removeprefix("$ ") for line in lines if re.match(r"\$ (?!pass )", line)]


_PYTHON = [pytest.param(code, id=page.name) for page in _PAGES for code in _blocks(page, "python")]
_WITH_COMMANDS = [pytest.param(page, id=page.name) for page in _PAGES if _commands(page)]


def test_there_are_examples_to_run() -> None:
    assert _blocks(_PROJECT / "README.md", "python")
    assert _commands(_PROJECT / "README.md")


def _run(code: str, *, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, input=typed, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("code", _PYTHON)
def test_python_example_runs_again_and_again(home: Home, code: str) -> None:
    """No run finds a session of the one before: its messages are gone, and what they held would not be given again."""
    for _ in range(2):
        done = _run(code)
        assert (done.returncode, done.stderr) == (0, "")
        with Runtime.open() as runtime:
            assert runtime.sessions() == ()


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
@pytest.mark.parametrize("typed", ["yes", "no"])
def test_example_asks_about_a_skill_of_the_readers_own(home: Home, page: str, typed: str) -> None:
    write_skill(home.path / ".claude" / "skills", "repo-survey")
    code = next(code for code in _blocks(_PROJECT / page, "python") if "receive(" in code)
    told = """
    print(refused)
    print("repo-survey" in [receipt.name for receipt in session.active()])
"""
    done = _run(code + told, typed=f"{typed}\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith('Activate skill "repo-survey"? ')
    refused, active = done.stdout.splitlines()[-2:]
    assert active == str(typed == "yes")
    assert ("repo-survey is not active: " in refused) is (typed == "no")


@pytest.mark.slow
def test_example_of_inline_python_needs_its_settings_and_no_more(home: Home) -> None:
    page = _DOCS / "inline-python.md"
    (code,), (settings,) = _blocks(page, "py"), _blocks(page, "toml")
    assert "unknown tool" in _run(code).stdout.lower()
    home.write_settings(settings)
    done = _run(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "21\n", "")


@pytest.mark.slow
def test_tests_of_a_toolset_find_what_they_import(home: Home) -> None:
    toolset, tests = _blocks(_DOCS / "toolsets.md", "py")
    index = home.project / "toolsets" / "index.py"
    index.parent.mkdir()
    index.write_text(toolset, "utf-8")
    done = _run(tests)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.requirement("R112", "R114")
@pytest.mark.parametrize("page", _WITH_COMMANDS)
def test_commands_work_one_after_the_other(home: Home, page: Path) -> None:
    for command in _commands(page):
        done = subprocess.run(
            ["sh", "-c", command], env={**os.environ, "PATH": _PATH}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
