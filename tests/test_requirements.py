"""The map from requirements to tests."""

import pytest

from tests.conftest import refuse_unknown_numbers
from tools.requirements import REASONS, SECTIONS, find_faults, known_numbers, render_page


def test_table_has_every_number_once() -> None:
    numbers = [number for section in SECTIONS.values() for number in section]
    wanted = [f"{letter}{n}" for letter, last in (("R", 129), ("J", 11), ("K", 12)) for n in range(1, last + 1)]
    assert numbers == wanted


def test_mark_with_a_number_that_is_not_in_the_table_ends_the_collection(request: pytest.FixtureRequest) -> None:
    marked = request.node
    refuse_unknown_numbers([marked])
    marked.add_marker(pytest.mark.requirement("R1", "R4711"))
    with pytest.raises(pytest.UsageError, match="R4711"):
        refuse_unknown_numbers([marked])


def test_page_names_at_most_three_tests_and_counts_the_rest() -> None:
    tests = [f"tests/skill/test_x.py::test_{n}[{case}]" for n in range(5) for case in "ab"]
    page = render_page({"R1": tests})
    assert "`skill/test_x: 0`<br>`skill/test_x: 1`<br>`skill/test_x: 2`<br>and 2 more |" in page
    assert "| R2 | name and description are required | open |" in page
    assert "1 of 152." in page
    assert "| R115 | what is kept out: marketplace, downloads, editing | no test: it says what is not built" in page


def test_number_is_proven_or_its_reason_is_given() -> None:
    proven = {number: ["tests/test_x.py::test_y"] for number in known_numbers() - REASONS.keys()}
    assert find_faults(proven) == []
    assert find_faults({number: tests for number, tests in proven.items() if number != "K12"}) == [
        "K12 is open: mark a test with it, or say why in REASONS"
    ]
    assert find_faults(proven | {"R115": ["tests/test_x.py::test_y"]}) == [
        "R115 is proven by a test: take it out of REASONS"
    ]
