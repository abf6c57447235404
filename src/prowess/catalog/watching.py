"""Know which roots may have changed since the last question, without a system call for each skill.

A root is *calm* while nothing was heard of it and it is still the folder it was. Whatever could hide a change makes a
root unwatched instead, so that it is searched each time: no inotify, no room for watches, a file system that sends no
events.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from prowess.catalog.inotify import Event, Inotify, InotifyUnavailable, Mask
from prowess.sources.folders import SKILL_MD
from prowess.sources.source import is_below

__all__ = ["RootWatch", "Watcher"]

_MASK = (
    Mask.MODIFY
    | Mask.ATTRIB
    | Mask.CLOSE_WRITE
    | Mask.MOVED_FROM
    | Mask.MOVED_TO
    | Mask.CREATE
    | Mask.DELETE
    | Mask.DELETE_SELF
    | Mask.MOVE_SELF
)
_OF_THE_FOLDER_ITSELF = Mask.DELETE_SELF | Mask.MOVE_SELF | Mask.UNMOUNT | Mask.IGNORED
_OF_CONTENT_ONLY = Mask.MODIFY | Mask.CLOSE_WRITE
_JUDGED_FILES = frozenset({SKILL_MD.encode(), b"agents", b"openai.yaml", b""})
"""What counts in a skill's own folder and in `agents`; no name means the folder itself."""
_WITHOUT_EVENTS = frozenset(
    {"9p", "afs", "ceph", "cifs", "davfs", "gcsfuse", "lustre", "nfs", "nfs4", "smb3", "vboxsf", "virtiofs", "vmhgfs"}
)


@dataclass(slots=True)
class RootWatch:
    """What is watched for one root."""

    root: str
    identity: tuple[int, int] | None = None
    """Device and inode of the root when it was watched; None if it was not there."""
    calm: bool = False
    reliable: bool = True
    """Whether silence means that nothing happened."""
    watches: dict[str, int] = field(default_factory=dict[str, int])
    linked: dict[str, str] = field(default_factory=dict[str, str])
    """Skill folders that are links, with the real folders that they led to."""


class _Owner(NamedTuple):
    root: str
    folder: str
    is_listed: bool
    """Whether skills are looked for in it, as opposed to a skill's own folder."""


class Watcher:
    """Watches the folders of several roots with one queue."""

    def __init__(self) -> None:
        self._roots: dict[str, RootWatch] = {}
        self._owners: dict[int, _Owner] = {}
        self._filesystems: list[tuple[str, str]] | None = None
        try:
            self._queue: Inotify | None = Inotify()
        except InotifyUnavailable:
            self._queue = None

    @property
    def works(self) -> bool:
        """Whether this system can watch at all."""
        return self._queue is not None

    def is_reliable(self, root: str) -> bool:
        """Whether a change of this root would be heard of."""
        return self._queue is not None and self._root(root).reliable

    def restless(self, roots: Iterable[str]) -> list[str]:
        """Return the roots that may have changed since they were last called calm."""
        self._listen()
        return [root for root in roots if not self._is_calm(root)]

    def begin(self, root: str) -> None:
        """Call a root calm before it is searched, so that a change during the search is heard of."""
        self._listen()
        watch = self._root(root)
        watch.identity = _identity(root)
        watch.calm = True

    def cover(self, root: str, *, listed: Iterable[str], skills: Iterable[str], linked: dict[str, str]) -> bool:
        """Watch these folders of a root and no others; say whether some were not watched before.

        A folder that is new here may have changed after it was searched: then the root must be searched once more.
        """
        watch = self._root(root)
        if self._queue is None or not watch.reliable:
            return False
        if self._sends_no_events(root):
            watch.reliable = False
            return False
        watch.linked = linked
        wanted = dict.fromkeys(listed, True) | dict.fromkeys(skills, False)
        for folder in [folder for folder in watch.watches if folder not in wanted]:
            self._drop(watch.watches.pop(folder))
        return self._add(self._queue, watch, wanted)

    def distrust(self, root: str) -> None:
        """Search this root each time: something in it can change unheard."""
        self._root(root).reliable = False

    def forget(self, roots: Iterable[str]) -> None:
        """Stop watching all roots but these."""
        for root in set(self._roots) - set(roots):
            for number in self._roots.pop(root).watches.values():
                self._drop(number)

    def close(self) -> None:
        """Give the queue back."""
        if self._queue is not None:
            self._queue.close()
            self._queue = None

    def _root(self, root: str) -> RootWatch:
        return self._roots.setdefault(root, RootWatch(root))

    def _is_calm(self, root: str) -> bool:
        watch = self._root(root)
        if self._queue is None or not watch.reliable or not watch.calm or watch.identity != _identity(root):
            return False
        return all(os.path.realpath(link) == real for link, real in watch.linked.items())

    def _add(self, queue: Inotify, watch: RootWatch, wanted: dict[str, bool]) -> bool:
        added = False
        for folder, is_listed in wanted.items():
            if folder in watch.watches:
                continue
            try:
                number = queue.watch(folder, _MASK)
            except InotifyUnavailable:
                watch.reliable = False
                return False
            except OSError:  # It vanished: the folder above has told, or will.
                watch.calm = False
                continue
            watch.watches[folder] = number
            self._owners[number] = _Owner(watch.root, folder, is_listed)
            added = True
        return added

    def _drop(self, number: int) -> None:
        if self._queue is not None and self._owners.pop(number, None) is not None:
            self._queue.unwatch(number)

    def _listen(self) -> None:
        if self._queue is None:
            return
        for event in self._queue.read():
            if event.mask & Mask.OVERFLOW:
                for watch in self._roots.values():
                    watch.calm = False
            else:
                self._hear(event)

    def _hear(self, event: Event) -> None:
        owner = self._owners.get(event.watch)
        if owner is None:
            return
        watch = self._roots.get(owner.root)
        if event.mask & Mask.IGNORED:
            del self._owners[event.watch]
            if watch is not None:
                watch.watches.pop(owner.folder, None)
        if watch is not None and _matters(event, is_listed=owner.is_listed):
            watch.calm = False

    def _sends_no_events(self, root: str) -> bool:
        if self._filesystems is None:
            self._filesystems = _read_mounts()
        real = os.path.realpath(root)
        kind = ""
        for place, name in self._filesystems:
            if is_below(real, place):
                kind = name
        return kind in _WITHOUT_EVENTS or kind.startswith("fuse")


def _matters(event: Event, *, is_listed: bool) -> bool:
    """Whether the event may change which skills there are, or what one of them says."""
    if event.mask & _OF_THE_FOLDER_ITSELF:
        return True
    if is_listed:
        return event.name == SKILL_MD.encode() or not event.mask & _OF_CONTENT_ONLY
    return event.name in _JUDGED_FILES


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _read_mounts() -> list[tuple[str, str]]:
    """Return mount points with their file systems, outer ones first."""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.split(" ") for line in file]
    except OSError:
        return []
    mounts = [(row[1].replace("\\040", " "), row[2]) for row in rows if len(row) > 2]
    return sorted(mounts, key=lambda mount: len(mount[0]))
