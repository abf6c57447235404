"""A small binding to Linux' inotify: add watches, and ask without waiting what has happened.

The kernel queues an event inside the writer's own system call. So a question asked after a change has been made always
hears of it, which no library that delivers events later can promise.
"""

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag

__all__ = ["Event", "Inotify", "InotifyUnavailable", "Mask"]

_HEADER = struct.Struct("iIII")
_BUFFER_BYTES = 1 << 16
_MAX_READS = 16
"""Of the queue for one question: somebody who never stops changing files must not hold the answer back."""


class InotifyUnavailable(Exception):
    """This system has no inotify, or no room for one more watch."""


class Mask(IntFlag):
    """The events that matter, and the marks that come with them."""

    MODIFY = 0x2
    ATTRIB = 0x4
    CLOSE_WRITE = 0x8
    MOVED_FROM = 0x40
    MOVED_TO = 0x80
    CREATE = 0x100
    DELETE = 0x200
    DELETE_SELF = 0x400
    MOVE_SELF = 0x800
    UNMOUNT = 0x2000
    OVERFLOW = 0x4000
    IGNORED = 0x8000
    ONLY_FOLDERS = 0x01000000
    NO_LINKS = 0x02000000
    """Watch a link itself, not what it leads to."""
    IS_FOLDER = 0x40000000


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened."""

    watch: int
    mask: int
    name: bytes


class Inotify:
    """One queue of events. Not for several threads at once."""

    def __init__(self) -> None:
        if not sys.platform.startswith("linux"):
            raise InotifyUnavailable("inotify is Linux only")
        library = ctypes.CDLL(None, use_errno=True)
        self._add = library.inotify_add_watch
        self._remove = library.inotify_rm_watch
        self._file: int = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._file < 0:
            raise InotifyUnavailable(os.strerror(ctypes.get_errno()))

    def watch(self, path: str | bytes, mask: int) -> int:
        """Return the number of the watch on a file or folder; the same one keeps its number, whatever its path."""
        number: int = self._add(self._file, os.fsencode(path), mask)
        if number >= 0:
            return number
        code = ctypes.get_errno()
        if code in (errno.ENOSPC, errno.ENOMEM):
            raise InotifyUnavailable(os.strerror(code))
        raise OSError(code, os.strerror(code), path)

    def unwatch(self, number: int) -> None:
        """Take a watch back; one that the kernel has dropped already is fine."""
        self._remove(self._file, number)

    def read(self) -> Iterator[Event]:
        """Return what has happened since the last question, without waiting.

        If it goes on happening as fast as it is read, the last event says that more has been missed.
        """
        for _ in range(_MAX_READS):
            try:
                raw = os.read(self._file, _BUFFER_BYTES)
            except BlockingIOError:
                return
            yield from _unpack(raw)
        yield Event(-1, Mask.OVERFLOW, b"")

    def close(self) -> None:
        """Drop the queue and all watches."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _unpack(raw: bytes) -> Iterator[Event]:
    offset = 0
    while offset < len(raw):
        watch, mask, _, length = _HEADER.unpack_from(raw, offset)
        offset += _HEADER.size
        yield Event(watch, mask, raw[offset : offset + length].rstrip(b"\0"))
        offset += length
