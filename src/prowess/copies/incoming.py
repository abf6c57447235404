"""Take a skill from anywhere into staging, and judge the copy: what was judged is what will be used."""

import os
from dataclasses import dataclass, replace
from typing import NamedTuple

from prowess.catalog.validation import check_skill
from prowess.copies.disk_failures import telling
from prowess.copies.history import Origin
from prowess.copies.writable_copies import copy_for_editing
from prowess.errors import BrokenSkill, NotFound
from prowess.policy import Limits, Links, MissingDescription, NameRule, Reading, SourceKind, UnknownKeys
from prowess.skill.problems import Problem, Severity
from prowess.skill.reading import parse_skill
from prowess.sources.folders import SKILL_MD, scan_folder
from prowess.sources.heads import read_head
from prowess.sources.portable_names import judge_name
from prowess.sources.real_paths import find_real_path
from prowess.sources.source import Source, show_path

__all__ = [
    "NO_SKILL",
    "SkillsBelow",
    "StagedSkill",
    "find_skills_below",
    "is_folder_name",
    "locate_skill",
    "stage_skill",
]

NO_SKILL = 'No valid SKILL.md with "name" frontmatter'
_LONGEST_NAME_BYTES = 200
"""Of a skill's folder, so that there is room for what is put before or after it."""
_ODD_BEGINNINGS = ".-~"
"""What hides a folder, or means something else in a command."""
_MAX_SAID = 3


@dataclass(frozen=True, slots=True)
class StagedSkill:
    """A skill in staging that would be loaded from the folder of its name."""

    name: str
    folder: str
    digest: str
    problems: tuple[Problem, ...]
    """What is worth a warning."""


def locate_skill(path: str) -> str:
    """Return the folder that a path to a skill, or to its SKILL.md, means, with all links on the way resolved."""
    folder = os.path.dirname(path) or "." if os.path.basename(path) == SKILL_MD and not os.path.isdir(path) else path
    real = find_real_path(folder)
    if real is None or not os.path.lexists(real):
        raise NotFound(f"nothing at {show_path(path)}", hint="give the folder of a skill, or its SKILL.md")
    if not os.path.isdir(real):
        raise NotFound(f"{show_path(path)} is not a folder", hint="give the folder that holds the SKILL.md")
    return real


class SkillsBelow(NamedTuple):
    """The folders of all skills at or below a folder."""

    folders: tuple[str, ...]
    problems: tuple[Problem, ...]
    """Why others are not among them."""


def find_skills_below(folder: str, *, limits: Limits) -> SkillsBelow:
    """Find the skills at or below a folder, whose path has no links. No link is followed.

    One that leads to none of them, or to one that is found by itself, is no Problem.
    """
    found = scan_folder(Source(SourceKind.USER, folder, links=Links.SKIP), limits=limits)
    folders = tuple(candidate.folder for candidate in found.candidates)
    known = frozenset(folders)
    return SkillsBelow(folders, tuple(one for one in found.problems if not _is_harmless_link(one, known)))


def _is_harmless_link(problem: Problem, folders: frozenset[str]) -> bool:
    if problem.code != "link-not-followed" or problem.path is None or not os.path.islink(problem.path):
        return False
    real = find_real_path(problem.path)
    return real is None or real in folders or not os.path.lexists(os.path.join(real, SKILL_MD))


def stage_skill(source: str, staging: str, *, origin: Origin, reading: Reading, limits: Limits) -> StagedSkill:
    """Copy the skill in a folder into staging, where nothing has its name yet, and judge it as it will be loaded.

    `source` is absolute and has no links on its way; `origin` is what it is called by. What would not be loaded is a
    BrokenSkill.
    """
    if not os.path.lexists(os.path.join(source, SKILL_MD)):
        raise _no_skill(source, origin, limits)
    draft = os.path.join(staging, ".draft")
    files = copy_for_editing(source, draft, called=origin.address)
    name = _find_name(draft, origin, reading)
    with telling(f"{origin.address} cannot be copied"):
        folder = os.path.join(staging, name)
        os.rename(draft, folder)  # The rules want to know the folder's name.
    checked = check_skill(folder, reading=reading, limits=limits)
    if not checked.valid:
        raise _not_loaded(origin, checked.problems)
    warnings = tuple(problem for problem in checked.problems if problem.severity is Severity.WARNING)
    return StagedSkill(name, folder, files.digest, warnings)


def is_folder_name(name: str) -> bool:
    """Whether a skill's folder can have this name on every system, without meaning anything but itself."""
    if judge_name(name) or name[0] in _ODD_BEGINNINGS:
        return False
    return len(name.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME_BYTES


def _find_name(draft: str, origin: Origin, reading: Reading) -> str:
    """Return the name that the SKILL.md gives, and the folder will have; what it was called before is no matter."""
    head = read_head(draft, os.lstat(os.path.join(draft, SKILL_MD)))
    if isinstance(head, Problem):
        raise _unnamed(origin, (head,))
    rule = NameRule.SANITISE if reading.name_rule is NameRule.SANITISE else NameRule.FOLDER_DEFAULT
    forgiving = replace(
        reading,
        unknown_keys=UnknownKeys.IGNORE,
        name_rule=rule,
        missing_description=MissingDescription.ALLOW,
    )
    judged = parse_skill(head, folder="", reading=forgiving)
    if judged.manifest is None:
        raise _unnamed(origin, judged.problems)
    name = judged.manifest.name
    if not is_folder_name(name):
        raise BrokenSkill(
            f"the name '{show_path(name[:80])}' has invalid characters for a folder",
            problems=judged.problems,
            hint="use lower-case letters, digits and single hyphens, as in pdf-fill",
            code="bad-name",
        )
    return name


def _errors(problems: tuple[Problem, ...]) -> str:
    errors = [problem.message for problem in problems if problem.severity is Severity.ERROR]
    return "; ".join(errors[:_MAX_SAID])


def _unnamed(origin: Origin, problems: tuple[Problem, ...]) -> BrokenSkill:
    message = f"{NO_SKILL} in {origin.address}: {_errors(problems)}"
    return BrokenSkill(message, problems=problems, hint=_where_to_look(origin), code="no-skill")


def _not_loaded(origin: Origin, problems: tuple[Problem, ...]) -> BrokenSkill:
    message = f"the skill in {origin.address} would not be loaded: {_errors(problems)}"
    return BrokenSkill(message, problems=problems, hint=_where_to_look(origin))


def _where_to_look(origin: Origin) -> str:
    folder = "FOLDER` on a clone of it" if origin.is_git else f"{origin.place}`"
    return f"`prowess validate {folder} shows what is wrong"


def _no_skill(source: str, origin: Origin, limits: Limits) -> BrokenSkill:
    below = [os.path.relpath(folder, source) for folder in find_skills_below(source, limits=limits).folders]
    hint = "give the folder that holds the SKILL.md"
    if below:
        shown = ", ".join(show_path(path) for path in below[:5]) + (" …" if len(below) > 5 else "")
        hint = f"there are skills below it ({shown}): name one of them, or add them with --all"
    return BrokenSkill(f"{NO_SKILL} in {origin.address}", problems=(), hint=hint, code="no-skill")
