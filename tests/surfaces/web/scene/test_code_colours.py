"""Colours of code: bounded, whatever the code is made of."""

import subprocess
import sys
from pathlib import Path

import pytest

from prowess.surfaces.web.scene.code_colours import MAX_CODE, colour_code, find_language

_ROOT = Path(__file__).resolve().parents[4]
_SECONDS = 300.0
"""For what takes about ten."""


@pytest.mark.slow
def test_code_that_is_made_to_be_slow_comes_to_an_end_in_every_language() -> None:
    command = [sys.executable, "-m", "tests.surfaces.web.scene.slow_code"]
    done = subprocess.run(command, cwd=_ROOT, timeout=_SECONDS, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["c", "h", "cpp", "hpp", "java", "make", "Makefile", "ini", "conf"])
def test_language_whose_lexer_is_slow_has_no_colours(name: str) -> None:
    assert find_language(name) == ""


def test_code_over_the_bound_is_shown_without_colours() -> None:
    code = "def f(): pass\n".ljust(MAX_CODE, "#")
    assert "c-keyword" in colour_code(code, "python")
    assert colour_code(code + "<", "python") == code + "&lt;"
