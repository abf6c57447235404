"""Names that every disk can hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.sources.portable_names import judge_name, judge_paths


@pytest.mark.parametrize("name", ["SKILL.md", "a b.md", "ß.md", ".hidden", "console.md", "x-1_2+3=4@5,6", "日本語"])
def test_plain_names_are_fine(name: str) -> None:
    assert judge_name(name) == ""


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "a\0",
        "a\n",
        "con",
        "CON.txt",
        "nul .md",
        "lpt9",
        "a.",
        " a",
        "a ",
        "a:b",
        "a\u202eb",
    ],
)
def test_names_that_mean_something_else_are_not(name: str) -> None:
    assert judge_name(name)


@given(st.lists(st.text(max_size=20), max_size=5))
def test_paths_that_pass_lead_nowhere_else(paths: list[str]) -> None:
    if judge_paths(paths) == "":
        assert len({path.casefold() for path in paths}) == len(set(paths))
        for path in paths:
            assert not path.startswith("/")
            assert ".." not in path.split("/")
            assert "\0" not in path
