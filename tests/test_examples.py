"""Every example of the README and of the docs works."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.skills_on_disk import Home

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


@pytest.mark.slow
@pytest.mark.parametrize("code", _PYTHON)
def test_python_example_runs(home: Home, code: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
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
