"""Know which roots may have changed since the last question, without a system call for each skill.

A root is *calm* while nothing was heard of it and it is still the folder it was. Whatever could hide a change makes a
root unreliable instead, so that it is searched each time: no inotify, no room for watches, a file system that sends no
events, links that may lead to something else.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from prowess.catalog.inotify import Event, Inotify, InotifyUnavailable, Mask
from prowess.sources.folders import SKILL_MD
from prowess.sources.mount_points import read_mount_points
from prowess.sources.source import is_below

__all__ = ["Coverage", "Watcher", "read_mounts", "sends_no_events"]

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
    | Mask.ONLY_FOLDERS
)
_OF_THE_FOLDER_ITSELF = Mask.DELETE_SELF | Mask.MOVE_SELF | Mask.UNMOUNT | Mask.IGNORED
_OF_CONTENT_ONLY = Mask.MODIFY | Mask.CLOSE_WRITE
_MANIFEST = SKILL_MD.encode()
_JUDGED_FILES = frozenset({_MANIFEST, b"agents", b"openai.yaml", b""})
"""What counts in a skill's own folder and in `agents`; no name means the folder itself."""
_WITHOUT_EVENTS = frozenset(
    {"9p", "afs", "ceph", "cifs", "davfs", "gcsfuse", "lustre", "nfs", "nfs4", "smb3", "vboxsf", "virtiofs", "vmhgfs"}
)

_Identity = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What must be watched of a root after a search."""

    listed: tuple[str, ...] = ()
    """Folders in which skills are looked for."""
    skills: tuple[str, ...] = ()
    """Folders of skills, and what they hold that counts."""
    links: tuple[str, ...] = ()
    """Skill folders that are links."""
    certain: bool = True
    """Whether all that matters lies in these folders."""
    places: tuple[str, ...] = ()
    """One of these folders for each device that they lie on, at least where that is not the root's."""


@dataclass(slots=True)
class _RootWatch:
    root: str
    identity: _Identity | None = None
    """Of the root when it was last called calm; None if it was not there."""
    calm: bool = False
    reliable: bool = True
    """Whether silence means that nothing happened."""
    shifted: bool = False
    """Folders were moved, made or removed: a path may stand for another folder than the one that is watched."""
    watches: dict[str, "_Watch"] = field(default_factory=dict[str, "_Watch"])
    links: dict[str, _Identity | None] = field(default_factory=dict[str, "_Identity | None"])
    """Skill folders that are links, with the folders that they led to."""
    stirred: set[str] | None = None
    """The skills whose SKILL.md was written, replaced or removed since the last search; None: more may have changed."""

    def leads_elsewhere(self) -> bool:
        """Whether one of the links has another target by now."""
        return any(_identify(link) != known for link, known in self.links.items())

    def disturb(self) -> None:
        self.calm, self.shifted, self.stirred = False, True, None


class _Watch(NamedTuple):
    number: int
    is_listed: bool


class _Owner(NamedTuple):
    root: str
    folder: str


