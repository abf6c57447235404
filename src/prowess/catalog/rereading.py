"""Read once more what a skill says of itself, from the very files that are to be used.

A catalog may be newer or older than the copy of a skill that a session sees; what is decided by a manifest must be
decided by that of the files which people agree to.
"""

import os

from prowess.catalog.verdicts import find_sidecar, judge_folder, name_folder
from prowess.policy import Reading
from prowess.skill.manifest import Manifest
from prowess.skill.skill import Skill
from prowess.sources.folders import SKILL_MD

__all__ = ["read_manifest"]


def read_manifest(skill: Skill, folder: str, *, reading: Reading) -> Manifest | None:
    """Return what files of a skill in this folder say of it; None if they cannot be read, or make no skill."""
    try:
        status = os.lstat(f"{folder}/{SKILL_MD}")
    except OSError:
        return None
    name, sidecar = name_folder(skill.relative, skill.folder), find_sidecar(folder, reading)
    judged, _ = judge_folder(folder, status, name=name, reading=reading, sidecar=sidecar)
    return judged.manifest
