"""A question of consent as lines: all that somebody agrees to is in them, or the cut is."""

from dataclasses import replace

import pytest

from prowess.activation.consent import Question
from prowess.activation.grants import Act
from prowess.surfaces.consent_text import render_question

pytestmark = pytest.mark.requirement("K1")

_QUESTION = Question("q", "chat", "activate_skill", "user:pdf", "pdf", "Fills forms.", "user", "0123456789abcdef")
_YES = (
    "  a yes gives its instructions to the model, which may then read its files; to run its scripts is another question"
)


def _about(question: Question) -> list[str]:
    """Return the lines between where the skill comes from and its files."""
    lines = [line.text for line in render_question(question)]
    return lines[3 : lines.index("  its files:")]


def test_activation_shows_what_it_is_called_with() -> None:
    assert _about(replace(_QUESTION, arguments=("a  b",))) == ["  called with: a  b", _YES]


def test_activation_says_what_a_yes_means() -> None:
    assert _about(_QUESTION) == [_YES]
    (said,) = _about(replace(_QUESTION, spares_runs=True))
    assert "; its scripts may run in a sandbox without another question" in said


def test_fork_shows_its_prompt() -> None:
    forked = replace(_QUESTION, arguments=("Delete all.",), forks=True)
    assert _about(forked) == ["  a subagent works it, with this prompt: Delete all.", _YES]


def test_run_shows_arguments_and_input() -> None:
    run = replace(_QUESTION, act=Act.RUN, script="a.py", arguments=("x", "a  b"), input='{"to": "Bob"}')
    assert _about(run) == [
        "  arguments: x 'a  b'",
        '  input: {"to": "Bob"}',
        "  it runs in a sandbox, with nothing beyond its own files",
    ]


def test_what_is_too_long_is_cut_and_that_is_said() -> None:
    long, shown = "y" * 5_000, f"{'y' * 2_000} … and 3,000 more characters"
    assert _about(replace(_QUESTION, arguments=(long,))) == [f"  called with: {shown}", _YES]
    assert _about(replace(_QUESTION, arguments=(long,), forks=True))[0].endswith(f"prompt: {shown}")
    assert _about(replace(_QUESTION, act=Act.RUN, input=long))[0] == f"  input: {shown}"
