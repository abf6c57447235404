"""What the benchmarks conclude from what they were told; the measuring itself is no test."""

from pathlib import Path

import pytest

from bench.compatibility import NEIGHBOUR, Outcome, Told, decide_outcome, is_good
from bench.growth import slopes
from bench.nasty_skills import CONTROL, FOLDER, NASTY, Nasty, Wanted
from bench.summary import GOALS, render_goals

_BESIDE = {NEIGHBOUR: "Greets people."}
_REFUSED = Nasty("refused", Wanted.REFUSE, CONTROL.write)


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        (Told(found={**_BESIDE, FOLDER: "Counts words."}), Outcome.LOADS),
        (Told(found={**_BESIDE, FOLDER: "Counts lines."}), Outcome.WRONG),
        (Told(found={**_BESIDE, FOLDER: "Counts words.", "inner": "Counts words."}), Outcome.WRONG),
        (Told(found=_BESIDE, reasons=["no description"]), Outcome.TOLD),
        (Told(found=_BESIDE, said=f"WARNING: cannot read /x/{FOLDER}/SKILL.md"), Outcome.TOLD),
        (Told(found=_BESIDE, said="A banner."), Outcome.DROPPED),
        (Told(found={}, raised="UnicodeDecodeError: …"), Outcome.OTHERS),
        (Told(found={}, raised="MemoryError"), Outcome.MEMORY),
        (Told(ended="hang"), Outcome.HANGS),
        (Told(ended="crash, status 11"), Outcome.CRASHES),
    ],
)
def test_every_way_to_answer_has_its_word(told: Told, outcome: Outcome, tmp_path: Path) -> None:
    assert decide_outcome(CONTROL, told, mark=tmp_path / "mark") is outcome


def test_code_that_was_run_outweighs_all_else(tmp_path: Path) -> None:
    told = Told(found={**_BESIDE, FOLDER: "Counts words."})
    assert decide_outcome(CONTROL, told, mark=tmp_path) is Outcome.RUNS


def test_silence_is_never_good() -> None:
    assert not any(is_good(nasty, Outcome.DROPPED) for nasty in NASTY)
    assert is_good(_REFUSED, Outcome.TOLD)


def test_kinds_are_many_and_differ() -> None:
    assert len({nasty.kind for nasty in NASTY}) == len(NASTY) >= 25


def test_slope_of_a_cost_as_fast_as_the_work_is_one() -> None:
    assert slopes({1_000: 2.0, 10_000: 20.0, 100_000: 20.0}) == pytest.approx([1.0, 0.0])


def test_goal_without_figures_says_that_it_was_not_measured() -> None:
    assert render_goals({}).count("not measured") == len(GOALS)
