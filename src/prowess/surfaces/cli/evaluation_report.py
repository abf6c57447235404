"""The report on trigger tests for a person, and for GitHub."""

from collections.abc import Iterator, Mapping, Sequence

from prowess.catalog.validation import CheckedSkill
from prowess.disclosure.planner import Level
from prowess.runtime.evaluation import Evaluation, Goals, Score, Trial, judge_skill
from prowess.skill.trigger_tests import Expectation
from prowess.sources.source import show_path
from prowess.surfaces.cli.annotations import render_github
from prowess.surfaces.cli.output import note, print_problems, print_rows, print_text
from prowess.surfaces.wording import show_use

__all__ = ["print_annotations", "print_evaluation", "sum_up"]

_MAX_NAMED = 10
"""Queries and confusions that a person is told of."""
_SHOWN = 80


def _check_all(evaluation: Evaluation, goals: Goals) -> list[CheckedSkill]:
    return [
        CheckedSkill(show_path(one.skill.folder), one.skill.name, judge_skill(one, goals)) for one in evaluation.skills
    ]


def print_annotations(evaluation: Evaluation, goals: Goals) -> None:
    """Print what falls short as workflow commands, beside the SKILL.md that must change."""
    text = render_github(_check_all(evaluation, goals))
    if text:
        print_text(text)


def print_evaluation(evaluation: Evaluation, goals: Goals) -> None:
    """Print a row for each skill and one for all, what falls short, and beside that which queries did."""
    if evaluation.skills:
        depths = [f"RECALL@{at}" for at in goals.depths]
        model = ["MODEL RECALL", "MODEL ALARMS"] if evaluation.model else []
        scored = [(one.skill.name, one.score(depths=goals.depths)) for one in evaluation.skills]
        scored.append(("all", evaluation.score(depths=goals.depths)))
        rows = [_make_row(name, score) for name, score in scored]
        print_rows(["NAME", "SHOULD", *depths, "PLANNED", "SHOULD NOT", "FALSE ALARMS", *model], rows)
    for one in _check_all(evaluation, goals):
        print_problems(one.path, one.problems)
    trials = evaluation.trials
    names = {one.skill.id: one.skill.name for one in evaluation.skills}
    missed = [trial for trial in trials if trial.is_missed(goals.at)]
    wrong = [trial for trial in trials if trial.is_false_alarm]
    _tell_trials("missed", missed, names)
    _tell_trials("false alarm", wrong, names)
    for one in evaluation.find_confusions()[:_MAX_NAMED]:
        times = "once" if one.queries == 1 else f"{one.queries:,} times"
        note(f"{names.get(one.first, one.first)} came before {names[one.expected]} {times}")


def _make_row(name: str, score: Score) -> list[str]:
    shares = [score.recall(at) for at, _ in score.found]
    model = [score.model_recall, score.model_false_alarm_share] if score.is_asked else []
    return [
        name,
        f"{score.should:,}",
        *map(_show, shares),
        _show(score.planner_recall),
        f"{score.should_not:,}",
        _show(score.false_alarm_share),
        *map(_show, model),
    ]


def _show(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"


def _tell_trials(what: str, trials: Sequence[Trial], names: Mapping[str, str]) -> None:
    for trial in trials[:_MAX_NAMED]:
        text = " ".join(trial.query.text.split())
        text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
        note(
            f"{names[trial.skill]}: '{text}' ({', '.join(_explain(trial, names))})", label=f"{what}: ", colour="yellow"
        )
    if len(trials) > _MAX_NAMED:
        note(f"{len(trials) - _MAX_NAMED:,} more; --json has all", label=f"{what}: ", colour="yellow")


def _explain(trial: Trial, names: Mapping[str, str]) -> Iterator[str]:
    if trial.chosen:
        yield f"chosen in {sum(trial.skill in ids for ids in trial.chosen)} of {len(trial.chosen)} runs"
    if trial.query.expected is Expectation.SHOULD and trial.shown is Level.LEFT_OUT:
        yield "left out of the prompt"
    if trial.is_called:
        yield "called by its name or a trigger"
    if trial.rank != 1:
        yield "not found by the search" if trial.rank is None else f"place {trial.rank} in the search"
        if trial.first:
            yield f"{names.get(trial.first, trial.first)} is first"
    elif not trial.is_called:
        yield "first in the search"


def sum_up(evaluation: Evaluation) -> None:
    """Say how much was measured, what was left out, and what it has cost."""
    for one in evaluation.left_out:
        note(f"{one.id} is left out: {one.reason}")
    if not evaluation.skills:
        note("No visible skill ships trigger tests. `prowess new NAME --with evals` makes an example.")
        return
    tested = "1 skill" if len(evaluation.skills) == 1 else f"{len(evaluation.skills):,} skills"
    untested = f"; {evaluation.untested:,} without tests" if evaluation.untested else ""
    note(f"{tested}, {len(evaluation.trials):,} queries{untested}")
    if evaluation.model is not None:
        note(f"{evaluation.model.name}: {show_use(evaluation.model.use)}")
