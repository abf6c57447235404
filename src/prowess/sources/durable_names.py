"""Names in a folder that outlive a crash."""

import os

__all__ = ["fsync_folder"]


def fsync_folder(path: str) -> None:
    """Make sure that the names in a folder outlive a crash, where the system knows such a thing."""
    if os.name != "posix":
        return
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
