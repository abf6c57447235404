"""From a folder with a SKILL.md to what is thought of it: one way for all who judge a skill on disk."""

import os
import stat
from typing import cast

from prowess.policy import Reading, UnknownKeys
from prowess.skill.dialects import SIDECAR_PATH
from prowess.skill.problems import Problem, make_problem
from prowess.skill.reading import Judgement, parse_skill
from prowess.sources.heads import read_head, read_sidecar, sidecar_status
from prowess.sources.source import show_path
from prowess.sources.stamps import Stamp, stamp_file

__all__ = ["find_sidecar", "judge_folder", "name_folder"]

_ODD_SIDECAR = cast("Stamp", (1, 0, 0, 0, 0, 0))
"""Stands for a sidecar that is no plain file."""


def find_sidecar(folder: str, reading: Reading) -> Stamp | None:
    """Return the stamp of the folder's sidecar; None if there is none, or if it is not read."""
    # Hardly any folder has one, and this is asked of thousands.
    if reading.unknown_keys is not UnknownKeys.DIALECTS or not os.access(f"{folder}/{SIDECAR_PATH}", os.F_OK):
        return None
    status = sidecar_status(folder)
    if status is None:
        return None
    return stamp_file(status) if stat.S_ISREG(status.st_mode) else _ODD_SIDECAR


def name_folder(relative: str, folder: str) -> str:
    """Return what a skill goes by that has no name of its own: its folder's, as text that can be shown."""
    return show_path(relative.rpartition("/")[2] or os.path.basename(folder))


def judge_folder(
    folder: str, status: os.stat_result, *, name: str, reading: Reading, sidecar: Stamp | None
) -> tuple[Judgement, bytes | None]:
    """Judge the skill in a folder of this name by its SKILL.md, whose status is given.

    The second is the head of the file, or None if it cannot be read.
    """
    head = read_head(folder, status)
    if isinstance(head, Problem):
        return Judgement(None, (head,)), None
    if sidecar is None:
        return parse_skill(head, folder=name, reading=reading), head
    if sidecar != _ODD_SIDECAR:
        return parse_skill(head, folder=name, reading=reading, sidecar=read_sidecar(folder)), head
    manifest, problems = parse_skill(head, folder=name, reading=reading)
    message = f"{SIDECAR_PATH} is no plain file inside the skill"
    return Judgement(manifest, (*problems, make_problem("sidecar-invalid", message, path=SIDECAR_PATH))), head
