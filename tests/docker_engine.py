"""A throw-away Docker engine of its own: its folder, its socket, no network, and an image."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.busybox_image import make_image

__all__ = ["IMAGE", "Docker", "docker_engine"]

IMAGE = "prowess-test:latest"
_START_SECONDS = 90.0
# The engine ends when its standard input does, so also when the tests are killed, and takes its folder with it. In a
# session of its own, so that an interrupt does not end this script first. Where the root is not shared among mount
# namespaces, as in a container, the engine mounts its data on itself and leaves that behind.
_GUARDED = """
"$@" &
read -r _
kill -TERM $!
wait $!
umount "$0"/exec/netns/* "$0"/data/overlay2/*/merged "$0"/data 2>/dev/null
cd / && rm -rf --one-file-system "$0"
"""


@pytest.fixture(scope="session")
def docker_engine() -> Iterator["Docker"]:
    """A running engine with one image."""
    engine = Docker()
    try:
        engine.start()
        engine.import_image(IMAGE)
        yield engine
    finally:
        engine.remove()


class Docker:
    """An engine with its folder."""

    def __init__(self) -> None:
        for program, package in (("dockerd", "docker.io"), ("docker", "docker.io"), ("runc", "runc")):
            if shutil.which(program) is None:
                pytest.fail(f"{program} is not installed: apt-get install {package}")
        self._folder = Path(tempfile.mkdtemp(prefix="prowess-docker-"))
        self.url = f"unix://{self._folder}/docker.sock"
        self.environment = {**os.environ, "DOCKER_HOST": self.url, "DOCKER_CONFIG": str(self._folder / "config")}
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the engine and wait until it answers."""
        folder, log = self._folder, self._folder / "log"
        places = [f"--data-root={folder}/data", f"--exec-root={folder}/exec", f"--pidfile={folder}/dockerd.pid"]
        options = ["--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=overlay2"]
        command = ["sh", "-c", _GUARDED, str(folder), "dockerd", f"--host={self.url}", *places, *options]
        with open(log, "ab") as output:
            self._server = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True
            )
        deadline = time.monotonic() + _START_SECONDS
        while self._ask("version").returncode != 0:
            if self._server.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"Docker did not start:\n{log.read_text()[-4000:]}")
            time.sleep(0.05)

    def remove(self) -> None:
        """End the engine, its containers and its folder."""
        if self._server is None:
            shutil.rmtree(self._folder)
            return
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(_START_SECONDS)
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
        for container in self.run("ps", "--all", "--quiet").split():
            self.run("rm", "--force", container)

    def execute(self, container: str, *command: str) -> tuple[int, str]:
        """Run a command in a container; return its exit status and all that it says."""
        done = self._ask("exec", container, *command)
        return done.returncode, (done.stdout + done.stderr).decode()

    def start_command(self, command: tuple[str, ...]) -> subprocess.CompletedProcess[bytes]:
        """Run a whole command line against this engine."""
        return subprocess.run(command, env=self.environment, capture_output=True, check=False)

    def _ask(self, *arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["docker", *arguments], env=self.environment, input=text, capture_output=True, check=False
        )
