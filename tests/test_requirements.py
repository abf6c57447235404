"""The map from requirements to tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.requirements import SECTIONS, known_numbers, render_page

_ROOT = Path(__file__).parents[1]


def test_table_has_every_number_once() -> None:
    numbers = [number for section in SECTIONS.values() for number in section]
    wanted = [f"{letter}{n}" for letter, last in (("R", 129), ("J", 11), ("K", 12)) for n in range(1, last + 1)]
    assert numbers == wanted


@pytest.mark.slow
def test_every_number_in_a_mark_is_in_the_table(tmp_path: Path) -> None:
    file = tmp_path / "marks.json"
    command = (sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider")
    subprocess.run([*command, f"--requirements-json={file}", "tests"], cwd=_ROOT, capture_output=True, check=True)
    marks: dict[str, list[str]] = json.loads(file.read_text())
    assert marks.keys() - known_numbers() == set()
    assert all(marks.values())


def test_page_names_at_most_three_tests_and_counts_the_rest() -> None:
    tests = [f"tests/skill/test_x.py::test_{n}[{case}]" for n in range(5) for case in "ab"]
    page = render_page({"R1": tests})
    assert "`skill/test_x: 0`<br>`skill/test_x: 1`<br>`skill/test_x: 2`<br>and 2 more |" in page
    assert "| R2 | name and description are required | open |" in page
    assert "1 of 152 so far" in page
