"""Start `prowess sync` hundreds of times, each under strace: a server that has everything loaded forks for each.

Run as a program it is that server. A child stops itself before its first step, so that strace can be attached.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.copies.torture.actors import end_with_parent
from tests.copies.torture.scenes import Place

__all__ = ["Outcome", "WarmSyncs", "warm_syncs"]

_ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a sync ended."""

    status: int
    """Negative: the signal."""
    output: str
    errors: str
    calls: str
    """What strace wrote down."""

    @property
    def was_hit(self) -> bool:
        """Whether the call that was to fail, or to be the last, was ever made."""
        return self.status == -signal.SIGKILL or "(INJECTED)" in self.calls


class WarmSyncs:
    """Syncs at request, with faults. One at a time."""

    def __init__(self, folder: Path) -> None:
        for program, package in (("strace", "strace"), ("taskset", "util-linux")):
            if shutil.which(program) is None:
                pytest.fail(f"{program} is not installed: apt-get install {package}")
        self._folder = folder
        self._here = _choose_processor()
        command = [*self._here, sys.executable, "-m", __name__, str(folder / "warming")]
        self._server = subprocess.Popen(
            command,
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )

    def close(self) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.stdout.close()
        self._server.wait()

    def start(self, place: Place) -> int:
        """Return the process that syncs as soon as it gets SIGCONT."""
        files = [str(self._folder / name) for name in ("output", "errors")]
        arguments = ["--skills", str(place.skills), "sync", "--json", "--user", place.user]
        self._ask({"environment": dict(place.environment), "arguments": arguments, "files": files})
        return self._hear()

    def wait(self) -> int:
        """Wait for what was started last; return its status."""
        return self._hear()

    def run(self, place: Place, *, options: Sequence[str]) -> Outcome:
        """Sync under strace with some options of strace's."""
        files = [self._folder / name for name in ("output", "errors", "calls")]
        child = self.start(place)
        tracer = subprocess.Popen(
            [*self._here, "strace", "-f", "-p", str(child), "-o", str(files[2]), *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert tracer.stderr is not None
        said = tracer.stderr.readline()
        if "attached" not in said:
            os.kill(child, signal.SIGKILL)
            pytest.fail(f"strace cannot attach itself: {said}{tracer.stderr.read()}")
        os.kill(child, signal.SIGCONT)
        status = self.wait()
        tracer.stderr.read()
        tracer.wait()
        tracer.stderr.close()
        output, errors, calls = (file.read_text("utf-8", "replace") for file in files)
        return Outcome(status, output, errors, calls)

    def _ask(self, request: object) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()

    def _hear(self) -> int:
        assert self._server.stdout is not None
        return int(self._server.stdout.readline())


@contextmanager
def warm_syncs() -> Generator[WarmSyncs]:
    """Give a server with a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="prowess-torture-") as folder:
        server = WarmSyncs(Path(folder))
        try:
            yield server
        finally:
            server.close()


def _choose_processor() -> list[str]:
    """Return how to start what is traced and the tracer on one processor: taking turns is four times faster there."""
    mine = sorted(os.sched_getaffinity(0))
    worker = int("0" + os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw"))
    return ["taskset", "-c", str(mine[worker % len(mine)])]


def _serve(warming: str) -> None:
    """Load all that a sync loads, by doing one; then fork a child for each request."""
    end_with_parent()
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    place = Place(Path(warming))
    place.skills.mkdir(parents=True)
    _run_sync(place.environment, ["--skills", str(place.skills), "sync", "--json"])
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run_child(**json.loads(line))
        os.waitpid(child, os.WUNTRACED)
        os.write(answers, b"%d\n" % child)
        os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def _run_child(*, environment: Mapping[str, str], arguments: Sequence[str], files: Sequence[str]) -> None:
    end_with_parent()
    for handle, file in zip((1, 2), files, strict=True):
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, handle)
        os.close(opened)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)  # As new as that of a process of its own.
    os._exit(_run_sync(environment, arguments, pause=True))


def _run_sync(environment: Mapping[str, str], arguments: Sequence[str], *, pause: bool = False) -> int:
    from prowess.surfaces.cli.main import main

    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["prowess", *arguments]
    if pause:
        os.kill(os.getpid(), signal.SIGSTOP)
    try:
        main()
    except SystemExit as leave:
        sys.stderr.flush()
        return int(leave.code or 0)


if __name__ == "__main__":
    _serve(sys.argv[1])
