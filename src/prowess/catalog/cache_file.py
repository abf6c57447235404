"""One value in one file that is always safe to delete: written whole, checked when read, shared without locks."""

import os
import tempfile
import zlib
from typing import TypeVar

__all__ = ["read_cache", "write_cache"]

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
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(header + _checksum(payload) + payload)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
    except OSError:
        return


def _checksum(payload: bytes) -> bytes:
    return zlib.crc32(payload).to_bytes(4, "big")
