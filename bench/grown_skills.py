"""Folders of generated skills, made once for a whole run of benchmarks.

`python -m bench` names a folder in `BENCH_SKILLS` and removes it at the end; a benchmark that is run on its own makes
what it needs, and removes it.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from bench.generate import generate

__all__ = ["FOLDER_VARIABLE", "has_room", "has_room_for", "remove_later", "skills_of"]

FOLDER_VARIABLE = "BENCH_SKILLS"
BYTES_A_SKILL, INODES_A_SKILL = 40_000, 6
"""What three files in three folders take on a disk with blocks of 4 kB."""


def has_room(count: int) -> bool:
    """Whether the disk that they are made on has room for so many skills, or has them already."""
    kept = os.environ.get(FOLDER_VARIABLE)
    if kept and _done(Path(kept), count).exists():
        return True
    return has_room_for(
        Path(kept or tempfile.gettempdir()), size_bytes=count * BYTES_A_SKILL, inodes=count * INODES_A_SKILL
    )


def has_room_for(place: Path, *, size_bytes: int, inodes: int) -> bool:
    """Whether the disk of this folder has room for so much."""
    disk = os.statvfs(place)
    # Some file systems count no inodes.
    return (disk.f_files == 0 or disk.f_favail > inodes) and disk.f_bavail * disk.f_frsize > size_bytes


def remove_later(folder: Path) -> None:
    """Begin to remove a folder, and wait for nobody: a million files take minutes, and nothing is measured after it."""
    subprocess.Popen(
        ("rm", "-rf", str(folder)), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _done(folder: Path, count: int) -> Path:
    return folder / f"{count}.done"


@contextmanager
def skills_of(count: int) -> Generator[Path]:
    """A root with so many skills of three files; whoever changes one puts it back."""
    kept = os.environ.get(FOLDER_VARIABLE)
    if kept:
        yield _keep(Path(kept), count)
        return
    folder = Path(tempfile.mkdtemp(prefix="prowess-bench-")).resolve()
    try:
        generate(folder / "skills", count=count)
        yield folder / "skills"
    finally:
        subprocess.run(("rm", "-rf", str(folder)), check=False)


def _keep(folder: Path, count: int) -> Path:
    root, done = folder / f"{count}" / "skills", _done(folder, count)
    if not done.exists():
        shutil.rmtree(root.parent, ignore_errors=True)
        generate(root, count=count)
        done.touch()
    return root
