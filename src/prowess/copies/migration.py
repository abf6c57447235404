"""Bring an old flat `skills/` folder into the shape of today: everything in it goes to `skills/personal/`.

Each entry is moved by one rename, as it is: folders, files and links. So at every moment each of them is in its old
place or in its new one, and a migration that was cut off is carried on by the next.
"""

import os
import stat
from dataclasses import dataclass

from prowess.copies.disk_failures import telling
from prowess.copies.layout import Layout
from prowess.copies.personal import lock_path
from prowess.copies.user_folders import ensure_user_folders
from prowess.sources.durable_names import fsync_folder
from prowess.sources.folders import SKILL_MD
from prowess.sources.locks import Hold, hold_lock
from prowess.sources.skill_files import is_leftover

__all__ = ["Move", "OldFolder", "apply_migration", "plan_migration", "read_old_folder"]

_OWN = ("active", "personal")
_WORKSHOP = ".copies"
"""Where copies are made if the user's folder is on a disk of its own."""
_ON_THE_WAY = {f".{name}.on-the-way": name for name in _OWN}
"""What an old skill with the name of one of our folders is called until that folder is there to take it."""


@dataclass(frozen=True, slots=True)
class OldFolder:
    """What lies in a user's `skills/`."""

    entries: tuple[str, ...] = ()
    skills: frozenset[str] = frozenset()
    """Which of `active` and `personal` are themselves skills, from before these names were ours."""
    mixed: frozenset[str] = frozenset()
    """Which of these hold other skills as well, so that they could be either."""
    taken: frozenset[str] = frozenset()
    """Names that are in `personal/` already."""


@dataclass(frozen=True, slots=True)
class Move:
    """One entry, and what becomes of it."""

    name: str
    target: str | None
    """Its name in `personal/`; None if it stays."""
    reason: str = ""
    """Why it stays."""


def read_old_folder(layout: Layout, user: str) -> OldFolder:
    """Look at a user's folder; one that is not there has nothing in it."""
    folder = layout.skills_folder(user)
    with telling("the old skills cannot be listed"):
        entries = tuple(sorted(_names(folder)))
        skills = frozenset(name for name in _OWN if os.path.lexists(os.path.join(folder, name, SKILL_MD)))
        mixed = frozenset(name for name in skills if _holds_skills(os.path.join(folder, name)))
        personal = layout.personal(user)
        is_ours = "personal" not in skills - mixed and not os.path.islink(personal)
        return OldFolder(entries, skills, mixed, frozenset(_names(personal)) if is_ours else frozenset())


def plan_migration(old: OldFolder) -> tuple[Move, ...]:
    """Return what becomes of each entry that is not ours, in the order in which they are moved."""
    moves: list[Move] = []
    taken = set(old.taken)
    for name in sorted(old.entries, key=lambda name: (name not in _OWN, name)):
        target = _ON_THE_WAY.get(name, name)
        if (name in _OWN and name not in old.skills) or name == _WORKSHOP or is_leftover(os.fsencode(name)):
            continue
        if name in old.mixed:
            moves.append(Move(name, None, f"it has a {SKILL_MD} and holds other skills as well; sort it by hand"))
        elif name in _OWN and f".{name}.on-the-way" in old.entries:
            moves.append(Move(name, None, "another of its name is on the way since a migration that was cut off"))
        elif target in taken:
            moves.append(Move(name, None, f"personal/{target} is there already"))
        else:
            taken.add(target)
            moves.append(Move(name, target))
    return tuple(moves)


def apply_migration(layout: Layout, user: str) -> tuple[Move, ...]:
    """Move everything that can be moved; return what became of each entry. A second time there is nothing to do."""
    with telling("the old skills cannot be moved"), hold_lock(lock_path(layout, user), Hold.ALONE):
        folder, personal = layout.skills_folder(user), layout.personal(user)
        moves = plan_migration(read_old_folder(layout, user))
        for move in moves:
            if move.name in _OWN and move.target is not None:
                os.rename(os.path.join(folder, move.name), _waiting(folder, move.name))
        ensure_user_folders(layout, user)
        for move in moves:
            if move.target is not None:
                source = _waiting(folder, move.name) if move.name in _OWN else os.path.join(folder, move.name)
                os.rename(source, os.path.join(personal, move.target))
        fsync_folder(personal)
        fsync_folder(folder)
        return moves


def _waiting(folder: str, name: str) -> str:
    return os.path.join(folder, f".{name}.on-the-way")


def _holds_skills(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name, SKILL_MD)) for name in _names(folder))


def _names(folder: str) -> list[str]:
    """Return the names in a folder; none if there is no such folder."""
    try:
        if stat.S_ISDIR(os.stat(folder).st_mode):
            return os.listdir(folder)
    except FileNotFoundError:
        pass
    return []
