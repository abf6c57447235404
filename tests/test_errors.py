"""The exceptions: one tree, each with a code, a message and a hint."""

import re

import pytest

from prowess import errors
from prowess.errors import (
    BrokenSkill,
    NotFound,
    ProwessError,
    Refused,
    SettingsError,
    ToolInputError,
    WorldError,
)
from prowess.skill.problems import make_problem

_BRANCHES = (Refused, NotFound, BrokenSkill, ToolInputError, SettingsError, WorldError)


def test_every_exception_is_a_branch_of_one_tree() -> None:
    assert set(errors.__all__) == {"ProwessError", *(branch.__name__ for branch in _BRANCHES)}
    assert all(branch.__bases__ == (ProwessError,) for branch in _BRANCHES)


def test_docstring_draws_the_whole_tree() -> None:
    assert set(re.findall(r"[├└]── (\w+)", errors.__doc__ or "")) == {branch.__name__ for branch in _BRANCHES}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ProwessError, "error"),
        (Refused, "refused"),
        (NotFound, "not-found"),
        (ToolInputError, "tool-input"),
        (SettingsError, "settings"),
        (WorldError, "world"),
    ],
)
def test_error_has_the_code_of_its_kind_unless_given_another(kind: type[ProwessError], code: str) -> None:
    error = kind("what and where", hint="what to do")
    assert (error.code, error.message, error.hint, str(error)) == (
        code,
        "what and where",
        "what to do",
        "what and where",
    )
    assert kind("m", code="other").code == "other"
    assert kind("m").hint == ""


def test_broken_skill_carries_its_problems() -> None:
    problem = make_problem("name-empty", "no name")
    error = BrokenSkill("m", problems=[problem], hint="h")
    assert (error.problems, error.code, error.hint) == ((problem,), "broken-skill", "h")
