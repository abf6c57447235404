"""What trigger tests have come to: for each query, for each skill and for all; and whether that is good enough."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from prowess.disclosure.planner import Favour, Level
from prowess.skill.problems import Problem, make_problem
from prowess.skill.skill import Skill
from prowess.skill.trigger_tests import Expectation, TriggerQuery
from prowess.state.conversations import TokenUse

__all__ = [
    "DEPTHS",
    "MOST_RANKED",
    "Confusion",
    "Evaluation",
    "Goals",
    "LeftOut",
    "ModelRuns",
    "Score",
    "SkillEvaluation",
    "Trial",
    "count_confusions",
    "judge_skill",
    "score_trials",
]

DEPTHS = (1, 5, 10)
"""Of the search, at which recall is always told."""
MOST_RANKED = 50
"""Skills that the search is asked for: as many as a query may favour in a plan."""

_MAX_NAMED = 3
_SHOWN = 60
_PLANNED = frozenset((Level.FULL, Level.SHORTENED))
"""Levels at which a model is told what a skill is for."""
_CALLED = frozenset((Favour.MENTIONED, Favour.TRIGGERED))
"""Reasons by which a message itself speaks for a skill."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one query has come to."""

    skill: str
    """The id of the skill whose query it is."""
    query: TriggerQuery
    rank: int | None
    """The skill's place in the search, from 1; None if it is not among the first `MOST_RANKED`."""
    first: str
    """The id of the skill that the search gives first; empty if none fits."""
    shown: Level
    """How much of the skill a model is shown with this query."""
    favour: Favour | None = None
    """Why the planner places the skill before others, if it does."""
    chosen: tuple[tuple[str, ...], ...] = ()
    """With a model, for each run: the ids of the skills that it has activated."""

    @property
    def is_called(self) -> bool:
        """Whether the message itself speaks for the skill: by its name, or by a trigger."""
        return self.favour in _CALLED

    @property
    def is_chosen(self) -> bool:
        """Whether the model activated the skill in at least half of its runs."""
        return bool(self.chosen) and 2 * sum(self.skill in ids for ids in self.chosen) >= len(self.chosen)

    @property
    def is_loud(self) -> bool:
        """Whether the skill puts itself forward: it is called, or comes first in the search."""
        return self.is_called or self.rank == 1

    def is_found(self, at: int) -> bool:
        """Whether the skill is called, or among the first so many of the search."""
        return self.is_called or (self.rank is not None and self.rank <= at)

    @property
    def is_planned(self) -> bool:
        """Whether a model is told with this query what the skill is for, all of it or a part."""
        return self.shown in _PLANNED

    def is_unmet(self, at: int) -> bool:
        """Whether it should trigger the skill and did not; by the model's choice, if one was asked."""
        found = self.is_chosen if self.chosen else self.is_found(at)
        return self.query.expected is Expectation.SHOULD and not found

    def is_missed(self, at: int) -> bool:
        """Whether it is unmet, or leaves the skill out of the prompt and no model chose it all the same."""
        is_left_out = self.query.expected is Expectation.SHOULD and self.shown is Level.LEFT_OUT
        return self.is_unmet(at) or (is_left_out and not self.chosen)

    @property
    def is_false_alarm(self) -> bool:
        """Whether it should not trigger the skill and did; by the model's choice, if one was asked."""
        loud = self.is_chosen if self.chosen else self.is_loud
        return self.query.expected is Expectation.SHOULD_NOT and loud


@dataclass(frozen=True, slots=True)
class Score:
    """Trials, counted. Shares are from 0 to 1, and None where there was nothing to count."""

    should: int = 0
    found: tuple[tuple[int, int], ...] = ()
    """From a depth of the search to how many queries that should trigger found their skill there."""
    should_not: int = 0
    ranked_first: int = 0
    """Of the queries that should not trigger: those for which the skill came first all the same."""
    called: int = 0
    """Of those: the ones that mention or trigger it."""
    false_alarms: int = 0
    """Of those: either, or both."""
    shown: tuple[tuple[Level, int], ...] = ()
    """How much of its skill a model was shown with each query that should trigger it."""
    is_asked: bool = False
    """Whether a model was asked."""
    chosen: int = 0
    """Of the queries that should trigger: those by which the model activated the skill."""
    wrongly_chosen: int = 0
    """Of the others: the same."""

    def recall(self, at: int) -> float | None:
        """Return the share of queries that found their skill at this depth, one of those that were counted."""
        return _share(dict(self.found)[at], self.should)

    @property
    def planner_recall(self) -> float | None:
        """Of the queries that should trigger, those with which a model is told what their skill is for."""
        return _share(sum(count for level, count in self.shown if level in _PLANNED), self.should)

    @property
    def false_alarm_share(self) -> float | None:
        """Of the queries that should not trigger, those that did."""
        return _share(self.false_alarms, self.should_not)

    @property
    def model_recall(self) -> float | None:
        """As the model chose; None if none was asked."""
        return _share(self.chosen, self.should) if self.is_asked else None

    @property
    def model_false_alarm_share(self) -> float | None:
        """As the model chose; None if none was asked."""
        return _share(self.wrongly_chosen, self.should_not) if self.is_asked else None


