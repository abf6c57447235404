"""A user with skills of his own, and a small disk to put a home on."""

import os
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from prowess.copies.bringing import Judge
from prowess.copies.history import Origin
from prowess.copies.layout import Layout
from prowess.copies.personal import Change, PersonalSkills
from prowess.policy import PROFILES

__all__ = ["JUDGE", "NOW", "add", "draw", "ends_when_killed_at", "make_personal", "small_disk"]

NOW = 1_767_225_600.0
JUDGE = Judge(PROFILES["standard"].reading, PROFILES["standard"].limits)


def make_personal(home: Path, *, user: str = "ann") -> PersonalSkills:
    return PersonalSkills(Layout(str(home)), user, clock=lambda: NOW)


def add(personal: PersonalSkills, folder: Path) -> Change:
    """Add the skill in a folder as the standard profile does."""
    origin = Origin(str(folder))
    return personal.add(os.path.realpath(folder), reading=JUDGE.reading, limits=JUDGE.limits, origin=origin)


def draw(folder: Path) -> dict[str, str]:
    """Return all that is below a folder: texts of files, with `*` if executable, targets of links, `/` for folders."""
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name, mode = str(path.relative_to(folder)), path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[name] = f"-> {os.readlink(path)}"
        elif stat.S_ISDIR(mode):
            found[name] = "/"
        else:
            found[name] = path.read_text() + ("*" if mode & stat.S_IXUSR else "")
    return found


def ends_when_killed_at(call: str, number: int, script: str, *arguments: str) -> bool:
    """Run a script that is killed when it makes a system call for the nth time; say whether it ended before that."""
    inject = ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"]
    command = ["strace", "-f", "-qq", "-o", os.devnull, *inject, sys.executable, "-c", script, *arguments]
    status = subprocess.run(command, check=False).returncode
    assert status in (0, -9), status
    return status == 0


@contextmanager
def small_disk(folder: Path, *, size: str) -> Generator[Path]:
    """Give a file system of its own on a folder; where that cannot be mounted, the test fails."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
