"""The file that keeps what was typed, so that it can be typed again: for its owner alone, and not without end."""

import os
import stat

from prowess.sources.private_folders import make_private_folder

__all__ = ["prepare_history"]

_MODE = 0o600
_MAX_BYTES = 1 << 20
_KEPT_BYTES = _MAX_BYTES // 2
_ENTRY = b"\n# "
"""What an entry begins with."""


def prepare_history(path: str) -> str | None:
    """Make the file if it is missing, private if it is not, and short if it is long; None if that cannot be done."""
    try:
        make_private_folder(os.path.dirname(path))
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), _MODE)
    except OSError:
        return None
    with os.fdopen(handle, "r+b") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return None
        if stat.S_IMODE(status.st_mode) != _MODE and hasattr(os, "fchmod"):
            os.fchmod(handle, _MODE)
        if status.st_size > _MAX_BYTES:
            file.seek(-_KEPT_BYTES, os.SEEK_END)
            rest = file.read()
            file.seek(0)
            file.write(rest[max(rest.find(_ENTRY), 0) :])
            file.truncate()
    return path