def score_trials(trials: Iterable[Trial], *, depths: Iterable[int] = DEPTHS) -> Score:
    """Count trials. Their order makes no difference."""
    trials = list(trials)
    should = [one for one in trials if one.query.expected is Expectation.SHOULD]
    should_not = [one for one in trials if one.query.expected is Expectation.SHOULD_NOT]
    return Score(
        len(should),
        tuple((at, sum(one.is_found(at) for one in should)) for at in sorted(set(depths))),
        len(should_not),
        sum(one.rank == 1 for one in should_not),
        sum(one.is_called for one in should_not),
        sum(one.is_loud for one in should_not),
        tuple((level, sum(one.shown is level for one in should)) for level in Level),
        any(one.chosen for one in trials),
        sum(one.is_chosen for one in should),
        sum(one.is_chosen for one in should_not),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True, slots=True)
class SkillEvaluation:
    """The trigger tests of one skill, and what is wrong with their files."""

    skill: Skill
    trials: tuple[Trial, ...]
    problems: tuple[Problem, ...] = ()

    def score(self, *, depths: Iterable[int] = DEPTHS) -> Score:
        """Count its trials."""
        return score_trials(self.trials, depths=depths)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A skill with trigger tests that were not measured, because a model does not see it."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Confusion:
    """A skill that came first where another should have."""

    expected: str
    first: str
    queries: int


@dataclass(frozen=True, slots=True)
class ModelRuns:
    """Which model was asked, how often for each query, and what that has used."""

    name: str
    runs: int
    use: TokenUse


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The trigger tests of many skills, in the order of their ids."""

    skills: tuple[SkillEvaluation, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    untested: int = 0
    """Visible skills that ship no trigger tests."""
    model: ModelRuns | None = None

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Those of all skills."""
        return tuple(trial for one in self.skills for trial in one.trials)

    def score(self, *, depths: Iterable[int] = DEPTHS) -> Score:
        """Count the trials of all skills."""
        return score_trials(self.trials, depths=depths)

    def passes(self, goals: "Goals") -> bool:
        """Whether there was something to measure, and no skill falls short in anything."""
        return bool(self.skills) and not any(judge_skill(one, goals) for one in self.skills)

    def find_confusions(self) -> tuple[Confusion, ...]:
        """Return which skills came first instead of which others, the most frequent first."""
        return count_confusions(self.trials)


def count_confusions(trials: Iterable[Trial]) -> tuple[Confusion, ...]:
    """Count for each pair of skills how often one came first where the other should have; the order is of no matter."""
    counts = Counter(
        (trial.skill, trial.first)
        for trial in trials
        if trial.query.expected is Expectation.SHOULD and trial.first not in ("", trial.skill)
    )
    ranked = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return tuple(Confusion(expected, first, count) for (expected, first), count in ranked)


@dataclass(frozen=True, slots=True)
class Goals:
    """What every skill must reach. Where a model was asked, its choices count instead of the planner's."""

    min_recall: float | None = None
    max_false_alarms: float | None = None
    at: int = 5
    """The depth of the search at which recall is meant."""
    min_planned: float | None = None
    """Recall of the planner: whatever a model chooses, it must have been told."""

    @property
    def depths(self) -> tuple[int, ...]:
        """At which recall is told."""
        return tuple(sorted({*DEPTHS, self.at}))


def judge_skill(one: SkillEvaluation, goals: Goals) -> tuple[Problem, ...]:
    """Return in what a skill falls short: of the goals, and of files that can be read whole."""
    score = one.score(depths=goals.depths)
    recall = score.model_recall if score.is_asked else score.recall(goals.at)
    alarms = score.model_false_alarm_share if score.is_asked else score.false_alarm_share
    found = list(one.problems)
    if goals.min_recall is not None and recall is not None and _is_less(recall, goals.min_recall):
        missed = [trial for trial in one.trials if trial.is_unmet(goals.at)]
        what = f"recall is {recall:.2f}" if score.is_asked else f"recall among the first {goals.at} is {recall:.2f}"
        message = f"{what}, below {goals.min_recall:.2f}; missed: {_quote(missed)}"
        found.append(make_problem("trigger-recall-low", message))
    planned = score.planner_recall
    if goals.min_planned is not None and planned is not None and _is_less(planned, goals.min_planned):
        untold = [trial for trial in one.trials if trial.query.expected is Expectation.SHOULD and not trial.is_planned]
        message = f"planner recall is {planned:.2f}, below {goals.min_planned:.2f}; not told with: {_quote(untold)}"
        found.append(make_problem("trigger-plan-low", message))
    if goals.max_false_alarms is not None and alarms is not None and _is_less(goals.max_false_alarms, alarms):
        wrong = [trial for trial in one.trials if trial.is_false_alarm]
        message = f"false alarms are {alarms:.2f}, above {goals.max_false_alarms:.2f}: {_quote(wrong)}"
        found.append(make_problem("trigger-false-alarms", message))
    return tuple(found)


def _is_less(one: float, other: float) -> bool:
    """Compare as people write numbers: 7 of 10 is 0.7, although the nearest binary fractions may differ."""
    return Fraction(one).limit_denominator(100_000) < Fraction(other).limit_denominator(100_000)


def _quote(trials: Sequence[Trial]) -> str:
    texts = [" ".join(trial.query.text.split()) for trial in trials[:_MAX_NAMED]]
    shown = ", ".join(f"'{text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}'" for text in texts)
    return shown + (f" and {len(trials) - _MAX_NAMED:,} more" if len(trials) > _MAX_NAMED else "")
