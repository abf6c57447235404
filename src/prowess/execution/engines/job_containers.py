"""One container for one job: started before the job is known, given it through standard input, and removed after it.

The container says a token on both streams when it is ready: what comes before is the engine's own, and one that never
says it has not started. What comes after is the job's.
"""

import os
import secrets
import selectors
import shutil
import stat
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass

from prowess.containers.mounts import Mount
from prowess.execution.engines.container_arguments import RunFolder, Shape, choose_user, render_container, render_job
from prowess.execution.engines.container_commands import EngineCommand, explain_failure, says
from prowess.execution.engines.leftovers import NAME_PREFIX
from prowess.execution.engines.run_guard import RunGuard
from prowess.execution.jobs import INPUT_FILE, Job
from prowess.execution.sandbox import NoSandbox
from prowess.execution.seccomp import make_profile

__all__ = ["Exit", "JobContainer", "get_runs_folder", "remove_folder"]

_START_SECONDS = 60.0
_END_SECONDS = 30.0
_MAX_SAID_BYTES = 1 << 16
_PART_BYTES = 1 << 16
_NOT_BOUNDED = ("discarded", "not supported and ignored")
"""How an engine says that it has started a container without a limit."""
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class Exit:
    """How a container has ended."""

    status: int
    out_of_memory: bool


def get_runs_folder() -> str:
    """Return the folder that holds a folder for each run."""
    return tempfile.gettempdir()


