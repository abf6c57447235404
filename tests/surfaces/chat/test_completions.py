"""What is offered while a line is typed."""

import pytest

from prowess.activation.mentions import Completion
from prowess.surfaces.cli.chat.completions import Candidate, complete_line

_SKILLS = ("skills-check", "scheduling", "help", "bad\x1bname")


def _complete(typed: str) -> tuple[Completion, ...]:
    part = typed.lstrip("/$")
    return tuple(Completion(name, f"About {name}.", "<when>") for name in _SKILLS if part in name)


def _offered(typed: str) -> list[str]:
    found = complete_line(typed, commands={"skills": "list them", "help": "say it"}, complete=_complete)
    return [one.text for one in found]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("/s", ["/skills", "/skills-check", "/scheduling"]),
        ("/skills", ["/skills", "/skills-check"]),
        ("/skills-", ["/skills-check"]),
        ("/help", ["/help"]),  # The skill of that name is called by its dollar.
        ("$help", ["$help"]),
        ("do it with $sch", ["$scheduling"]),
        ("do it with /sch", []),
        ("/scheduling /s", ["/skills-check", "/scheduling"]),
        ("$scheduling /sk", ["/skills-check"]),
        ("costs 5$sch", []),
        ("/why sch", ["scheduling"]),
        ("/off ", ["skills-check", "scheduling", "help"]),
        ("/why a b", []),
        ("plain words", []),
        ("", []),
        ("/bad", []),  # It could not be typed.
    ],
)
def test_line_is_completed_where_a_name_may_stand(typed: str, offered: list[str]) -> None:
    assert _offered(typed) == offered


def test_candidate_says_what_it_replaces_and_what_it_takes() -> None:
    found = complete_line("now $sch", commands={}, complete=_complete)
    assert found == (Candidate("$scheduling", 4, "<when> · About scheduling."),)
