"""Folders that only their owner may enter."""

import os

__all__ = ["make_private_folder"]


def make_private_folder(path: str) -> None:
    """Make a folder, and those above it that are missing, for this user alone."""
    path = os.path.abspath(path)
    missing: list[str] = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue
