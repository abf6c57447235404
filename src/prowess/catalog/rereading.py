"""Read once more what a skill says of itself, from the very files that are to be used.

A catalog may be newer or older than the copy of a skill that a session sees; what is decided by a manifest must be
decided by that of the files which people agree to.
"""

import os
import stat

from prowess.policy import Reading, UnknownKeys
from prowess.skill.manifest import Manifest
from prowess.skill.problems import Problem
from prowess.skill.reading import parse_skill
from prowess.skill.skill import Skill
from prowess.sources.folders import SKILL_MD
from prowess.sources.heads import read_head, read_sidecar, sidecar_status
from prowess.sources.source import show_path

__all__ = ["read_manifest"]


def read_manifest(skill: Skill, folder: str, *, reading: Reading) -> Manifest | None:
    """Return what files of a skill in this folder say of it; None if they cannot be read, or make no skill."""
    try:
        head = read_head(folder, os.lstat(f"{folder}/{SKILL_MD}"))
    except OSError:
        return None
    if isinstance(head, Problem):
        return None
    name = show_path(skill.relative.rpartition("/")[2] or os.path.basename(skill.folder))
    sidecar = sidecar_status(folder) if reading.unknown_keys is UnknownKeys.DIALECTS else None
    is_plain = sidecar is not None and stat.S_ISREG(sidecar.st_mode)
    return parse_skill(head, folder=name, reading=reading, sidecar=read_sidecar(folder) if is_plain else None).manifest
