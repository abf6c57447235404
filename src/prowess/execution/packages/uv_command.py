"""uv: where it is, and one run of it, in a folder of its own and within bounds.

It runs on the host, where alone there is a network; so it obeys the operator's settings (variables, and the files of
the user and the system) and those of no project, and it never runs what it fetches.
"""

import os
import re
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from prowess.errors import Refused, WorldError
from prowess.skill.deception import make_printable
from prowess.sources.locks import Hold, release_lock, take_lock, try_lock
from prowess.sources.private_folders import make_private_folder

if TYPE_CHECKING:
    import queue
    import subprocess

__all__ = ["Failure", "Progress", "Ran", "describe_refusal", "find_uv", "measure", "remove_tree", "run_uv", "working"]

Progress = Callable[[str], None]
"""Hears what is going on, a line at a time."""

_COMMON = ("--color=never", "--no-python-downloads")
_KEPT = frozenset(
    {
        *("HOME", "PATH", "LANG", "LC_ALL", "NETRC", "TMPDIR", "TMP", "TEMP"),
        *("ALL_PROXY", "FTP_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
        *("APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "SYSTEMDRIVE", "SYSTEMROOT", "USERPROFILE"),
    }
)
_KEPT_BEGINNINGS = ("SSL_", "UV_", "PIP_", "XDG_")
_DROPPED = frozenset(
    {
        *("UV_WORKING_DIR", "UV_PROJECT", "UV_ENV_FILE"),  # They lead back to a project.
        *(
            "UV_PYTHON",
            "UV_SYSTEM_PYTHON",
            "UV_BREAK_SYSTEM_PACKAGES",
        ),  # Nothing is installed for a Python of the host.
        *("UV_NO_VERIFY_HASHES", "UV_INSECURE_NO_ZIP_VALIDATION"),  # What was agreed to is what is installed.
        *("UV_COMPILE_BYTECODE", "UV_LINK_MODE", "UV_NO_BINARY", "UV_NO_CACHE", "UV_NO_PROGRESS"),
    }
)
_NO_PROJECT = "[tool.uv]\nmanaged = false\n"
"""Where uv finds this, it looks for no settings in the folders above: neither a project's nor a workspace's."""
_LEASH = """
import os, sys
try:
    import ctypes
    ctypes.CDLL(None).prctl(1, 9)
except (ImportError, OSError, AttributeError):
    pass
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
sys.exit(1)
"""
"""Starts a program that Linux kills when the process that wanted it dies; else it would go on without bounds."""
_POLL_SECONDS = 0.2
_MAX_LINES = 200
_MAX_LINE_BYTES = 2_000
_MAX_REASON_CHARACTERS = 600
_BLOCK_BYTES = 4096
_TOO_SLOW = "it takes too long"
_NOISE = re.compile(r"Using C?P\w+ \d")
_CREDENTIALS = re.compile(r"://[^/@\s]+@")
_DECORATION = re.compile(r"^[\s\u00d7╰─▶├│]*(?:error: |cause: |Caused by: )?")
_OFFLINE = re.compile(
    r"client error \(Connect\)|dns error|network was disabled|[Nn]etwork connectivity is disabled|operation timed out"
)
_CHANGED = re.compile(r"[Hh]ash mismatch")


class Failure(StrEnum):
    """Why uv did not do what it was asked for, as the code of the refusal that follows."""

    OFFLINE = "packages-offline"
    TIME = "packages-timeout"
    SIZE = "packages-too-large"
    CHANGED = "packages-changed"
    OTHER = "packages-failed"


_HINTS = {
    Failure.OFFLINE: "connect to the network once, and use `prowess run` there; later runs need no network",
    Failure.TIME: "try again when the network is faster; nothing was kept",
    Failure.SIZE: "ask the skill's author for smaller packages; nothing was kept",
    Failure.CHANGED: "the index gives other files than those that were agreed to; find out why before you go on",
}


class _Readable(Protocol):
    def readline(self, limit: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a run of uv."""

    failure: Failure | None
    reason: str = ""
    """In a line, where it failed."""


def find_uv() -> str:
    """Return the path of uv: that of the package, else the one on PATH; raise if there is none."""
    try:
        from uv import find_uv_bin

        return os.fspath(find_uv_bin())
    except (ImportError, FileNotFoundError):
        import shutil

        found = shutil.which("uv")
        if found is not None and os.path.isabs(found):  # Else it would be one of the working folder's.
            return found
    raise WorldError(
        "uv, which installs the packages that scripts declare, is not there",
        hint="pip install 'prowess[scripts]'",
        code="no-uv",
    )


def describe_refusal(ran: Ran, what: str, *, otherwise: str) -> Refused:
    """Return the refusal that follows from a failure; `otherwise` is its code where no more is known of the cause."""
    failure = ran.failure or Failure.OTHER
    code = otherwise if failure is Failure.OTHER else failure.value
    hint = _HINTS.get(failure, "correct the script's dependencies, or ask the skill's author to")
    return Refused(f"{what}: {ran.reason}", hint=hint, code=code)


@contextmanager
def working(parent: str, key: str, *, progress: Progress) -> Generator[str]:
    """Give an empty folder for uv to work in, to one process at a time for a key, and remove it afterwards.

    Keys that begin alike share a lock, so that the number of locks is bounded. What a crash left is cleared.
    """
    making = os.path.join(parent, "making")
    make_private_folder(making)
    own = key[:2]
    lock = try_lock(os.path.join(making, f"{own}.lock"), Hold.ALONE)
    if lock is None:
        progress("Waiting for another process that prepares packages")
        lock = take_lock(os.path.join(making, f"{own}.lock"), Hold.ALONE)
    try:
        _clear_leftovers(making, own)
        # Not the name of the last time: a uv that has outlived its process may still write there.
        folder = os.path.join(making, own, os.urandom(8).hex())
        make_private_folder(folder)
        with open(os.path.join(folder, "pyproject.toml"), "w", encoding="utf-8") as file:
            file.write(_NO_PROJECT)
        yield folder
    finally:
        remove_tree(os.path.join(making, own))
        release_lock(lock)


def _clear_leftovers(making: str, own: str) -> None:
    for name in os.listdir(making):
        if name.endswith(".lock"):
            continue
        if name == own:
            remove_tree(os.path.join(making, name))
            continue
        lock = try_lock(os.path.join(making, f"{name}.lock"), Hold.ALONE)
        if lock is not None:
            remove_tree(os.path.join(making, name))
            release_lock(lock)


def remove_tree(path: str) -> None:
    """Remove a folder with all that is in it, read-only folders too, as far as the system lets us."""
    import shutil

    for folder, _, _ in os.walk(path):
        with suppress(OSError):
            os.chmod(folder, 0o700)
    shutil.rmtree(path, ignore_errors=True)


def measure(folder: str, *, limit: int) -> int:
    """Return how much room a folder takes on the disk, about; or some number beyond the limit.

    Each entry counts for a block at least: this bounds their number too.
    """
    total, pending = 0, [folder]
    while pending and total <= limit:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                total += _BLOCK_BYTES
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    total += max(0, entry.stat(follow_symlinks=False).st_size - _BLOCK_BYTES)
    return total


def run_uv(
    uv: str,
    arguments: Sequence[str],
    *,
    folder: str,
    progress: Progress,
    timeout_seconds: float,
    max_bytes: int,
) -> Ran:
    """Run uv in a folder made by `working`; whatever happens, none of its processes is left.

    What it fetches lies in that folder too, unless the operator has named a cache, and may not take more than
    `max_bytes` there.
    """
    import queue
    import subprocess
    import threading

    if not os.access(uv, os.X_OK):
        raise WorldError(f"uv cannot be started: {uv}", hint="reinstall uv", code="no-uv")
    python, deadline = _find_python(), time.monotonic() + timeout_seconds
    try:
        process = subprocess.Popen(
            [*_leash(python), uv, *arguments, *_name_folders(folder, python), *_COMMON],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise WorldError(f"uv cannot be started: {error}", hint="try again, or reinstall uv", code="no-uv") from error
    lines: queue.Queue[str | None] = queue.Queue(_MAX_LINES)
    assert process.stderr is not None
    reader = threading.Thread(target=_read_lines, args=(process.stderr, lines), daemon=True)
    reader.start()
    try:
        return _attend(process, lines, folder=folder, progress=progress, deadline=deadline, max_bytes=max_bytes)
    finally:
        _end(process)
        while reader.is_alive():  # It may wait for room in the queue.
            with suppress(queue.Empty):
                lines.get(timeout=0.01)
        process.stderr.close()


def _attend(
    process: "subprocess.Popen[bytes]",
    lines: "queue.Queue[str | None]",
    *,
    folder: str,
    progress: Progress,
    deadline: float,
    max_bytes: int,
) -> Ran:
    import queue
    import subprocess

    said: deque[str] = deque(maxlen=_MAX_LINES)
    measured, pause = time.monotonic(), _POLL_SECONDS
    while True:
        with suppress(queue.Empty):
            line = lines.get(timeout=_POLL_SECONDS)
            if line is None:
                break
            said.append(line)
            if line.strip() and not _NOISE.match(line):
                progress(line)
        now = time.monotonic()
        if now > deadline:
            return Ran(Failure.TIME, _TOO_SLOW)
        if now > measured + pause:
            if measure(folder, limit=max_bytes) > max_bytes:
                return Ran(Failure.SIZE, f"more than {max_bytes:,} bytes were fetched")
            measured = time.monotonic()
            pause = max(_POLL_SECONDS, 5 * (measured - now))
    try:
        status = process.wait(max(1.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return Ran(Failure.TIME, _TOO_SLOW)
    return Ran(None) if status == 0 else _explain(said)


def _explain(said: Sequence[str]) -> Ran:
    text = "\n".join(said)
    failure = Failure.OFFLINE if _OFFLINE.search(text) else Failure.CHANGED if _CHANGED.search(text) else Failure.OTHER
    start = next((at for at, line in enumerate(said) if line.lstrip().startswith(("error", "\u00d7"))), 0)
    parts = [_DECORATION.sub("", line).strip() for line in list(said)[start:]]
    reason = "; ".join(part for part in parts if part) or "uv says no more"
    return Ran(failure, reason if len(reason) <= _MAX_REASON_CHARACTERS else reason[: _MAX_REASON_CHARACTERS - 1] + "…")


def _read_lines(stream: _Readable, lines: "queue.Queue[str | None]") -> None:
    while line := stream.readline(_MAX_LINE_BYTES):
        text = make_printable(line.decode("utf-8", "replace").rstrip())
        lines.put(_CREDENTIALS.sub("://…@", text))
    lines.put(None)


def _find_python() -> str:
    """Return a Python of the host, which uv wants to know; empty where Prowess is embedded in another program."""
    is_python = os.path.basename(sys.executable or "").lower().startswith("python")
    return sys.executable if is_python else ""


def _leash(python: str) -> list[str]:
    return [python, "-I", "-S", "-c", _LEASH, str(os.getpid())] if python and sys.platform == "linux" else []


def _name_folders(folder: str, python: str) -> list[str]:
    cache = [] if os.environ.get("UV_CACHE_DIR") else [f"--cache-dir={os.path.join(folder, 'cache')}"]
    return [*cache, *([f"--python={python}"] if python else [])]


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if _is_kept(name.upper())}


def _is_kept(name: str) -> bool:
    return name in _KEPT or (name.startswith(_KEPT_BEGINNINGS) and name not in _DROPPED)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End uv with all that it has started, unless its end has been seen already."""
    if process.returncode is not None:
        return  # Its number may be another's by now.
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
