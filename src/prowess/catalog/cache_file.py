"""One value in one file that is always safe to delete: written whole, checked when read, shared without locks."""

import os
import tempfile
import zlib
from typing import TypeVar

from prowess.sources.private_folders import make_private_folder

__all__ = ["read_cache", "write_cache"]

MAX_FILES = 512
"""How many files a cache folder may hold before old ones go."""

_T = TypeVar("_T")


def read_cache(path: str, *, header: bytes, kind: type[_T]) -> _T | None:
    """Return the value in the file; None if it is missing, damaged, or of another format."""
    import msgspec  # Loaded by those who scan, not by those who import the library.

    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError:
        return None
    start = len(header) + 4
    if raw[: len(header)] != header or raw[len(header) : start] != _checksum(raw[start:]):
        return None
    try:
        return msgspec.msgpack.decode(raw[start:], type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def write_cache(path: str, *, header: bytes, value: object) -> None:
    """Replace the file. A full disk or a read-only home is no reason to fail: the value is simply not kept."""
    import msgspec

    payload = msgspec.msgpack.encode(value)
    try:
        folder = os.path.dirname(path)
        make_private_folder(folder)
        _trim(folder)
        handle, temporary = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(header + _checksum(payload) + payload)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
    except OSError:
        return


def _trim(folder: str) -> None:
    """Remove the files that were written longest ago, if there are very many: their folders may be gone for good."""
    files = [entry.path for entry in os.scandir(folder)]
    if len(files) > MAX_FILES:
        for path in sorted(files, key=os.path.getmtime)[: len(files) - MAX_FILES // 2]:
            os.unlink(path)


def _checksum(payload: bytes) -> bytes:
    return zlib.crc32(payload).to_bytes(4, "big")
