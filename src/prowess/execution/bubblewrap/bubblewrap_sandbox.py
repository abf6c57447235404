"""Bubblewrap: the sandbox for Linux that needs no service and no image. Its programs are those of this machine.

A run is begun in three steps. Bubblewrap sets up the sandbox, and waits; meanwhile the limits are put on its first
process from outside, and it is taken into a control group: whatever it starts from then on is bounded too. Then it may
go on, to a shell that waits at a gate, while a handle of its output folder is opened. Only then does the script start.
The output folder is in memory, bounded by the kernel; the handle keeps it alive after all processes are gone.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import FileIO

from prowess.errors import ToolInputError
from prowess.execution.bubblewrap.bubblewrap_arguments import INSIDE_USER, RunAs, render_job
from prowess.execution.bubblewrap.control_groups import ControlGroup, make_control_group
from prowess.execution.bubblewrap.watchdog import Watchdog
from prowess.execution.conclusions import (
    KILLED,
    describe_bounds,
    describe_memory,
    describe_processes,
    make_redaction,
)
from prowess.execution.draining import Drained, drain
from prowess.execution.host_world import MAX_OPEN_FILES, find_owner
from prowess.execution.jobs import OUTPUT_FOLDER, SEARCH_PATH, Ended, Job, Listener
from prowess.execution.outputs import collect_outputs
from prowess.execution.sandbox import NoSandbox, Probed, hear_nothing, stamp_folder
from prowess.execution.seccomp import make_filter
from prowess.execution.stopping import stoppable
from prowess.policy import RunLimits

__all__ = ["BubblewrapSandbox"]

_SET_UP_SECONDS = 30.0
_LOOK_SECONDS = 0.00005
"""Between looks whether a sandbox is set up, which takes a few milliseconds."""
_END_SECONDS = 10.0
_MAX_INFO_BYTES = 1 << 16
_GATE = ("/bin/sh", "-c", 'read -r go && exec "$@" </dev/null', "sh")
"""Waits inside, before the job. Its standard input ends when this process dies, and then so does it."""
_USERS_OF_NOTHING = range(61_184, 65_520)
"""Numbers that Linux systems keep for users which exist for one service only; each run has one of its own."""
_INSTALL = "install bubblewrap (Debian: apt-get install bubblewrap), and allow user namespaces"


@dataclass(frozen=True, slots=True)
class _Begun:
    """A run whose script has started."""

    process: subprocess.Popen[bytes]
    first: int
    """The first process of the sandbox, as the host counts."""
    output: int
    """A handle of its output folder."""
    group: ControlGroup | None


class BubblewrapSandbox:
    """Runs jobs with `bwrap`. `programs` are folders of the host, besides /usr, that hold interpreters."""

    name = "bubblewrap"

    def __init__(self, *, programs: Sequence[str] = ()) -> None:
        self._programs = tuple(programs)

    def probe(self) -> Probed:
        """Run nothing much in a sandbox as it would be for a script."""
        if sys.platform != "linux":
            return Probed(works=False, detail="there is no bubblewrap but on Linux", hint="use docker or podman")
        job = Job(("true",), environment={"PATH": SEARCH_PATH}, limits=RunLimits(timeout_seconds=20))
        try:
            with stoppable(lambda: False):  # Who stops a call does not judge the sandbox.
                ended = self.run(job, keep="")
        except NoSandbox as error:
            return Probed(works=False, detail=error.message, hint=error.hint)
        if ended.exit_status != 0:
            said = ended.stderr.content.decode("utf-8", "replace").strip()
            return Probed(works=False, detail=said or f"a trial ended with {ended.exit_status}", hint=_INSTALL)
        bounds = "control groups" if make_and_drop_group() else "watching"
        refused = "with" if make_filter(network=False) else "without"
        return Probed(works=True, detail=f"{_read_version()}, memory by {bounds}, {refused} a filter of system calls")

    def identity(self) -> str:
        """Return what changes when a program of this machine is installed or removed."""
        folders = ("/usr/bin", "/usr/local/bin", *self._programs)
        return f"bubblewrap {' '.join(map(stamp_folder, folders))}"

    def close(self) -> None:
        """There is nothing to give back."""

    def run(self, job: Job, *, keep: str, listener: Listener = hear_nothing) -> Ended:
        """Carry out a job. The calling thread waits: bubblewrap ends everything when that thread ends."""
        begun_at = time.monotonic()
        with ExitStack() as stack:
            run = stack.enter_context(self._begin(job))
            filters, secrecy = make_redaction(job)
            drained = drain(
                run.process,
                deadline=begun_at + job.limits.timeout_seconds,
                limit_bytes=job.limits.output_bytes,
                filters=filters,
                listener=listener,
                check=_make_check(run, job.limits),
                end=run.process.kill,
            )
            status = _wait(run.process)
            seconds = time.monotonic() - begun_at
            status = KILLED if drained.timed_out or drained.fault else status
            told = _describe_end(drained, run, status, job.limits)
            outputs, left = collect_outputs(run.output, keep, limits=job.limits, secrecy=secrecy)
        return Ended(
            status, drained.stdout, drained.stderr, drained.timed_out, seconds, outputs, notices=(*told, *left)
        )

    @contextmanager
    def _begin(self, job: Job) -> Generator[_Begun]:
        """Start a job; at the end of the block, nothing of it is left."""
        program = shutil.which("bwrap")
        if program is None or sys.platform != "linux":
            raise NoSandbox("there is no bubblewrap here", hint=_INSTALL)
        with ExitStack() as stack:
            groups = stack.enter_context(ExitStack())  # Of what is done last: a group with processes cannot be removed.
            info, info_inside = _pipe(stack)
            bounded_inside, bounded = _pipe(stack)
            inherited = _Inherited(stack)
            run_as = _choose_user(job)
            options = render_job(job, run_as=run_as, programs=self._programs, hand_over=inherited.add)
            arguments = inherited.add("arguments", b"".join(os.fsencode(option) + b"\0" for option in options))
            process = _start(
                [
                    *(program, "--args", str(arguments), "--info-fd", str(info_inside.fileno())),
                    *("--block-fd", str(bounded_inside.fileno())),
                ],
                (*_GATE, *run_as.prefix, *job.command),
                handles=(*inherited.handles, info_inside.fileno(), bounded_inside.fileno()),
            )
            stack.callback(_end, process)
            info_inside.close()
            bounded_inside.close()
            group = make_control_group(job.limits)  # While bubblewrap is on its way.
            if group is not None:
                groups.callback(group.close)
            first = _read_first_process(info, process)
            _bound(first, process, group, job.limits)
            bounded.write(b"b")  # Only now does the first process start others.
            output = _open_output(first, process)
            stack.callback(os.close, output)
            _let_go(first, process, job.limits)
            yield _Begun(process, first, output, group)


def _let_go(first: int, process: subprocess.Popen[bytes], limits: RunLimits) -> None:
    """Open the gate, once the first process has tied its life to that of bubblewrap, which it does before it waits."""
    watchdog, deadline = Watchdog(first, limits), time.monotonic() + _SET_UP_SECONDS
    while not watchdog.is_waiting():
        if process.poll() is not None or time.monotonic() > deadline:
            raise _failed(process)
        time.sleep(_LOOK_SECONDS)
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # It has ended already, which its status tells.
        process.stdin.write(b"go\n")
        process.stdin.close()


def _choose_user(job: Job) -> RunAs:
    """Return as whom a job is run: never as root, and as the owner of what it may write."""
    if os.geteuid() != 0:
        return RunAs(INSIDE_USER, translated=True)
    owner = find_owner(job.mounts)
    if owner is None:
        return RunAs(secrets.choice(_USERS_OF_NOTHING), translated=False)
    user, group = owner
    return RunAs(user, translated=False, group=group or user)


class _Inherited:
    """Open files, on no disk, that bubblewrap inherits."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.handles: list[int] = []

    def add(self, name: str, content: bytes) -> int:
        """Return a handle of a file with this content, at its beginning."""
        handle = os.memfd_create(name)
        self._stack.callback(os.close, handle)
        self.handles.append(handle)
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        os.lseek(handle, 0, os.SEEK_SET)
        return handle


