"""Bounds on the memory and the processes of a whole run, by the kernel's control groups, where these can be made.

Both kinds are in use: version 2, one tree for all controllers, and version 1, a tree for each. A group is made beside
or below that of this process, wherever that is allowed; nothing else of the machine's groups is touched.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from prowess.policy import RunLimits
from prowess.sources.source import is_below

__all__ = ["ControlGroup", "Place", "find_place", "make_control_group"]

_MOUNT = "/sys/fs/cgroup"
_PREFIX = "prowess-"
_NEEDED = ("memory", "pids")
_REMOVE_SECONDS = 1.0
_MAX_READ = 1 << 16


@dataclass(frozen=True, slots=True)
class Place:
    """Where groups can be made."""

    parents: tuple[str, ...]
    """One folder for version 2, one for each controller for version 1."""
    version: int


class ControlGroup:
    """One group, for one run."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        self._folders = folders

    def add(self, process: int) -> None:
        """Take a process in, and with it all that it starts from now on; raise `OSError` if it has ended."""
        for folder in self._folders:
            _write(os.path.join(folder, "cgroup.procs"), str(process))

    def find_fault(self) -> str:
        """Return which bound was reached, in words; empty if none was."""
        for folder in self._folders:
            if _count(folder, "memory.events", "oom_kill") or _count(folder, "memory.oom_control", "oom_kill"):
                return "memory"
            if _count(folder, "pids.events", "max"):
                return "processes"
        return ""

    def close(self) -> None:
        """Remove the group. What has just been killed may take a moment to leave it."""
        deadline = time.monotonic() + _REMOVE_SECONDS
        for folder in self._folders:
            while True:
                try:
                    os.rmdir(folder)
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        break  # The next process that makes groups here removes it.
                    time.sleep(0.001)
                else:
                    break


def make_control_group(limits: RunLimits) -> ControlGroup | None:
    """Return a new group with these bounds; None where this process may make none."""
    place = _find_own_place()
    if place is None:
        return None
    folders = _name_group(place)
    group = ControlGroup(folders)
    bounded: set[str] = set()
    try:
        for folder in folders:
            os.mkdir(folder)
            bounded |= _limit(folder, limits)
    except OSError:
        group.close()
        return None
    if bounded != set(_NEEDED):
        group.close()
        return None
    return group


def _name_group(place: Place) -> tuple[str, ...]:
    name = f"{_PREFIX}{os.getpid()}-{os.urandom(6).hex()}"
    return tuple(os.path.join(parent, name) for parent in place.parents)


def _limit(folder: str, limits: RunLimits) -> set[str]:
    """Write all bounds that this group's folder knows, and return the controllers that bound now."""
    memory = str(limits.memory_bytes)
    bounds = (
        ("memory.max", memory),
        ("memory.swap.max", "0"),
        ("memory.oom.group", "1"),
        ("memory.limit_in_bytes", memory),
        ("memory.memsw.limit_in_bytes", memory),
        ("pids.max", str(limits.processes)),
    )
    known = [(file, value) for file, value in bounds if os.path.exists(os.path.join(folder, file))]
    for file, value in known:
        _write(os.path.join(folder, file), value)
    return {file.partition(".")[0] for file, _ in known}


@cache
def _find_own_place() -> Place | None:
    return find_place(_read_own_groups())


def find_place(own: Mapping[str, str], *, mount: str = _MOUNT) -> Place | None:
    """Return where groups with all bounds can be made, found out by making one. Those left there before are removed.

    `own` is the group of this process by controller, and under no name that of version 2.
    """
    if all(controller in own for controller in _NEEDED):
        parents = tuple(_under(os.path.join(mount, controller), own[controller]) for controller in _NEEDED)
        place = Place(tuple(dict.fromkeys(parents)), 1)
        return place if _try(place) else None
    folder = _under(mount, own[""]) if "" in own else ""
    while is_below(folder, mount):  # A group with processes of its own gives no bounds on to those below it.
        place = Place((folder,), 2)
        if set(_NEEDED) <= set(_read(os.path.join(folder, "cgroup.subtree_control")).split()) and _try(place):
            return place
        folder = os.path.dirname(folder)
    return None


def _try(place: Place) -> bool:
    _remove_leftovers(place)
    try:
        for folder in _name_group(place):
            os.mkdir(folder)
            os.rmdir(folder)
    except OSError:
        return False
    return True


def _remove_leftovers(place: Place) -> None:
    """Remove groups whose maker is dead; those with processes in them cannot be removed, and stay."""
    for parent in place.parents:
        with suppress(OSError):
            for name in os.listdir(parent):
                maker = name.removeprefix(_PREFIX).partition("-")[0]
                if name.startswith(_PREFIX) and maker.isdigit() and not os.path.exists(f"/proc/{maker}"):
                    with suppress(OSError):
                        os.rmdir(os.path.join(parent, name))


def _read_own_groups() -> dict[str, str]:
    """Return the group of this process by controller; under no name that of version 2."""
    groups: dict[str, str] = {}
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        groups |= dict.fromkeys(controllers.split(","), path)
    return groups


def _under(mount: str, path: str) -> str:
    """Return a group's folder; in a container, what the path names may lie above all that is mounted."""
    folder = os.path.normpath(mount + "/" + path.lstrip("/"))
    return folder if is_below(folder, mount) and os.path.isdir(folder) else mount


def _count(folder: str, file: str, word: str) -> int:
    for line in _read(os.path.join(folder, file)).splitlines():
        name, _, number = line.partition(" ")
        if name == word and number.strip().isdigit():
            return int(number)
    return 0


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(_MAX_READ)
    except OSError:
        return ""


def _write(path: str, value: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(value)
