"""Tell a file that cannot be read from a world that has failed."""

import errno

from prowess.skill.problems import Problem

__all__ = ["is_disk_error", "is_passing", "name_fault"]

_DISK_ERROR = "disk-error"

_OF_THE_FILE = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.EACCES,
        errno.EPERM,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENXIO,
        errno.ENODEV,
        errno.EOPNOTSUPP,
        errno.EINVAL,
    }
)


def is_passing(error: OSError) -> bool:
    """Whether the error tells nothing of the file itself: a failing disk, a lost server, no memory, no descriptors.

    What was known of the file before it may still be true.
    """
    return error.errno not in _OF_THE_FILE


def name_fault(error: OSError, *, otherwise: str) -> str:
    """Return the code of the Problem with something that cannot be read."""
    return _DISK_ERROR if is_passing(error) else otherwise


def is_disk_error(problem: Problem) -> bool:
    """Whether a Problem tells of the disk and not of the skill."""
    return problem.code == _DISK_ERROR