def _start(program: list[str], command: Sequence[str], *, handles: Sequence[int]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [*program, "--", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            pass_fds=handles,
            env={},
            cwd="/",
            process_group=0,
        )
    except ValueError as error:
        raise ToolInputError(f"the arguments cannot be passed on: {error}", code="bad-arguments") from error
    except OSError as error:
        if error.errno == 7:  # E2BIG
            raise ToolInputError(
                "the arguments are too long for a program", hint="give long data as input", code="bad-arguments"
            ) from error
        raise NoSandbox(f"bubblewrap cannot be started: {error.strerror}", hint=_INSTALL) from error


def _read_first_process(info: FileIO, process: subprocess.Popen[bytes]) -> int:
    """Return the first process of the sandbox, which bubblewrap tells; raise if it fails before."""
    told = b""
    while part := info.read(_MAX_INFO_BYTES):
        told += part
    try:
        return int(json.loads(told)["child-pid"])
    except (ValueError, KeyError, TypeError):
        raise _failed(process) from None


def _open_output(first: int, process: subprocess.Popen[bytes]) -> int:
    """Return a handle of the output folder, as soon as the sandbox has its own file system."""
    root, folder = f"/proc/{first}/root", f"/proc/{first}/root{OUTPUT_FOLDER}"
    ours = os.stat("/")
    deadline = time.monotonic() + _SET_UP_SECONDS
    while time.monotonic() < deadline:
        try:
            theirs = os.stat(f"{root}/.")
            if (theirs.st_dev, theirs.st_ino) != (ours.st_dev, ours.st_ino):
                return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            pass  # It is on its way, or ended.
        except OSError as error:
            raise NoSandbox(f"the sandbox cannot be looked into: {error.strerror}", hint=_INSTALL) from error
        if process.poll() is not None:
            break
        time.sleep(_LOOK_SECONDS)
    raise _failed(process)


def _bound(first: int, process: subprocess.Popen[bytes], group: ControlGroup | None, limits: RunLimits) -> None:
    """Put the limits on the first process of the sandbox, which hands them on to all that it starts."""
    import resource

    bounds = (
        (resource.RLIMIT_DATA, limits.memory_bytes),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CPU, limits.cpu_seconds),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 1 << 20),
        (resource.RLIMIT_MSGQUEUE, 1 << 18),
    )
    try:
        for which, most in bounds:
            _, ceiling = resource.prlimit(first, which)
            bound = most if ceiling == resource.RLIM_INFINITY else min(most, ceiling)
            resource.prlimit(first, which, (bound, bound))
        if group is not None:
            group.add(first)
    except ProcessLookupError:
        raise _failed(process) from None
    except OSError as error:
        raise NoSandbox(f"a run cannot be limited here: {error.strerror}") from error


