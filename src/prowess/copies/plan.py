"""What a sync must do: from the skills that are wanted and the copies that are there to steps. Pure."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from prowess.errors import ToolInputError
from prowess.skill.activation_keys import make_activation_key
from prowess.skill.problems import Problem, make_problem
from prowess.skill.skill import Skill
from prowess.sources.disk_errors import is_disk_error
from prowess.sources.source import show_path

__all__ = ["Place", "Placed", "Present", "Remove", "Skipped", "SyncPlan", "Wanted", "may_stay", "plan_sync"]


class Wanted(NamedTuple):
    """A skill that must have a copy, with its digest if that is certain without reading its files."""

    skill: Skill
    digest: str = ""
    problems: tuple[Problem, ...] = ()
    """Why it is known to have no digest."""


class Placed(NamedTuple):
    """A copy as it was placed."""

    id: str
    digest: str
    inode: int
    """Of its folder: another folder of the same name is another matter."""
    changed: int
    """When that folder was last changed (ctime), in nanoseconds: disks give the inode of what is gone to others."""
    folder: str
    """Where the skill was copied from."""


@dataclass(frozen=True, slots=True)
class Present:
    """What is in a root now."""

    copies: Mapping[str, Placed] = field(default_factory=dict[str, Placed])
    """Copies by key, each certain to be the one that was placed."""
    strangers: frozenset[str] = frozenset()
    """All other names: what nobody placed, or what a sync that was cut short may have placed."""
    tells_case: bool = True
    """Whether the disk tells `A` from `a`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Put the present version of a skill under a key."""

    key: str
    skill: Skill


@dataclass(frozen=True, slots=True)
class Remove:
    """Take away what has this name."""

    name: str
    id: str = ""
    """Of the skill that it was a copy of; empty if it is no copy."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A skill that is wanted and gets no new copy."""

    id: str
    problem: Problem


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """The steps of a sync. Copies come before removals, so that a skill that moves is never gone."""

    places: tuple[Place, ...] = ()
    removes: tuple[Remove, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    unchanged: int = 0

    @property
    def changes_nothing(self) -> bool:
        return not self.places and not self.removes


def plan_sync(wanted: Iterable[Wanted], present: Present, *, failures: Sequence[tuple[str, Problem]] = ()) -> SyncPlan:
    """Return what must be done for the root to hold the wanted skills and nothing else.

    `failures` are folders that nobody could search, such as those that the disk failed on: what was copied from them
    before stays.
    """
    places: list[Place] = []
    skipped: list[Skipped] = []
    keys: dict[str, str] = {}
    kept: set[str] = set()
    unchanged = 0
    for want in wanted:
        key = _claim_key(want.skill, keys, present)
        if isinstance(key, Problem):
            skipped.append(Skipped(want.skill.id, key))
            continue
        there = present.copies.get(key)
        if want.problems:
            skipped.append(Skipped(want.skill.id, want.problems[0]))
            if there is not None and there.id == want.skill.id and may_stay(want.problems):
                kept.add(key)
            continue
        kept.add(key)
        if there is not None and _is_of(there, want):
            unchanged += 1
        else:
            places.append(Place(key, want.skill))
    removes: list[Remove] = []
    for name, there in sorted(present.copies.items()):
        if name in kept:
            continue
        failure = _find_failure(there.folder, failures)
        if failure is None or (name if present.tells_case else name.casefold()) in keys:
            removes.append(Remove(name, there.id))
        else:
            skipped.append(Skipped(there.id, failure))
    removes += [Remove(name) for name in sorted(present.strangers - kept)]
    return SyncPlan(tuple(places), tuple(removes), tuple(skipped), unchanged)


def _is_of(there: Placed, want: Wanted) -> bool:
    """Whether a copy is surely what is wanted."""
    found = (there.id, there.digest, there.folder)
    return bool(want.digest) and found == (want.skill.id, want.digest, want.skill.real)


def may_stay(problems: Sequence[Problem]) -> bool:
    """Whether the former copy of a skill that cannot be copied stays: only if nothing but the disk speaks against it.

    A skill that keeps changing is no worse than it was, either.
    """
    return all(is_disk_error(problem) or problem.code == "keeps-changing" for problem in problems)


def _claim_key(skill: Skill, taken: dict[str, str], present: Present) -> str | Problem:
    """Return the key of a skill, or why it can have none; the first of two skills with one key has it."""
    try:
        key = make_activation_key(skill.id)
    except ToolInputError as error:
        return make_problem("id-without-key", error.message)
    owner = taken.setdefault(key if present.tells_case else key.casefold(), skill.id)
    if owner != skill.id:
        return make_problem("key-taken", f"the folder '{key}' is taken by {owner}")
    return key


def _find_failure(folder: str, failures: Sequence[tuple[str, Problem]]) -> Problem | None:
    shown = show_path(folder)
    for path, problem in failures:
        if shown == path or shown.startswith(path.rstrip(os.sep) + os.sep):
            return problem
    return None