class Watcher:
    """Watches the folders of several roots with one queue."""

    def __init__(self, *, list_mounts: Callable[[], list[tuple[str, str]]] | None = None) -> None:
        self._list_mounts = list_mounts or read_mounts
        self._mounts: list[tuple[str, str]] | None = None
        """As they were at the last question; None until somebody wants to know."""
        self._roots: dict[str, _RootWatch] = {}
        self._owners: dict[int, set[_Owner]] = {}  # Two roots may share a folder.
        self._process = os.getpid()
        try:
            self._queue: Inotify | None = Inotify()
        except InotifyUnavailable:
            self._queue = None

    @property
    def works(self) -> bool:
        """Whether this system can watch at all."""
        return self._queue is not None

    @property
    def is_mine(self) -> bool:
        """Whether this process made the watcher; a fork shares the queue, and would take the other's events."""
        return self._process == os.getpid()

    def is_reliable(self, root: str) -> bool:
        """Whether a change of this root would be heard of."""
        return self._queue is not None and self._root(root).reliable

    def find_restless(self, roots: Iterable[str]) -> list[str]:
        """Return the roots that may have changed since they were last called calm."""
        self._mounts = None
        self._listen()
        return [root for root in roots if not self._is_calm(root)]

    def begin(self, root: str) -> frozenset[str]:
        """Call a root calm before it is searched, so that a change during the search is heard of.

        The folders in the answer, if there are any, need another look at their SKILL.md, and nothing else of the root.
        """
        self._listen()
        watch = self._root(root)
        identity = _identify(root)
        if identity != watch.identity or watch.leads_elsewhere():
            watch.disturb()
        stirred, watch.stirred = watch.stirred, set() if watch.stirred else None
        watch.identity, watch.calm = identity, True
        return frozenset(stirred or ())

    def cover(self, root: str, coverage: Coverage) -> bool:
        """Watch these folders of a root and no others; say whether some were not watched before.

        A folder that is new here may have changed after it was searched: then the root must be searched once more.
        """
        watch = self._root(root)
        watch.reliable = coverage.certain and not self._is_silent((root, *coverage.places))
        watch.stirred = None
        wanted: dict[str, bool] = {}
        if watch.reliable:
            wanted = dict.fromkeys(coverage.skills, False) | dict.fromkeys(coverage.listed, True)
        watch.links = {link: _identify(link) for link in coverage.links}
        for folder in [folder for folder in watch.watches if folder not in wanted]:
            self._drop(watch, folder)
        if self._queue is None or not watch.reliable:
            return False
        added = self._add(self._queue, watch, wanted)
        watch.shifted = False
        if watch.reliable and watch.calm and not added:
            watch.stirred = set()
        return added

    def forget(self, roots: Iterable[str]) -> None:
        """Stop watching all roots but these."""
        for root in set(self._roots) - set(roots):
            watch = self._roots.pop(root)
            for folder in list(watch.watches):
                self._drop(watch, folder)

    def close(self) -> None:
        """Give the queue back."""
        if self._queue is not None:
            self._queue.close()
            self._queue = None

    def _root(self, root: str) -> _RootWatch:
        return self._roots.setdefault(root, _RootWatch(root))

    def _is_calm(self, root: str) -> bool:
        watch = self._root(root)
        if self._queue is None or not watch.reliable or not watch.calm:
            return False
        if watch.identity != _identify(root) or watch.leads_elsewhere():
            watch.disturb()
        return watch.calm

    def _add(self, queue: Inotify, watch: _RootWatch, wanted: Mapping[str, bool]) -> bool:
        added = False
        for folder, is_listed in wanted.items():
            known = watch.watches.get(folder)
            if known is not None and known.is_listed is is_listed and not watch.shifted:
                continue
            try:
                number = queue.watch(folder, _MASK)
            except InotifyUnavailable:
                watch.reliable = False
                return False
            except OSError:  # It vanished: the folder above has told, or will.
                watch.calm = False
                continue
            if known is None or known != (number, is_listed):
                if known is not None and known.number != number:
                    self._drop(watch, folder)
                watch.watches[folder] = _Watch(number, is_listed)
                self._owners.setdefault(number, set()).add(_Owner(watch.root, folder))
                added = True
        return added

    def _drop(self, watch: _RootWatch, folder: str) -> None:
        known = watch.watches.pop(folder, None)
        owners = self._owners.get(known.number) if known is not None else None
        if known is None or owners is None:
            return
        owners.discard(_Owner(watch.root, folder))
        if not owners:
            del self._owners[known.number]
            if self._queue is not None:
                self._queue.unwatch(known.number)

    def _listen(self) -> None:
        if self._queue is None:
            return
        for event in self._queue.read():
            if event.mask & Mask.OVERFLOW:
                for watch in self._roots.values():
                    watch.disturb()
            else:
                self._hear(event)

    def _hear(self, event: Event) -> None:
        for owner in list(self._owners.get(event.watch, ())):
            watch = self._roots[owner.root]
            if not _matters(event, is_listed=watch.watches[owner.folder].is_listed):
                continue
            watch.calm = False
            if watch.stirred is not None and _is_of_manifest(event) and not watch.watches[owner.folder].is_listed:
                watch.stirred.add(owner.folder)
            else:
                watch.stirred = None
            if event.mask & (_OF_THE_FOLDER_ITSELF | Mask.IS_FOLDER):
                watch.shifted = True
            if event.mask & Mask.IGNORED:
                watch.watches.pop(owner.folder, None)
        if event.mask & Mask.IGNORED:
            self._owners.pop(event.watch, None)

    def _is_silent(self, places: Iterable[str]) -> bool:
        """Whether one of the places lies where not all changes are told of, as things are mounted now."""
        if self._mounts is None:
            self._mounts = self._list_mounts()
        return any(sends_no_events(os.path.realpath(place), self._mounts) for place in places)


def _matters(event: Event, *, is_listed: bool) -> bool:
    """Whether the event may change which skills there are, or what one of them says."""
    if event.mask & _OF_THE_FOLDER_ITSELF:
        return True
    if is_listed:
        return event.name in _JUDGED_FILES or not event.mask & _OF_CONTENT_ONLY
    return event.name in _JUDGED_FILES


def _is_of_manifest(event: Event) -> bool:
    """Whether the event tells of a SKILL.md and of nothing else."""
    return event.name == _MANIFEST and not event.mask & (_OF_THE_FOLDER_ITSELF | Mask.IS_FOLDER)


def _identify(folder: str) -> _Identity | None:
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def sends_no_events(folder: str, mounts: Iterable[tuple[str, str]]) -> bool:
    """Whether the folder, a path without links, lies on a file system that does not tell of all changes."""
    kind = ""
    for place, name in mounts:
        if is_below(folder, place):
            kind = name
    return kind in _WITHOUT_EVENTS or kind.startswith("fuse")


def read_mounts() -> list[tuple[str, str]]:
    """Return mount points with their file systems, outer ones first."""
    mounts = [(mount.place, mount.kind) for mount in read_mount_points()]
    return sorted(mounts, key=lambda mount: len(mount[0]))
