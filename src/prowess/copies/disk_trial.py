"""Find out what the disk under Prowess' home can do, by doing it."""

import os
import tempfile
from dataclasses import dataclass

from prowess.copies.disk_failures import telling
from prowess.copies.layout import Layout
from prowess.sources.private_folders import make_private_folder
from prowess.sources.renaming import can_exchange

__all__ = ["DiskTrial", "try_disk"]


@dataclass(frozen=True, slots=True)
class DiskTrial:
    """What copies rely on."""

    links: bool
    """A file can have two names."""
    exchanges: bool
    """Two folders can change places in one step."""


def try_disk(layout: Layout) -> DiskTrial:
    """Return what works in the home; nothing of the trial stays."""
    with telling("copies cannot be made"):
        make_private_folder(layout.workshop)
        with tempfile.TemporaryDirectory(dir=layout.workshop, prefix="trial-") as folder:
            first, second = os.path.join(folder, "first"), os.path.join(folder, "second")
            os.mkdir(first)
            os.mkdir(second)
            return DiskTrial(_can_link(folder), can_exchange(first, second))


def _can_link(folder: str) -> bool:
    file = os.path.join(folder, "file")
    with open(file, "xb"):
        pass
    try:
        os.link(file, f"{file}-again")
    except OSError:
        return False
    return True
