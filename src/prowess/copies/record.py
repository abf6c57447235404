"""The record of a root: which copies were placed in it, written down so that a crash leaves no false line.

It is a log. Before copies are changed, a line says that they are in doubt; afterwards, one says what they are now. A
copy in doubt is read before it is believed. So the price of a change does not depend on how many copies there are.
"""

import json
import os
import threading
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from prowess.copies.plan import Placed
from prowess.sources.durable_names import fsync_folder
from prowess.sources.private_folders import make_private_folder

__all__ = ["Record"]

_HEADER = "prowess-copies-2"
_SPARE_LINES = 200
"""Lines beyond those that count, before the log is written anew; or as many as those that count."""
_TOO_MANY_LINES = 1 << 62
_Mark = tuple[int, int, int, int]


@dataclass(slots=True)
class Record:
    """The log in one file. Only who holds the root's lock adds to it; anybody may read it."""

    path: str
    durable: bool = True
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _mark: _Mark | None = None
    _copies: dict[str, Placed] = field(default_factory=dict[str, Placed])
    _lines: int = 0

    def read(self) -> Mapping[str, Placed]:
        """Return the copies that are certain by key; nothing if the log is damaged."""
        with self._lock:
            return self._read()

    def _read(self) -> dict[str, Placed]:
        try:
            with open(self.path, "rb") as file:
                mark = _mark(os.fstat(file.fileno()))
                if mark == self._mark:
                    return self._copies
                raw = file.read()
        except (FileNotFoundError, NotADirectoryError):
            self._mark, self._copies, self._lines = None, {}, 0
            return self._copies
        self._copies, self._lines = _replay(raw)
        self._mark = mark
        return self._copies

    def version(self) -> object:
        """Return something that changes whenever the log does, at the price of one look."""
        try:
            return _mark(os.stat(self.path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def doubt(self, keys: Iterable[str]) -> None:
        """Note that these copies are about to change; those of which nothing is known are in doubt anyway."""
        known = self.read()
        self._append([[key] for key in keys if key in known])

    def note(self, placed: Mapping[str, Placed]) -> None:
        """Note what was placed."""
        self._append([[key, *copy] for key, copy in placed.items()])

    def _append(self, rows: list[list[object]]) -> None:
        if rows:
            with self._lock:
                self._write(rows)

    def _write(self, rows: list[list[object]]) -> None:
        copies = dict(self._read())
        for row in rows:
            _apply(copies, row)
        if self._mark is None or self._lines + len(rows) > 2 * len(copies) + _SPARE_LINES:
            self._rewrite(copies)
            return
        with open(self.path, "ab") as file:
            file.write(b"".join(map(_encode, rows)))
            file.flush()
            if self.durable:
                os.fsync(file.fileno())
            self._mark = _mark(os.fstat(file.fileno()))
        self._copies, self._lines = copies, self._lines + len(rows)

    def _rewrite(self, copies: dict[str, Placed]) -> None:
        folder = os.path.dirname(self.path)
        make_private_folder(folder)
        temporary = f"{self.path}.new"
        with open(temporary, "wb") as file:
            file.write(b"".join([_encode(_HEADER), *(_encode([key, *copy]) for key, copy in copies.items())]))
            file.flush()
            if self.durable:
                os.fsync(file.fileno())
        os.replace(temporary, self.path)
        if self.durable:
            fsync_folder(folder)
        self._copies, self._lines, self._mark = copies, len(copies), _mark(os.stat(self.path))


def _mark(status: os.stat_result) -> _Mark:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _encode(row: object) -> bytes:
    body = json.dumps(row, ensure_ascii=True).encode()
    return b"%08x %b\n" % (zlib.crc32(body), body)


def _replay(raw: bytes) -> tuple[dict[str, Placed], int]:
    """Return what the log says, and its lines. A line that was cut off at the end does not count; any other damage
    voids it all. Either way it has too many lines, so that it is written anew before anything is added.
    """
    *lines, rest = raw.split(b"\n")
    copies: dict[str, Placed] = {}
    for number, line in enumerate(lines):
        row = _decode(line)
        if number == 0 and row == _HEADER:
            continue
        if number == 0 or not isinstance(row, list) or not _apply(copies, cast("list[object]", row)):
            return {}, _TOO_MANY_LINES
    return copies, _TOO_MANY_LINES if rest or not lines else len(lines)


def _decode(line: bytes) -> object:
    checksum, _, body = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(body):
        return None
    try:
        return json.loads(body)
    except ValueError:
        return None


def _apply(copies: dict[str, Placed], row: list[object]) -> bool:
    match row:
        case [str(key)]:
            copies.pop(key, None)
        case [str(key), str(skill), str(digest), int(inode), int(changed), str(folder)]:
            copies[key] = Placed(skill, digest, inode, changed, folder)
        case _:
            return False
    return True