def _make_check(run: _Begun, limits: RunLimits) -> Callable[[], str]:
    """Return what looks whether a run must be ended. To want more processes than it may have is no reason."""
    if run.group is not None:
        group = run.group
        return lambda: describe_memory(limits) if group.find_fault() == "memory" else ""
    watchdog = Watchdog(run.first, limits)
    return lambda: _describe_fault(watchdog.find_fault(), limits)


def _wait(process: subprocess.Popen[bytes]) -> int:
    try:
        status = process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        status = process.wait(_END_SECONDS)
    return 128 - status if status < 0 else status


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process whatever state it is in; what is in its sandbox ends with it."""
    if process.poll() is None:
        process.kill()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)


def _failed(process: subprocess.Popen[bytes]) -> NoSandbox:
    with suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    if process.poll() is None:
        process.kill()
    said = process.stderr.read(4_096) if process.stderr is not None else b""
    reason = said.decode("utf-8", "replace").strip().removeprefix("bwrap: ") or "it ended without a word"
    return NoSandbox(f"bubblewrap cannot set up a sandbox: {reason}", hint=_INSTALL)


def _describe_end(drained: Drained, run: _Begun, status: int, limits: RunLimits) -> tuple[str, ...]:
    told = describe_bounds(drained, status, limits)
    if told or run.group is None:
        return told
    fault = run.group.find_fault()
    return (_describe_fault(fault, limits),) if fault else ()


def _describe_fault(fault: str, limits: RunLimits) -> str:
    """Return a bound that was reached as a sentence; empty for none."""
    return {"memory": describe_memory(limits), "processes": describe_processes(limits)}.get(fault, "")


def make_and_drop_group() -> bool:
    """Whether control groups can be made here."""
    group = make_control_group(RunLimits())
    if group is not None:
        group.close()
    return group is not None


def _read_version() -> str:
    done = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "bubblewrap"


def _pipe(stack: ExitStack) -> tuple[FileIO, FileIO]:
    reading, writing = os.pipe()
    return stack.enter_context(FileIO(reading, "rb")), stack.enter_context(FileIO(writing, "wb"))
