"""What trigger tests have come to, as plain data. The keys are a contract."""

from typing import Any

from prowess.runtime.evaluation import (
    Evaluation,
    Goals,
    ModelRuns,
    Score,
    SkillEvaluation,
    Trial,
    judge_skill,
)
from prowess.surfaces.records import problem_record

__all__ = ["evaluation_record"]

Record = dict[str, Any]

_MAX_CONFUSIONS = 50


def evaluation_record(evaluation: Evaluation, goals: Goals) -> Record:
    """Return all of it, with what falls short of the goals. Shares are null where there was nothing to count."""
    whole = evaluation.score(depths=goals.depths)
    confusions = evaluation.find_confusions()
    return {
        "skills": [_skill_record(one, goals) for one in evaluation.skills],
        "catalog": {
            "skills": len(evaluation.skills),
            "untested": evaluation.untested,
            **_score_record(whole),
            "confusions": [
                {"expected": one.expected, "first": one.first, "queries": one.queries}
                for one in confusions[:_MAX_CONFUSIONS]
            ],
            "more_confusions": max(0, len(confusions) - _MAX_CONFUSIONS),
        },
        "left_out": [{"id": one.id, "reason": one.reason} for one in evaluation.left_out],
        "goals": {
            "min_recall": goals.min_recall,
            "max_false_alarms": goals.max_false_alarms,
            "at": goals.at,
            "min_planned": goals.min_planned,
        },
        "model": _model_record(evaluation.model) if evaluation.model else None,
        "passed": evaluation.passes(goals),
    }


def _skill_record(one: SkillEvaluation, goals: Goals) -> Record:
    problems = judge_skill(one, goals)
    return {
        "id": one.skill.id,
        "name": one.skill.name,
        **_score_record(one.score(depths=goals.depths)),
        "misses": [_trial_record(trial) for trial in one.trials if trial.is_missed(goals.at)],
        "false_alarms": [_trial_record(trial) for trial in one.trials if trial.is_false_alarm],
        "problems": [problem_record(problem) for problem in problems],
        "passed": not problems,
    }


def _score_record(score: Score) -> Record:
    return {
        "should": {
            "queries": score.should,
            "recall": {str(at): _round(score.recall(at)) for at, _ in score.found},
            "planner_recall": _round(score.planner_recall),
            "shown": {level.value: count for level, count in score.shown},
            "model_recall": _round(score.model_recall),
        },
        "should_not": {
            "queries": score.should_not,
            "false_alarms": _round(score.false_alarm_share),
            "ranked_first": score.ranked_first,
            "called": score.called,
            "model_false_alarms": _round(score.model_false_alarm_share),
        },
    }


def _trial_record(trial: Trial) -> Record:
    return {
        "query": trial.query.text,
        "rank": trial.rank,
        "first": trial.first or None,
        "shown": trial.shown.value,
        "called": trial.is_called,
        "chosen": [list(ids) for ids in trial.chosen],
    }


def _model_record(model: ModelRuns) -> Record:
    use = model.use
    return {
        "name": model.name,
        "runs": model.runs,
        "requests": use.requests,
        "input_tokens": use.input_tokens,
        "output_tokens": use.output_tokens,
        "cost_usd": use.cost_usd,
    }


def _round(share: float | None) -> float | None:
    return None if share is None else round(share, 4)