class JobContainer:
    """A container that runs, and waits for its job or does it. One thread at a time uses it."""

    def __init__(self, shape: Shape, command: EngineCommand, guard: RunGuard) -> None:
        """Start the container; raise `NoSandbox` if it does not wait for a job in the end."""
        self.name = f"{NAME_PREFIX}{os.getpid()}-{secrets.token_hex(8)}"
        self._shape = shape
        self._command = command
        self._guard = guard
        self._token = secrets.token_hex(16)
        self._folder = RunFolder(os.path.join(get_runs_folder(), self.name))
        self._gone = False
        self.output = -1
        """A handle of the folder where the job leaves its files."""
        self._process: subprocess.Popen[bytes] | None = None
        guard.add(self.name)
        try:
            user = choose_user(shape.mounts, command)
            self._make_folder(user)
            self._seen = _look_at(shape.mounts)
            self._process = command.start(
                *render_container(shape, command, name=self.name, folder=self._folder, user=user, token=self._token),
                folder=self._folder.path,
            )
            self._wait_until_ready()
        except BaseException:
            self._give_up()
            raise

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The engine's command, whose streams are the job's."""
        assert self._process is not None
        return self._process

    @property
    def fresh(self) -> bool:
        """Whether it still waits, and still shows the folders that the host has at these paths."""
        return self.process.poll() is None and _look_at(self._shape.mounts) == self._seen

    def begin(self, job: Job) -> None:
        """Start the job. If the container has died meanwhile, its streams will end."""
        if job.input is not None:
            file = os.path.join(self._folder.input, os.path.basename(INPUT_FILE))
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as stream:
                stream.write(job.input)
            os.chmod(file, 0o444)  # Its folder's folder is open to this user alone.
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            _write_all(self.process.stdin.fileno(), render_job(job) + self._token.encode() + b"\n")
            self.process.stdin.close()

    def end(self) -> None:
        """Kill everything in the container.

        The engine's command goes first: nobody reads from it any more, and an engine may wait with a removal until
        somebody has.
        """
        self.process.kill()
        self.remove_container()

    def wait(self, timeout_seconds: float) -> int | None:
        """Return the status of the engine's command, None if it goes on after this time."""
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(max(0.0, timeout_seconds))
        return None

    def read_exit(self) -> Exit | None:
        """Return how the container has ended, None if it has not, or the engine does not know."""
        answer = self._command.ask(
            "container", "inspect", "--format={{.State.Running}} {{.State.ExitCode}} {{.State.OOMKilled}}", self.name
        )
        running, *rest = answer.stdout.split() if answer.status == 0 else ["true"]
        return Exit(int(rest[0]), rest[1] == "true") if running == "false" else None

    def remove(self) -> bool:
        """End the container and delete it with its folder; False if the engine failed, which the guard remembers."""
        removed = self.remove_container()
        if self._process is not None:
            _end_command(self._process)
        if self.output >= 0:
            os.close(self.output)
            self.output = -1
        remove_folder(self._folder.path)
        if removed:
            self._guard.drop(self.name)
        return removed

    def _give_up(self) -> None:
        """Remove what there is of a container that did not start."""
        late = self._process is not None and self._process.poll() is None
        if late:
            self.process.kill()
        self.remove()
        if late:  # The engine may yet make it.
            self._guard.add(self.name)

    def remove_container(self) -> bool:
        """Kill everything in the container and delete it; False if the engine failed."""
        if not self._gone and self._process is not None:
            try:
                answer = self._command.ask(*self._command.kind.remove, self.name, timeout_seconds=_END_SECONDS)
            except NoSandbox:
                return False
            self._gone = answer.status == 0 or "no such container" in answer.stderr.casefold()
        return self._gone or self._process is None

    def _make_folder(self, user: tuple[int, int]) -> None:
        try:
            os.mkdir(self._folder.path, 0o700)
            for path, mode in ((self._folder.input, 0o755), (self._folder.output, 0o700)):
                os.mkdir(path)
                os.chmod(path, mode)
            self.output = os.open(self._folder.output, _FOLDER)
            if os.getuid() == 0:
                os.fchown(self.output, *user)
            with open(self._folder.profile, "x", encoding="utf-8") as file:
                file.write(make_profile(network=self._shape.network))
        except OSError as error:
            raise NoSandbox(f"the folder of a run cannot be made: {error}", hint="see TMPDIR") from error

    def _wait_until_ready(self) -> None:
        """Take both streams up to the token; raise if they end before, or the engine has said that it bounds less."""
        said = {"stdout": b"", "stderr": b""}
        token = self._token.encode() + b"\n"
        deadline = time.monotonic() + _START_SECONDS
        with selectors.DefaultSelector() as selector:
            for name in said:
                selector.register(getattr(self.process, name), selectors.EVENT_READ, name)
            while selector.get_map():
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise NoSandbox(f"{self._command.kind.label} has started nothing for {_START_SECONDS:g} seconds")
                for key, _ in ready:
                    part = os.read(key.fd, _PART_BYTES)
                    said[key.data] = (said[key.data] + part)[-_MAX_SAID_BYTES:]
                    if not part or token in said[key.data]:
                        selector.unregister(key.fileobj)
        before = said["stderr"].partition(token)[0].decode("utf-8", "replace")
        if not all(token in text for text in said.values()):
            raise explain_failure(self._command, before, image=self._shape.image.name)
        if says(before, _NOT_BOUNDED):
            raise NoSandbox(f"{self._command.kind.label} cannot bound a run: {before.strip()}", hint="use bubblewrap")


def _look_at(mounts: tuple[Mount, ...]) -> list[tuple[int, int]]:
    """Return which folders there are at the mounts' paths: a container keeps those of its start."""
    seen: list[tuple[int, int]] = []
    for mount in mounts:
        try:
            status = os.stat(mount.host)
        except OSError:
            seen.append((0, 0))
        else:
            seen.append((status.st_dev, status.st_ino))
    return seen


def _write_all(handle: int, content: bytes) -> None:
    """Write to a pipe whose reader may have stopped reading; what it does not take in time is not written."""
    os.set_blocking(handle, False)
    rest, deadline = memoryview(content), time.monotonic() + _END_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(handle, selectors.EVENT_WRITE)
        while rest and selector.select(max(0.0, deadline - time.monotonic())):
            with suppress(BlockingIOError):
                rest = rest[os.write(handle, rest) :]


def _end_command(process: subprocess.Popen[bytes]) -> None:
    """See the engine's command to its end, which is near: its container is gone."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def remove_folder(folder: str) -> None:
    """Delete a run's folder, whatever a script has made of it; follow no link, and leave alone what is not ours."""
    try:
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            return
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):  # Nested without end, or closed to its owner.
        for command in (["chmod", "-R", "u+rwx", folder], ["rm", "-rf", folder]):
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
