"""From a folder with a SKILL.md to what is thought of it: one way for all who judge a skill on disk."""

import os
import stat
from typing import cast

from prowess.policy import Reading, UnknownKeys
from prowess.skill.dialects import SIDECAR_PATH
from prowess.skill.faultless import read_faultless
from prowess.skill.problems import Problem, make_problem
from prowess.skill.reading import Judgement, parse_in_full
from prowess.sources.heads import complete_head, read_beginning, read_sidecar, sidecar_status
from prowess.sources.source import show_path
from prowess.sources.stamps import Stamp, stamp_file

__all__ = ["find_sidecar", "judge_folder", "name_folder"]

_ODD_SIDECAR = cast("Stamp", (1, 0, 0, 0, 0, 0))
"""Stands for a sidecar that is no plain file."""


_access, _EXISTS, _DIALECTS = os.access, os.F_OK, UnknownKeys.DIALECTS
"""Looked up once: the next is asked of thousands of folders, hardly any of which has a sidecar."""


def find_sidecar(folder: str, reading: Reading) -> Stamp | None:
    """Return the stamp of the folder's sidecar; None if there is none, or if it is not read."""
    if reading.unknown_keys is not _DIALECTS or not _access(f"{folder}/{SIDECAR_PATH}", _EXISTS):
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
    beginning = read_beginning(folder, status)
    if isinstance(beginning, Problem):
        return Judgement(None, (beginning,)), None
    faultless = read_faultless(beginning, name) if sidecar is None else None
    if faultless is not None:
        return Judgement(faultless), beginning
    head = complete_head(folder, status, beginning)
    if isinstance(head, Problem):
        return Judgement(None, (head,)), None
    if sidecar != _ODD_SIDECAR:
        further = read_sidecar(folder) if sidecar is not None else None
        return parse_in_full(head, folder=name, reading=reading, sidecar=further), head
    manifest, problems = parse_in_full(head, folder=name, reading=reading)
    message = f"{SIDECAR_PATH} is no plain file inside the skill"
    return Judgement(manifest, (*problems, make_problem("sidecar-invalid", message, path=SIDECAR_PATH))), head
