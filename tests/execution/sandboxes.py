"""All sandboxes, real, as one fixture; and ways to look at what they leave on the host."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from prowess.containers.mounts import Mount
from prowess.execution.bubblewrap.bubblewrap_sandbox import BubblewrapSandbox
from prowess.execution.engines.container_sandbox import docker_sandbox, podman_sandbox
from prowess.execution.jobs import SEARCH_PATH, Ended, Job
from prowess.execution.sandbox import ScriptSandbox
from prowess.policy import RunLimits
from tests.docker_engine import Docker
from tests.podman_engine import Podman

__all__ = ["BACKENDS", "Place", "find_processes", "place", "wait_until"]

BACKENDS = ["bubblewrap", "docker", "podman"]
_MAKE = {
    "bubblewrap": "sandbox = BubblewrapSandbox()\n",
    "docker": "sandbox = docker_sandbox()\n",
    "podman": "sandbox = podman_sandbox({program!r})\n",
}


@dataclass(frozen=True, slots=True)
class Place:
    """One sandbox, and the folder of a test."""

    sandbox: ScriptSandbox
    folder: Path
    environment: Mapping[str, str]
    """For another process that is to use the same engine."""
    make: str
    """Python that makes the same sandbox there."""
    engine: Docker | Podman | None = None

    def run(
        self,
        *command: str,
        limits: RunLimits | None = None,
        mounts: Sequence[Mount] = (),
        secrets: Mapping[str, str] | None = None,
        given: bytes | None = None,
        network: bool = False,
    ) -> Ended:
        """Run a command; its output folder is kept in `kept`."""
        job = Job(
            command,
            mounts=tuple(mounts),
            environment={"PATH": SEARCH_PATH, "LANG": "C.UTF-8"},
            secrets=secrets or {},
            input=given,
            network=network,
            limits=limits or RunLimits(timeout_seconds=30),
        )
        return self.sandbox.run(job, keep=str(self.kept))

    def python(self, code: str, *arguments: str, **options: object) -> Ended:
        """Run Python inside."""
        return self.run("python3", "-c", code, *arguments, **options)  # type: ignore[arg-type]

    @property
    def kept(self) -> Path:
        return self.folder / "kept"

    def start_elsewhere(self, *command: str, seconds: float = 60.0) -> subprocess.Popen[str]:
        """Run a command in a sandbox of another process, which says `begun` when the first output is there."""
        script = (
            "from prowess.execution.bubblewrap.bubblewrap_sandbox import BubblewrapSandbox\n"
            "from prowess.execution.engines.container_sandbox import docker_sandbox, podman_sandbox\n"
            + self.make
            + "from prowess.execution.jobs import Job\nfrom prowess.policy import RunLimits\n"
            + f"limits = RunLimits(timeout_seconds={seconds})\n"
            + f"job = Job({command!r}, environment={{'PATH': {SEARCH_PATH!r}}}, limits=limits)\n"
            + "sandbox.run(job, keep='', listener=lambda stream, part: print('begun', flush=True))\n"
        )
        return subprocess.Popen(
            [sys.executable, "-c", script], env=dict(self.environment), stdout=subprocess.PIPE, text=True
        )

    def containers(self) -> list[str]:
        """Return the containers of the engine, if there is one."""
        return self.engine.run("ps", "--all", "--quiet").split() if self.engine else []


@pytest.fixture(params=BACKENDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Each sandbox in turn; no container of it is left afterwards."""
    name: str = request.param
    if name == "bubblewrap":
        yield Place(BubblewrapSandbox(), tmp_path, os.environ, _MAKE[name])
        return
    engine: Docker | Podman = request.getfixturevalue(f"{name}_engine")
    environment = {**os.environ, **engine.environment}
    if isinstance(engine, Docker):
        sandbox, make = docker_sandbox(environment=environment), _MAKE[name]
    else:
        sandbox, make = podman_sandbox(engine.command), _MAKE[name].format(program=engine.command)
    made = Place(sandbox, tmp_path, environment, make, engine)
    yield made
    sandbox.close()
    assert made.containers() == []


def find_processes(marker: str) -> list[int]:
    """Return the processes of this machine, in whatever namespace, that have a marker in their command line."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if marker.encode() in file.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


def wait_until(condition: object, *, seconds: float = 20.0) -> bool:
    """Return whether a condition, a function without arguments, comes true in time."""
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
