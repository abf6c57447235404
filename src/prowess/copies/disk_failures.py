"""Say what to do when the disk does not take what is written."""

import errno
from collections.abc import Generator
from contextlib import contextmanager

from prowess.errors import WorldError

__all__ = ["disk_failure", "telling"]

_UNTOUCHED = "what was there before is untouched"
_HINTS = {
    errno.ENOSPC: f"make room on the disk and try again; {_UNTOUCHED}",
    errno.EDQUOT: f"make room in the quota and try again; {_UNTOUCHED}",
    errno.EROFS: "this folder is read-only; set PROWESS_HOME to one that can be written",
    errno.EACCES: f"make the folder writable for the user that runs Prowess; {_UNTOUCHED}",
    errno.EPERM: f"make the folder writable for the user that runs Prowess; {_UNTOUCHED}",
    errno.EXDEV: "a user's skills and their history must lie on one disk, so that they can change places in one step",
}


def disk_failure(what: str, error: OSError) -> WorldError:
    """Return the error for something that the disk did not take."""
    hint = _HINTS.get(error.errno or 0, f"try again; {_UNTOUCHED}")
    place = f" ({error.filename})" if isinstance(error.filename, str) else ""
    return WorldError(f"{what}: {error.strerror or error}{place}", hint=hint, code="disk-failed")


@contextmanager
def telling(what: str) -> Generator[None]:
    """Turn what the system says into an error that says what could not be done."""
    try:
        yield
    except OSError as error:
        raise disk_failure(what, error) from error
