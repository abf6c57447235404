"""Know which skills may have changed since their files were last found unchanged, without a system call for each.

A skill is *calm* while nothing was heard of any of its files and folders. It is called so only in this order: watch all
of them, then find every stamp unchanged, and hear nothing in between. Files are watched themselves, not only by their
folders: a write through another hard link is heard of in no folder of the skill. Whatever could hide a change leaves a
skill without calm: no inotify, no room for watches, a file system that sends no events. Then its stamps are compared.

Folders above a skill are not watched here: who knows that one of them was replaced has to say so.
"""

import os
import stat
from collections.abc import Iterable

from prowess.catalog.fingerprints import Fingerprint
from prowess.catalog.inotify import Event, Inotify, InotifyUnavailable, Mask
from prowess.catalog.watching import read_mounts, sends_no_events

__all__ = ["MAX_WATCHES", "FileWatcher"]

MAX_WATCHES = 200_000
"""Of one process, and never more than half of what the system allows to a user: others want to watch too."""

_OF_FOLDERS = (
    Mask.ATTRIB
    | Mask.CREATE
    | Mask.DELETE
    | Mask.MOVED_FROM
    | Mask.MOVED_TO
    | Mask.DELETE_SELF
    | Mask.MOVE_SELF
    | Mask.ONLY_FOLDERS
    | Mask.NO_LINKS
)
_OF_FILES = Mask.MODIFY | Mask.ATTRIB | Mask.CLOSE_WRITE | Mask.NO_LINKS
_ALLOWED_WATCHES = "/proc/sys/fs/inotify/max_user_watches"


class _Followed:
    """A skill that is watched."""

    __slots__ = ("calm", "mark", "numbers", "sound", "stirred")

    def __init__(self, mark: Fingerprint, numbers: set[int], stirred: int) -> None:
        self.mark = mark
        self.numbers = numbers
        self.stirred = stirred
        """Which stir was the last of this skill."""
        self.calm = False
        self.sound = False
        """The watches are on the very files of the fingerprint, and none of them was dropped."""


class FileWatcher:
    """Watches the files of many skills with one queue. Not for several threads at once."""

    def __init__(self, *, max_watches: int = MAX_WATCHES) -> None:
        self.stirs = 0
        """Grows whenever a skill loses its calm. While it is the same, every skill that was calm still is."""
        self._followed: dict[str, _Followed] = {}
        self._owners: dict[int, set[_Followed]] = {}  # Two skills may share a file by hard links.
        self._silent_devices: dict[int, bool] = {}
        self._max_watches = min(max_watches, _read_allowed_watches() // 2)
        self._process = os.getpid()
        try:
            self._queue: Inotify | None = Inotify()
        except InotifyUnavailable:
            self._queue = None

    @property
    def works(self) -> bool:
        """Whether this system can watch, and has room for it."""
        return self._queue is not None

    @property
    def is_mine(self) -> bool:
        """Whether this process made the watcher; a fork shares the queue, and would take the other's events."""
        return self._process == os.getpid()

    def listen(self) -> None:
        """Hear what has happened until now."""
        if self._queue is None:
            return
        for event in self._queue.read():
            if event.mask & Mask.OVERFLOW:
                self._lose_track()
            else:
                self._hear(event)

    def is_calm(self, mark: Fingerprint) -> bool:
        """Whether nothing was heard of the skill since its files were found to be those of the fingerprint."""
        known = self._followed.get(mark.folder)
        return known is not None and known.calm and known.mark is mark

    def follow(self, mark: Fingerprint) -> int | None:
        """Watch the files of the fingerprint, and no others of this skill; return the ticket with which to settle it.

        None if they cannot be watched.
        """
        known = self._followed.get(mark.folder)
        if known is not None and known.mark is mark and known.sound:
            return known.stirred
        numbers = self._watch(mark)
        if numbers is None:
            return None
        self.stirs += 1
        fresh = _Followed(mark, numbers, self.stirs)
        for number in numbers:
            self._owners.setdefault(number, set()).add(fresh)
        if known is not None:
            self._release(known)
        self._followed[mark.folder] = fresh
        return fresh.stirred

    def settle(self, mark: Fingerprint, ticket: int) -> None:
        """Call the skill calm, unless it stirred since it was followed; its stamps were found unchanged after that."""
        known = self._followed.get(mark.folder)
        if known is not None and known.mark is mark and known.stirred == ticket:
            known.calm = known.sound = True

    def unsettle(self) -> None:
        """Call no skill calm: its folder may be another one by now. The watches stay."""
        for known in self._followed.values():
            self._stir(known)

    def forget_all_but(self, folders: Iterable[str]) -> None:
        """Watch no other skills than those in these folders."""
        for folder in set(self._followed).difference(folders):
            self._release(self._followed.pop(folder))

    def close(self) -> None:
        """Give the queue back; nothing is calm any more."""
        self.stirs += 1
        self._followed.clear()
        self._owners.clear()
        if self._queue is not None:
            self._queue.close()
            self._queue = None

    def _watch(self, mark: Fingerprint) -> set[int] | None:
        queue = self._queue
        if queue is None or len(self._owners) + len(mark.paths) > self._max_watches or self._is_silent(mark):
            return None
        numbers: set[int] = set()
        try:
            for path, stamp in zip(mark.paths, mark.stamps, strict=True):
                if stat.S_ISDIR(stamp[5]):
                    numbers.add(queue.watch(path, _OF_FOLDERS))
                elif stat.S_ISREG(stamp[5]):  # The text of a link cannot change; a new link is heard of in its folder.
                    numbers.add(queue.watch(path, _OF_FILES))
        except InotifyUnavailable:  # Whoever else has watches needs them more: stamps can be compared instead.
            self.close()
            return None
        except OSError:  # It vanished, as the stamps will tell.
            self._unwatch(numbers)
            return None
        return numbers

    def _release(self, known: _Followed) -> None:
        for number in known.numbers:
            self._owners[number].discard(known)
        self._unwatch(known.numbers)

    def _unwatch(self, numbers: Iterable[int]) -> None:
        """Take back the watches that no skill needs."""
        for number in numbers:
            if not self._owners.get(number):
                self._owners.pop(number, None)
                if self._queue is not None:
                    self._queue.unwatch(number)

    def _hear(self, event: Event) -> None:
        is_dropped = bool(event.mask & Mask.IGNORED)
        for known in self._owners.get(event.watch, ()):
            self._stir(known)
            if is_dropped:
                known.sound = False
                known.numbers.discard(event.watch)
        if is_dropped:
            self._owners.pop(event.watch, None)

    def _lose_track(self) -> None:
        """Events were lost, perhaps also that watches were dropped."""
        for known in self._followed.values():
            self._stir(known)
            known.sound = False

    def _stir(self, known: _Followed) -> None:
        self.stirs += 1
        known.stirred = self.stirs
        known.calm = False

    def _is_silent(self, mark: Fingerprint) -> bool:
        """Whether some of the files lie where not all changes are told of. A device has one kind of file system."""
        places = {stamp[0]: path for path, stamp in zip(mark.paths, mark.stamps, strict=True)}
        for device in places.keys() - self._silent_devices.keys():
            self._silent_devices[device] = sends_no_events(os.fsdecode(places[device]), read_mounts())
        return any(self._silent_devices[device] for device in places)


def _read_allowed_watches() -> int:
    try:
        with open(_ALLOWED_WATCHES, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 2 * MAX_WATCHES
