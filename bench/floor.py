"""The physical floors: what the file system alone costs, before anything is parsed.

Measured like a peer, by path, so it imports nothing of this folder. Plain strings: a `Path` costs more than the stat.
"""

import os
from pathlib import Path

HEAD_BYTES = 8_192


def stat_each(root: Path) -> list[os.stat_result]:
    """One scandir of `root` and one stat of each `SKILL.md`."""
    with os.scandir(root) as entries:
        return [os.stat(f"{entry.path}/SKILL.md") for entry in entries]


def read_each(root: Path) -> list[bytes]:
    """The same, and the first 8 kB of each `SKILL.md`."""
    with os.scandir(root) as entries:
        return [_read_head(f"{entry.path}/SKILL.md") for entry in entries]


def _read_head(path: str) -> bytes:
    os.stat(path)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, HEAD_BYTES)
    finally:
        os.close(descriptor)
