"""The answer to "why": why a skill is visible to a model, or why not."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

from prowess.catalog.catalog import Catalog, RejectedSkill
from prowess.catalog.lost_names import find_nested_skill, find_rejected_by_name
from prowess.catalog.views import Reason, View
from prowess.skill.problems import Problem, Severity, make_problem
from prowess.skill.skill import Skill
from prowess.sources.source import show_path

__all__ = ["Explanation", "explain"]

_SILENT_SOURCES = frozenset(
    {"mcp-unreachable", "mcp-bad-answer", "mcp-no-extension", "source-missing", "source-unreadable", "disk-error"}
)
"""Problems with sources that may have the skill, or not."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether a name is visible to the model, and every reason for it."""

    name: str
    visible: bool
    reasons: tuple[Reason, ...]

    @property
    def found(self) -> bool:
        """Whether there is anything of this name."""
        return not any(reason.code == "not-found" for reason in self.reasons)


def explain(name: str, catalog: Catalog, view: View) -> Explanation:
    """Explain what became of the skill with this name or id, and of those that share its name or folder."""
    shown = view.find(name)
    rivals = [skill for skill in catalog.skills if name in (skill.name, skill.id) and skill is not shown]
    rejected = [one for one in catalog.rejected if name in (os.path.basename(one.path), one.path)]
    reasons = [
        *([_visible(shown, view)] if shown else []),
        *(reason for skill in rivals for reason in _named(skill, view)),
        *(reason for one in rejected for reason in _invalid(one)),
        *(_passed_over(problem) for problem in catalog.problems if _is_about(problem, name)),
    ]
    if not reasons:  # Only then is the disk looked at.
        reasons += [reason for one in find_rejected_by_name(name, catalog) for reason in _invalid(one)]
        reasons += _nested(name, catalog)
    if not reasons:
        reasons.append(Reason("not-found", f"no source has a skill '{name}'", catalog.suggest(name)))
        reasons += [_passed_over(problem) for problem in catalog.problems if problem.code in _SILENT_SOURCES]
    return Explanation(name, shown is not None, tuple(reasons))


def _nested(name: str, catalog: Catalog) -> Iterator[Reason]:
    found = find_nested_skill(name, catalog)
    if found is not None:
        outer, folder = found
        problem = make_problem(
            "nested-skill", f"{show_path(folder)} lies inside the skill {outer.id}, and is part of it"
        )
        yield _passed_over(problem)


def _visible(skill: Skill, view: View) -> Reason:
    part = " by its name only" if skill.id in view.name_only else ""
    return Reason("visible", f"{skill.id} is visible to the model{part}")


def _named(skill: Skill, view: View) -> Iterator[Reason]:
    for reason in view.hidden.get(skill.id, ()):
        yield Reason(reason.code, f"{skill.id}: {reason.message}", reason.remedy)


def _invalid(one: RejectedSkill) -> Iterator[Reason]:
    errors = [problem for problem in one.problems if problem.severity is Severity.ERROR]
    for problem in errors or one.problems:
        place = f":{problem.line}" if problem.line else ""
        code = "invalid" if errors else problem.code
        yield Reason(code, f"{one.path}/SKILL.md{place}: {problem.message}", problem.remedy)


def _is_about(problem: Problem, name: str) -> bool:
    return problem.path is not None and name in (os.path.basename(problem.path), problem.path)


def _passed_over(problem: Problem) -> Reason:
    return Reason(problem.code, problem.message, problem.remedy)
