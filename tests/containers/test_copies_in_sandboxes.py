"""Copies as the model's code sees them: in a real container of Docker and of Podman, and in bubblewrap."""

import os
import shutil
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from prowess import Runtime
from prowess.containers.arguments import render_bubblewrap
from prowess.containers.mounts import Mount
from prowess.containers.spec import ContainerSpec
from prowess.runtime.session import Session
from tests.conftest import Home
from tests.skills_on_disk import write_skill

from .conftest import Kit

pytestmark = pytest.mark.slow

KEY = "project--pdf"
HERE = f"/shared/skills/{KEY}"


class Box(Protocol):
    """Something that runs, and in which commands can be run."""

    def execute(self, *command: str) -> tuple[int, str]: ...

    def close(self) -> None: ...


class ContainerBox:
    """A container, used by a user who is nobody on the host."""

    def __init__(self, kit: Kit, name: str, mounts: tuple[Mount, ...]) -> None:
        self._kit, self._name = kit, name
        spec = ContainerSpec(
            name, image=kit.image, mounts=mounts, command=("sleep", "1000"), user="65534:65534", stop_seconds=0
        )
        kit.engine.ensure(spec)

    def execute(self, *command: str) -> tuple[int, str]:
        return self._kit.real.execute(self._name, *command)

    def close(self) -> None:
        self._kit.engine.remove(self._name)


class BubblewrapBox:
    """A shell in bubblewrap that runs one command after the other."""

    def __init__(self, mounts: tuple[Mount, ...]) -> None:
        if shutil.which("bwrap") is None:
            pytest.fail("bwrap is not installed: apt-get install bubblewrap")
        system = ("--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib")
        links = ("--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev")
        user = ("--unshare-all", "--uid", "65534", "--gid", "65534", "--die-with-parent")
        self._shell = subprocess.Popen(
            ["bwrap", *user, *system, *links, *render_bubblewrap(mounts), "sh"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def execute(self, *command: str) -> tuple[int, str]:
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        quoted = " ".join("'" + part.replace("'", "'\\''") + "'" for part in command)
        self._shell.stdin.write(f'{quoted} 2>&1 </dev/null; status=$?; echo; echo "=== $status"\n')
        self._shell.stdin.flush()
        said: list[str] = []
        for line in self._shell.stdout:
            if line.startswith("=== "):
                return int(line[4:]), "".join(said).removesuffix("\n")
            said.append(line)
        raise AssertionError("the shell has ended")

    def close(self) -> None:
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.close()
        self._shell.wait(30)
        self._shell.stdout.close()


Open = Callable[[str, tuple[Mount, ...]], Box]


@pytest.fixture(params=["docker", "podman", "bubblewrap"])
def open_box(request: pytest.FixtureRequest) -> Iterator[Open]:
    """Opens a sandbox with mounts, in each kind of it."""
    opened: list[Box] = []

    def open_one(name: str, mounts: tuple[Mount, ...]) -> Box:
        kind: str = request.param
        box = (
            BubblewrapBox(mounts)
            if kind == "bubblewrap"
            else ContainerBox(request.getfixturevalue(f"{kind}_kit"), name, mounts)
        )
        opened.append(box)
        return box

    yield open_one
    for box in opened:
        box.close()


@contextmanager
def _opened(root: Path) -> Generator[tuple[Runtime, Session]]:
    with Runtime.open(skills=[root]) as runtime, runtime.session("chat") as session:
        yield runtime, session


def _write(root: Path, version: str) -> Path:
    files = {"scripts/run.sh": f"#!/bin/sh\necho {version}\n", "references/guide.md": f"{version}\n"}
    folder = write_skill(root, "pdf", body=f"{version}\n", files=files)
    (folder / "scripts" / "run.sh").chmod(0o755)
    return folder


@pytest.mark.requirement("R73", "R83", "R84", "K5")
def test_running_sandbox_sees_what_was_synced_and_cannot_change_it(home: Home, tmp_path: Path, open_box: Open) -> None:
    root = tmp_path / "skills"
    _write(root, "one")
    write_skill(root, "other")
    with _opened(root) as (_, session):
        session.sync()
        box = open_box("live", session.mounts())
        assert box.execute("ls", "/shared/skills") == (0, f"project--other\n{KEY}\n")
        assert session.activate("pdf").base_directory == HERE
        assert box.execute(f"{HERE}/scripts/run.sh") == (0, "one\n")
        for command in (("touch", f"{HERE}/new"), ("rm", f"{HERE}/SKILL.md"), ("mkdir", "/shared/skills/new")):
            status, said = box.execute(*command)
            assert (status, "Read-only file system" in said or "Permission denied" in said) == (1, True)

        _write(root, "two")
        assert session.sync().copied == ("project:pdf",)
        assert box.execute(f"{HERE}/scripts/run.sh") == (0, "two\n")
        assert box.execute("cat", f"{HERE}/references/guide.md") == (0, "two\n")

        shutil.rmtree(root / "pdf")
        assert session.sync().removed == ("project:pdf",)
        assert box.execute("ls", "/shared/skills") == (0, "project--other\n")


@pytest.mark.requirement("K5")
def test_run_that_is_pinned_to_a_version_keeps_it(home: Home, tmp_path: Path, open_box: Open) -> None:
    root = tmp_path / "skills"
    _write(root, "one")
    with _opened(root) as (runtime, session):
        session.sync()
        pin = session.pin("pdf")
        box = open_box("pinned", (Mount(pin.folder, inside=HERE),))
        for version in ("two", "three"):
            _write(root, version)
            session.sync()
            assert box.execute(f"{HERE}/scripts/run.sh") == (0, "one\n")
        versions = home.prowess / "versions"
        current = runtime.digest(runtime.catalog().get("pdf"))
        assert sorted(os.listdir(versions)) == sorted([pin.digest, current])

        pin.close()  # As if the process had died: what is mounted stays all the same.
        _write(root, "four")
        session.sync()
        assert box.execute("cat", f"{HERE}/references/guide.md") == (0, "one\n")
        assert pin.digest in os.listdir(versions)

        box.close()
        _write(root, "five")
        session.sync()
        assert pin.digest not in os.listdir(versions)
        assert len(os.listdir(versions)) == 1
