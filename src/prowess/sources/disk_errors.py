"""Tell a file that cannot be read from a world that has failed."""

import errno

__all__ = ["is_passing"]

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
