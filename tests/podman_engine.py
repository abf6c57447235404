"""A throw-away Podman store of its own, with an image. Podman has no server; only containers outlive a command."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.busybox_image import make_image

__all__ = ["IMAGE", "Podman", "podman_engine"]

IMAGE = "localhost/prowess-test:latest"
_END_SECONDS = 90.0
# All containers end when this script's standard input does, so also when the tests are killed; the store goes too.
_GUARD = """
read -r _
"$@" rm --all --force --time 0 >/dev/null 2>&1
umount "$0/root/overlay" 2>/dev/null
cd / && rm -rf --one-file-system "$0"
"""
# Debian's crun cannot work with every kernel's control groups, and not every kernel lets the default limits be set.
_SETTINGS = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
init_path = "{init}"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


@pytest.fixture(scope="session")
def podman_engine() -> Iterator["Podman"]:
    """A store with one image."""
    engine = Podman()
    try:
        engine.import_image(IMAGE)
        yield engine
    finally:
        engine.remove()


class Podman:
    """A store with its folder."""

    def __init__(self) -> None:
        for program in ("podman", "runc"):
            if shutil.which(program) is None:
                pytest.fail(f"{program} is not installed: apt-get install {program}")
        self._folder = folder = Path(tempfile.mkdtemp(prefix="prowess-podman-"))
        settings = folder / "containers.conf"
        settings.write_text(_SETTINGS.format(init=_find_init()), "utf-8")
        store = (f"--root={folder}/root", f"--runroot={folder}/run", "--storage-driver=overlay")
        self.command = ("env", f"CONTAINERS_CONF={settings}", "podman", *store)
        self.environment = dict(os.environ)
        self._guard = subprocess.Popen(
            ["sh", "-c", _GUARD, str(folder), *self.command], stdin=subprocess.PIPE, start_new_session=True
        )

    def remove(self) -> None:
        """End all containers and delete the store, once nobody else uses it: a late command would make it anew."""
        deadline = time.monotonic() + _END_SECONDS
        while self._find_users() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait(_END_SECONDS)
        assert not self._folder.exists()

    def import_image(self, name: str, *, note: str = "") -> None:
        """Make an image of this name, or put another in its place."""
        self.run("import", "-", name, text=make_image(note=note))

    def run(self, *arguments: str, text: bytes = b"") -> str:
        """Return what the command says; it must succeed."""
        done = self._ask(*arguments, text=text)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def remove_containers(self) -> None:
        """Kill and delete every container."""
        self.run("rm", "--all", "--force", "--time", "0")

    def execute(self, container: str, *command: str) -> tuple[int, str]:
        """Run a command in a container; return its exit status and all that it says."""
        done = self._ask("exec", container, *command)
        return done.returncode, (done.stdout + done.stderr).decode()

    def start_command(self, command: tuple[str, ...]) -> subprocess.CompletedProcess[bytes]:
        """Run a whole command line."""
        return subprocess.run(command, env=self.environment, capture_output=True, check=False)

    def _ask(self, *arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([*self.command, *arguments], input=text, capture_output=True, check=False)

    def _find_users(self) -> list[str]:
        """Return the processes, besides the guard, that name the store on their command line."""
        found: list[str] = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (
                    process.name != str(self._guard.pid)
                    and str(self._folder).encode() in (process / "cmdline").read_bytes()
                ):
                    found.append(process.name)
        return found


def _find_init() -> str:
    """Return a program that can be process one of a container."""
    for name in ("catatonit", "docker-init", "tini"):
        if found := shutil.which(name):
            return found
    pytest.fail("no init program is installed: apt-get install docker.io")
