"""Every example of the README works."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.skills_on_disk import Home

_README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
_BLOCKS = [(found[1], found[2]) for found in re.finditer(r"(?ms)^```(\w+)\n(.*?)^```$", _README)]
_PYTHON = [text for language, text in _BLOCKS if language == "python"]
_COMMANDS = [
    line.removeprefix("$ ")
    for language, text in _BLOCKS
    if language in ("console", "sh", "shell")
    for line in text.replace("\\\n", "").splitlines()
    if line.startswith("$ prowess")
]
_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def test_readme_has_an_example_in_python() -> None:
    assert _PYTHON


@pytest.mark.parametrize("code", _PYTHON, ids=range(len(_PYTHON)))
def test_python_example_runs(home: Home, code: str) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_commands_work_one_after_the_other(home: Home) -> None:
    for command in _COMMANDS:
        done = subprocess.run(
            ["sh", "-c", command], env={**os.environ, "PATH": _PATH}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
