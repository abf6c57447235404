"""The vocabulary of Problems: complete, in use, and spelled in one way."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import prowess.skill.problems
from prowess.skill.problems import KINDS, Kind, Problem, Severity, make_problem

_SOURCE = Path(prowess.skill.problems.__file__).parents[1]
_MAKERS = frozenset(
    ("make_problem", "add", "add_at", "unfit", "_broken", "_complain", "_fail", "_report", "TalkFailed")
)
"""What is given a code first, and makes a Problem of it."""
_KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def _texts() -> Iterator[tuple[str, str]]:
    """Yield every text in the source that is spelled like a code, with the maker of Problems that it is given to."""
    for path in sorted(_SOURCE.rglob("*.py")):
        if path.name == "problems.py" or "bundled" in path.parts:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
        makers = {id(call.args[0]): name for call in calls if (name := _name_of(call)) in _MAKERS}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _KEBAB.fullmatch(node.value):
                yield node.value, makers.get(id(node), "")


def _name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


@pytest.mark.parametrize("code", KINDS)
def test_code_is_kebab_case(code: str) -> None:
    assert _KEBAB.fullmatch(code)


@pytest.mark.parametrize(("code", "kind"), KINDS.items())
def test_kind_says_what_why_and_what_to_do(code: str, kind: Kind) -> None:
    assert kind.what.endswith(".")
    assert kind.why.endswith(".")
    assert kind.remedy
    assert not kind.remedy.endswith(".")


@pytest.mark.parametrize(("code", "kind"), KINDS.items())
def test_strict_reading_never_forgives_more(code: str, kind: Kind) -> None:
    order = [Severity.INFO, Severity.WARNING, Severity.ERROR]
    assert order.index(kind.strict) >= order.index(kind.lenient)


@pytest.mark.slow
def test_every_code_that_the_source_gives_a_problem_is_a_kind() -> None:
    given = {(maker, text) for text, maker in _texts() if maker and "-" in text}
    assert {maker for maker, _ in given} == _MAKERS
    assert {text for _, text in given} - KINDS.keys() == set()


@pytest.mark.slow
def test_every_kind_is_used_somewhere_in_the_source() -> None:
    assert KINDS.keys() - {text for text, _ in _texts()} == set()


def test_problem_takes_severity_and_remedy_from_its_kind() -> None:
    assert make_problem("name-invalid", "m") == Problem(
        "name-invalid", Severity.WARNING, "m", remedy=KINDS["name-invalid"].remedy
    )
    assert make_problem("name-invalid", "m", strict=True).severity is Severity.ERROR


def test_problem_may_be_given_another_severity_remedy_and_place() -> None:
    made = make_problem(
        "name-invalid", "m", strict=True, severity=Severity.INFO, line=2, column=3, remedy="r", path="p"
    )
    assert made == Problem("name-invalid", Severity.INFO, "m", 2, 3, "r", "p")


def test_problem_with_an_unknown_code_cannot_be_made() -> None:
    with pytest.raises(KeyError):
        make_problem("no-such-code", "m")
