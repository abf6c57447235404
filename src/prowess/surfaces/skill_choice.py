"""Which skills somebody asks for, by words, source and state; and one page of them. No file is read for it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from prowess.catalog.catalog import Catalog
from prowess.catalog.views import View
from prowess.skill.problems import Severity
from prowess.skill.skill import Skill

__all__ = [
    "STATES",
    "Page",
    "SkillChoice",
    "choose_skills",
    "count_problems",
    "cut_page",
    "find_distance",
    "find_states",
    "find_text",
    "has_state",
    "has_words",
]

_T = TypeVar("_T")

STATES = ("visible", "hidden", "disabled", "shadowed", "untrusted", "ineligible", "problems", "rejected")
"""What can be asked for; `hidden` is all that models do not see, and no skill is `rejected`, but a folder."""
_VISIBLE = ("visible",)


@dataclass(frozen=True, slots=True)
class SkillChoice:
    """What is asked for; what is empty leaves the choice free."""

    query: str = ""
    """Words that must all be in the name, the id or the description."""
    source: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Page(Generic[_T]):
    """A part of what was chosen."""

    rows: tuple[_T, ...]
    total: int
    number: int
    pages: int


def choose_skills(catalog: Catalog, view: View, wanted: SkillChoice) -> tuple[Skill, ...]:
    """Return the skills that are asked for in the catalog's order; with a query, those of such a name come first."""
    words = wanted.query.casefold().split()
    chosen = (skill for skill in catalog.skills if not wanted.source or skill.kind.value == wanted.source)
    chosen = (skill for skill in chosen if not wanted.state or _is_in(skill, view, wanted.state))
    found: Iterable[Skill] = (skill for skill in chosen if not words or has_words(find_text(skill), words))
    query = wanted.query.casefold().strip()
    return tuple(sorted(found, key=lambda skill: find_distance(skill, query)) if query else found)


def _is_in(skill: Skill, view: View, state: str) -> bool:
    return has_state(find_states(skill, view), state, problems=count_problems(skill))


def find_states(skill: Skill, view: View) -> tuple[str, ...]:
    """Return `visible`, or the code of each reason why models do not see a skill, the first the most telling."""
    return tuple(dict.fromkeys(reason.code for reason in view.hidden.get(skill.id, ()))) or _VISIBLE


def count_problems(skill: Skill) -> int:
    """Return how many errors and warnings a skill has."""
    return sum(problem.severity is not Severity.INFO for problem in skill.problems)


def has_state(states: Sequence[str], wanted: str, *, problems: int) -> bool:
    """Whether a skill of these states and so many problems is in the state that is wanted; empty if any is."""
    match wanted:
        case "":
            return True
        case "hidden":
            return states != _VISIBLE
        case "problems":
            return problems > 0
        case _:
            return wanted in states


def has_words(text: str, words: Sequence[str]) -> bool:
    """Whether all words, which are in small letters, are in a text that is too."""
    return all(word in text for word in words)


def find_text(skill: Skill) -> str:
    """Return what the words of a query are looked for in."""
    return f"{skill.name}\n{skill.id}\n{skill.description}".casefold()


def find_distance(skill: Skill, query: str) -> int:
    """Return how far a skill's name is from a query in small letters: 0 if it is the name."""
    name = skill.name.casefold()
    return 0 if name == query else 1 if name.startswith(query) else 2 if query in name else 3


def cut_page(rows: Sequence[_T], *, limit: int | None, number: int = 1) -> Page[_T]:
    """Return a page of so many rows, empty beyond the last one; without a limit, all of them."""
    limit = limit or max(len(rows), 1)
    start = (number - 1) * limit
    return Page(tuple(rows[start : start + limit]), len(rows), number, max(1, -(-len(rows) // limit)))
