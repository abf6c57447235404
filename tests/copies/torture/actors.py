"""Programs that read, sync and attack while a test goes on, each a process of its own."""

import ctypes
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.copies.torture.scenes import Place
from tests.skills_on_disk import write_skill

__all__ = ["KEY", "acting", "ask_actor", "end_with_parent", "write_numbered"]

KEY = "project--numbered"
_ROOT = Path(__file__).parents[3]
_PR_SET_PDEATHSIG = 1
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@contextmanager
def acting(count: int, name: str, *arguments: object) -> "Generator[list[subprocess.Popen[str]]]":
    """Start some processes with one of the programs below, all about to begin; they are gone afterwards."""
    command = [sys.executable, "-m", __name__, name, *map(str, arguments)]
    actors = [
        subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    try:
        for actor in actors:
            assert actor.stdout is not None
            assert actor.stdout.readline() == "ready\n"
        yield actors
    finally:
        for actor in actors:
            with actor:
                actor.kill()


def ask_actor(actor: "subprocess.Popen[str]") -> dict[str, Any]:
    """Tell a process to end, wait for that, and return what it has to say."""
    assert actor.stdin is not None
    assert actor.stdout is not None
    actor.stdin.close()
    told = actor.stdout.readline()
    assert actor.wait() == 0
    return json.loads(told)


def end_with_parent() -> None:
    """Let nothing stay behind if the tests are killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def write_numbered(skills: Path, number: int) -> None:
    """Write a version of a skill that tells in each of its files which version it is; each has other files."""
    shutil.rmtree(skills / "numbered", ignore_errors=True)
    files = {f"part-{part}/of-{number}.txt": str(number) for part in range(number % 4)}
    write_skill(skills, "numbered", body=f"{number}\n", files={"number.txt": str(number), **files})


# The actors


def read(active: str, count: str) -> object:
    """Read the numbered skill again and again by a handle of its folder; tell what was missing or mixed."""
    sys.stdin.readline()  # All readers begin together.
    seen: set[str] = set()
    missing: list[str] = []
    mixed: list[str] = []
    for _ in range(int(count)):
        try:
            top = os.open(os.path.join(active, KEY), _FOLDER)
        except FileNotFoundError as error:
            missing.append(str(error))
            continue
        try:
            found = _read_all(top, "")
        except FileNotFoundError as error:
            missing.append(str(error))
            continue
        finally:
            os.close(top)
        number = found.get("number.txt", "?")
        seen.add(number)
        if not _is_whole(found, number):
            mixed.append(json.dumps(found))
    return {"missing": missing[:3], "mixed": mixed[:3], "versions": len(seen)}


def _read_all(folder: int, path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in os.listdir(folder):
        if name.startswith("part-"):
            inner = os.open(name, _FOLDER, dir_fd=folder)
            try:
                found |= _read_all(inner, f"{name}/")
            finally:
                os.close(inner)
            continue
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder)
        try:
            found[path + name] = os.read(file, 65_536).decode()
        finally:
            os.close(file)
    return found


def _is_whole(found: dict[str, str], number: str) -> bool:
    if not number.isdigit() or found.keys() != {
        *("SKILL.md", "number.txt"),
        *(f"part-{part}/of-{number}.txt" for part in range(int(number) % 4)),
    }:
        return False
    *_, body = found.pop("SKILL.md").split("---\n")
    return body == f"{number}\n" and set(found.values()) == {number}


def sync(base: str, user: str, count: str) -> object:
    """Sync some times, each as a new process would; tell what was copied in all."""
    copied = 0
    for _ in range(int(count)):
        copied += len(Place(Path(base), user).sync().copied)
    return {"copied": copied}


def obey(base: str) -> object:
    """Sync with one runtime whenever a line comes in, and answer each with a line."""
    with Place(Path(base)).open() as runtime:
        for _ in sys.stdin:
            report = runtime.sync()
            _say(json.dumps({"copied": report.copied, "skipped": [str(one) for one in report.skipped]}))
    return {}


def swap_sources(skill: str, secrets: str) -> object:
    """Swap a file and a folder of a skill against links that lead out, until told to stop."""
    links = [f"{secrets}/secret.txt", "/proc/self/environ", secrets, f"{secrets}/../outside.txt"]

    def step() -> None:
        for name in ("data", "number.txt", "SKILL.md"):
            path = os.path.join(skill, name)
            os.rename(path, path + ".aside")
            os.symlink(random.choice(links), path)
            os.unlink(path)
            os.rename(path + ".aside", path)

    return _until_told(step)


def swap_copies(active: str, personal: str) -> object:
    """Swap copies against links to the user's own skills, as their owner could, until told to stop."""

    def step() -> None:
        for name in os.listdir(active):
            path = os.path.join(active, name)
            try:
                os.chmod(active, 0o755)
                os.rename(path, f"{active}/../aside-{random.random()}")
                os.symlink(random.choice([personal, f"{personal}/mine"]), path)
            except OSError:  # The sync was faster.
                continue

    return _until_told(step)


def _until_told(step: Callable[[], None]) -> object:
    """Do it until standard input ends."""
    count = 0
    while not select.select([0], [], [], 0)[0]:
        step()
        count += 1
    return {"count": count}


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


_ACTORS: dict[str, Callable[..., object]] = {
    "read": read,
    "sync": sync,
    "obey": obey,
    "swap_sources": swap_sources,
    "swap_copies": swap_copies,
}


if __name__ == "__main__":
    end_with_parent()
    _say("ready")
    _say(json.dumps(_ACTORS[sys.argv[1]](*sys.argv[2:])))
