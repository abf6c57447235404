"""Find what has a name, though it is no skill under it: a SKILL.md that was rejected, or one inside another skill."""

import os
from collections.abc import Iterator

from prowess.catalog.catalog import Catalog, RejectedSkill
from prowess.policy import MissingDescription, NameRule, Parse, Reading, UnknownKeys
from prowess.skill.problems import Problem
from prowess.skill.reading import parse_skill
from prowess.skill.skill import Skill
from prowess.sources.folders import SKILL_MD
from prowess.sources.heads import read_head

__all__ = ["find_nested_skill", "find_rejected_by_name"]

_MAX_FILES_READ = 1_000
_MAX_FOLDERS = 20_000
_FORGIVING = Reading(
    parse=Parse.FALLBACK,
    unknown_keys=UnknownKeys.IGNORE,
    name_rule=NameRule.FOLDER_DEFAULT,
    missing_description=MissingDescription.ALLOW,
)
"""Gives a name wherever there is one."""


def find_rejected_by_name(name: str, catalog: Catalog) -> tuple[RejectedSkill, ...]:
    """Return the rejected folders whose SKILL.md gives this name, among as many as are read in no time."""
    return tuple(one for one in catalog.rejected[:_MAX_FILES_READ] if _read_name(one.path) == name)


def find_nested_skill(name: str, catalog: Catalog) -> tuple[Skill, str] | None:
    """Return the skill inside which one of this name lies, with its folder, if a bounded search comes upon it."""
    read = 0
    for skill, folder in _folders_inside(catalog):
        if not os.path.lexists(f"{folder}/{SKILL_MD}"):
            continue
        read += 1
        if read > _MAX_FILES_READ:
            return None
        if name in (os.path.basename(folder), folder) or _read_name(folder) == name:
            return skill, folder
    return None


def _folders_inside(catalog: Catalog) -> Iterator[tuple[Skill, str]]:
    """Yield the folders inside skills, each with its skill; links are not followed."""
    seen = 0
    for skill in catalog.skills:
        for path, names, _ in os.walk(skill.real):
            names[:] = sorted(one for one in names if not os.path.islink(f"{path}/{one}"))
            for one in names:
                yield skill, f"{path}/{one}"
            seen += 1 + len(names)
            if seen > _MAX_FOLDERS:
                return


def _read_name(folder: str) -> str:
    """Return the name that a SKILL.md gives; nothing if it cannot be read."""
    try:
        head = read_head(folder, os.lstat(f"{folder}/{SKILL_MD}"))
    except OSError:
        return ""
    if isinstance(head, Problem):
        return ""
    manifest = parse_skill(head, folder=os.path.basename(folder), reading=_FORGIVING).manifest
    return manifest.name if manifest else ""
