"""Measure the trigger tests of skills by the planner and the search that every conversation uses. No model is asked."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from prowess.catalog.views import View
from prowess.disclosure.planner import Level, Plan
from prowess.errors import NotFound
from prowess.runtime.evaluation import MOST_RANKED, Evaluation, LeftOut, SkillEvaluation, Trial
from prowess.runtime.planning import Planning
from prowess.skill.skill import Skill
from prowess.skill.trigger_tests import TEST_FILES, TriggerQuery, TriggerTests
from prowess.sources.eval_files import read_trigger_tests

if TYPE_CHECKING:
    from prowess.runtime.runtime import Runtime

__all__ = ["evaluate"]

Progress = Callable[[int, int], None]


def evaluate(runtime: "Runtime", names: Sequence[str], *, agent: str, progress: Progress) -> Evaluation:
    """Measure the skills of these names or ids; without any, all that a model sees.

    `progress` is told how many queries are done, of how many. Raise `NotFound` for a name that nobody has, that a model
    does not see, or whose skill has no trigger tests.
    """
    view = runtime.view(agent)
    read = [(skill, read_trigger_tests(skill.real)) for skill in _choose(runtime, view, names)]
    tested = sorted(((skill, tests) for skill, tests in read if tests), key=lambda pair: pair[0].id)
    for skill, tests in read if names else ():
        if not tests:
            raise _untested(skill)
    measuring = _Measuring(view, runtime.planning, sum(len(tests.queries) for _, tests in tested), progress)
    skills = tuple(
        SkillEvaluation(skill, measuring.measure_all(skill, tests), tests.problems) for skill, tests in tested
    )
    left_out = () if names else _find_left_out(runtime, view)
    return Evaluation(skills, left_out, untested=len(read) - len(tested))


def _choose(runtime: "Runtime", view: View, names: Sequence[str]) -> tuple[Skill, ...]:
    if not names:
        return view.visible
    found: dict[str, Skill] = {}
    for name in names:
        skill = view.find(name)
        if skill is None:
            hidden = runtime.catalog().get(name)
            raise NotFound(
                f"a model does not see the skill '{hidden.name}'",
                hint="`prowess why` with its name says why",
                code="not-visible",
            )
        found[skill.id] = skill
    return tuple(found.values())


def _untested(skill: Skill) -> NotFound:
    return NotFound(
        f"skill '{skill.name}' ships no trigger tests",
        hint=f"write {TEST_FILES[0]} with should: and should_not:, each a list of texts",
        code="no-evals",
    )


def _find_left_out(runtime: "Runtime", view: View) -> tuple[LeftOut, ...]:
    """Return the skills that have trigger tests and that a model does not see, and why not."""
    hidden = [skill for skill in runtime.catalog().skills if skill.id in view.hidden]
    tested = [skill for skill in hidden if read_trigger_tests(skill.real)]
    return tuple(
        LeftOut(skill.id, view.hidden[skill.id][0].message) for skill in sorted(tested, key=lambda one: one.id)
    )


class _Measuring:
    """Asks the planner of one view."""

    def __init__(self, view: View, planning: Planning, total: int, progress: Progress) -> None:
        self._view = view
        self._planning = planning
        self._total, self._done = total, 0
        self._progress = progress
        self._whole = planning.plan(view)
        """The plan for no query; if it shows everything, it is that for every query."""

    def measure_all(self, skill: Skill, tests: TriggerTests) -> tuple[Trial, ...]:
        trials: list[Trial] = []
        for query in tests.queries:
            trials.append(self._measure(skill, query))
            self._done += 1
            self._progress(self._done, self._total)
        return tuple(trials)

    def _measure(self, skill: Skill, query: TriggerQuery) -> Trial:
        found = [one.skill.id for one in self._planning.search(self._view, query.text, limit=MOST_RANKED)]
        rank = found.index(skill.id) + 1 if skill.id in found else None
        placement = self._plan(query.text).find(skill.id)
        shown = placement.level if placement else Level.LEFT_OUT
        favour = self._planning.favour_for(self._view, query.text).get(skill.id)
        return Trial(skill.id, query, rank, found[0] if found else "", shown, favour)

    def _plan(self, query: str) -> Plan:
        return self._whole if self._whole.is_whole else self._planning.plan(self._view, query=query)
