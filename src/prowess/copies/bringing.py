"""Bring skills to a user from a folder or a git repository, and once more when they have changed there."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from prowess.copies.git_addresses import is_git_address, parse_git_address
from prowess.copies.git_fetching import fetched
from prowess.copies.history import Origin
from prowess.copies.incoming import NO_SKILL, find_skills_below, locate_skill
from prowess.copies.personal import Change, ChangeStatus, PersonalSkills
from prowess.errors import BrokenSkill, NotFound, ProwessError, Refused
from prowess.policy import Limits, Reading
from prowess.skill.problems import Problem
from prowess.sources.source import show_path

__all__ = ["Extent", "Failure", "Judge", "bring_skills", "update_skill"]


class Extent(Enum):
    """How much is brought from one place."""

    ONE = "one"
    """The skill that lies there."""
    ALL = "all"
    """Every skill there and below."""


@dataclass(frozen=True, slots=True)
class Judge:
    """By which rules skills are judged before they come in."""

    reading: Reading
    limits: Limits


@dataclass(frozen=True, slots=True)
class Failure:
    """A skill that was not brought, or what hides some, while others were."""

    place: str
    error: ProwessError


def bring_skills(
    personal: PersonalSkills, place: str, *, base: str, extent: Extent, judge: Judge
) -> tuple[Change | Failure, ...]:
    """Add the skill at a path or an address; relative paths start at `base`.

    One that cannot be added is an error; with `Extent.ALL`, it is a Failure among the others.
    """
    if is_git_address(place):
        address = parse_git_address(place, base=base)
        with fetched(address, personal.layout, personal.user) as checkout:
            origin = Origin(address.repository, address.ref, address.folder, checkout.commit)
            return tuple(_bring(personal, checkout.folder, origin, extent, judge))
    folder = locate_skill(os.path.join(base, os.path.expanduser(place)))
    return tuple(_bring(personal, folder, Origin(show_path(folder)), extent, judge))


def update_skill(personal: PersonalSkills, name: str, *, base: str, judge: Judge) -> Change:
    """Fetch a skill again that came from a git repository."""
    current = personal.current(name)
    if current is None:
        hint = f"it was removed; `prowess restore {show_path(name)}` brings it back"
        raise NotFound(f'Personal skill not found: "{show_path(name)}".', hint=hint, code="unknown-skill")
    origin = current.origin
    if origin is None or not origin.is_git:
        raise Refused(
            f"'{show_path(name)}' is not from a git repository",
            hint="add it again from where it lies",
            code="not-from-git",
        )
    address = parse_git_address(origin.address, base=base)
    if address.is_pinned and not current.edited:
        return Change(
            name, ChangeStatus.UNCHANGED, current.folder, current.number, current.digest, None, current.origin
        )
    with fetched(address, personal.layout, personal.user) as checkout:
        renewed = replace(origin, commit=checkout.commit)
        return personal.add(checkout.folder, reading=judge.reading, limits=judge.limits, origin=renewed, expected=name)


def _bring(
    personal: PersonalSkills, folder: str, origin: Origin, extent: Extent, judge: Judge
) -> Iterator[Change | Failure]:
    if extent is Extent.ONE:
        yield personal.add(folder, reading=judge.reading, limits=judge.limits, origin=origin)
        return
    found = find_skills_below(folder, limits=judge.limits)
    if not found.folders and not found.problems:
        raise BrokenSkill(f"{NO_SKILL} in or below {show_path(folder)}", problems=(), code="no-skill")
    for problem in found.problems:
        yield _name_failure(problem, folder)
    for one in found.folders:
        inner = os.path.relpath(one, folder)
        try:
            yield personal.add(one, reading=judge.reading, limits=judge.limits, origin=_go_deeper(origin, one, inner))
        except ProwessError as error:
            yield Failure(show_path(inner), error)


def _name_failure(problem: Problem, folder: str) -> Failure:
    """Return what hides skills below a folder; where it is, is told as seen from there."""
    shown = show_path(folder)
    place = (problem.path or shown).removeprefix(shown).strip("/") or "."
    message = problem.message.replace(f"{shown}/", "").replace(shown, ".")
    return Failure(place, BrokenSkill(message, problems=(problem,), hint=problem.remedy, code=problem.code))


def _go_deeper(origin: Origin, folder: str, inner: str) -> Origin:
    if not origin.is_git:
        return Origin(show_path(folder))
    steps = [step for step in (origin.folder, show_path(inner).replace(os.sep, "/")) if step not in ("", ".")]
    return replace(origin, folder="/".join(steps))
