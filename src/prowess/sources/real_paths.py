"""Where a path really leads, even while links on it are exchanged."""

import os

__all__ = ["find_real_path"]


def find_real_path(path: str) -> str | None:
    """Return the path with all links resolved; None if that fails, as when a link becomes a folder meanwhile."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # No path can have such a name.
        return None
