"""Bounds on the memory and the processes of a whole run where no control group can be made: look, and end it.

What is found is of the past twentieth of a second, so a bound can be passed by what a run gains in that time. All
processes of a run hang below the first one of its namespace, which takes over the orphans.
"""

import os
from collections.abc import Callable, Iterable

from prowess.policy import RunLimits

__all__ = ["Watchdog"]

_PROC = "/proc"
_MAX_READ = 1 << 16


class Watchdog:
    """Looks at a process and all below it. `proc` is where the kernel tells of them."""

    def __init__(self, first: int, limits: RunLimits, *, proc: str = _PROC) -> None:
        self._first = first
        self._limits = limits
        self._proc = proc

    def find_fault(self) -> str:
        """Return which bound is passed now, in words; empty if none is."""
        most = self._limits.processes
        tree = self._list_tree(most + 1)
        if len(tree) > most:
            return "processes"
        return "memory" if self._is_over_memory(tree) else ""

    def is_waiting(self) -> bool:
        """Whether the first process has started another and waits for its end."""
        state = _read(f"{self._proc}/{self._first}/stat").rpartition(b")")[2].split()[:1]
        return state == [b"S"] and len(self._list_tree(2)) > 1

    def _list_tree(self, most: int) -> list[int]:
        """Return the first process and those below it, no more than so many."""
        find_children = self._choose_way()
        tree, waiting = list[int](), [self._first]
        while waiting and len(tree) < most:
            process = waiting.pop()
            tree.append(process)
            waiting += find_children(process)
        return tree

    def _choose_way(self) -> Callable[[int], Iterable[int]]:
        """Return what tells the children of a process; not every kernel has a list of them."""
        if os.path.exists(f"{self._proc}/{self._first}/task/{self._first}/children"):
            return self._read_children
        children: dict[int, list[int]] = {}
        for name in filter(str.isdecimal, _list(self._proc)):
            # The name of the program, in brackets, may hold anything; its state and its parent come after.
            words = _read(f"{self._proc}/{name}/stat").rpartition(b")")[2].split()
            if len(words) > 1:
                children.setdefault(int(words[1]), []).append(int(name))
        return lambda process: children.get(process, ())

    def _read_children(self, process: int) -> list[int]:
        tasks = f"{self._proc}/{process}/task"
        return [int(child) for thread in _list(tasks) for child in _read(f"{tasks}/{thread}/children").split()]

    def _is_over_memory(self, tree: list[int]) -> bool:
        """Whether the processes together hold more than they may.

        The quick look counts what they share for each of them, and files in memory that are both open and mapped twice.
        Only if that is too much, the kernel is asked to share it out, which takes it longer.
        """
        most = self._limits.memory_bytes
        files: dict[tuple[int, int], int] = {}
        for process in tree:
            files |= self._measure_open_memory(process)
        in_files = sum(files.values())
        quick = [self._read_sizes(process, "status", b"RssAnon:", b"RssShmem:") for process in tree]
        if sum(map(sum, quick)) + in_files <= most:
            return False
        exact = [
            self._read_sizes(process, "smaps_rollup", b"Pss_Anon:", b"Pss_Shmem:") or known
            for process, known in zip(tree, quick, strict=True)
        ]
        own, shared = (sum(sizes[part] for sizes in exact if sizes) for part in (0, 1))
        return own + max(shared, in_files) > most

    def _read_sizes(self, process: int, file: str, *names: bytes) -> tuple[int, ...]:
        """Return these sizes of a process in bytes; nothing if it has none, or has ended."""
        words = [line.split() for line in _read(f"{self._proc}/{process}/{file}").splitlines()]
        found = {row[0]: int(row[1]) << 10 for row in words if len(row) == 3 and row[0] in names}
        return tuple(found[name] for name in names) if len(found) == len(names) else ()

    def _measure_open_memory(self, process: int) -> dict[tuple[int, int], int]:
        """Return the files without a name that a process holds open, which are memory whether it maps them or not."""
        folder, found = f"{self._proc}/{process}/fd", dict[tuple[int, int], int]()
        for name in _list(folder):
            try:
                if os.readlink(f"{folder}/{name}").startswith("/memfd:"):
                    status = os.stat(f"{folder}/{name}")
                    found[status.st_dev, status.st_ino] = status.st_blocks * 512
            except OSError:
                continue  # It was closed meanwhile.
        return found


def _list(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read(path: str) -> bytes:
    """Return what the kernel tells; nothing of what has ended meanwhile."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(_MAX_READ)
    except OSError:
        return b""
