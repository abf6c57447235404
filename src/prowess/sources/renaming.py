"""Put one folder in the place of another, so that nobody finds nothing there.

Linux swaps two names in one step (`renameat2` with RENAME_EXCHANGE). Where the system or the file system cannot do
that, the old folder is moved aside and the new one moved in: for some microseconds a look-up by path finds nothing,
while whoever has opened the old folder keeps it whole. Either way, no reader ever sees parts of both.
"""

import ctypes
import errno
import os
import sys

__all__ = ["can_exchange", "exchange"]

_EXCHANGE = 2
_HERE = -100
"""AT_FDCWD: relative paths start at the working folder."""
_CANNOT = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})


def exchange(first: str, second: str) -> None:
    """Swap two folders that are on one file system."""
    try:
        _exchange_at_once(first, second)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        _exchange_in_steps(first, second)


def can_exchange(first: str, second: str) -> bool:
    """Whether two folders can be swapped in one step here; found out by doing it twice."""
    try:
        _exchange_at_once(first, second)
        _exchange_at_once(first, second)
    except OSError:
        return False
    return True


def _exchange_at_once(first: str, second: str) -> None:
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    while call(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) != 0:
        code = ctypes.get_errno()
        if code != errno.EINTR:
            raise OSError(code, os.strerror(code), first, None, second)


def _exchange_in_steps(first: str, second: str) -> None:
    """Swap with plain renames. If the second fails, the first is taken back, so that something is always there."""
    aside = f"{first}.aside"
    os.rename(second, aside)
    try:
        os.rename(first, second)
    except OSError:
        os.rename(aside, second)
        raise
    os.rename(aside, first)
