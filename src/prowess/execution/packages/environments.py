"""Environments: the packages of a lock in a read-only folder, installed once and kept by the lock's digest.

An environment appears under its name when all of it is there. Nothing of a package is run to install it; what the
packages do, they do in a sandbox that sees the folder.
"""

import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress

from prowess.errors import Refused, WorldError
from prowess.execution.packages.locking import Lock
from prowess.execution.packages.uv_command import (
    Failure,
    Progress,
    Ran,
    describe_refusal,
    measure,
    remove_tree,
    run_uv,
    working,
)
from prowess.sources.locks import Hold, hold_lock, release_lock, try_lock

__all__ = ["MAX_BYTES", "TIMEOUT_SECONDS", "Environments"]

MAX_BYTES = 1 << 30
"""Of one environment."""
TIMEOUT_SECONDS = 600
_FOLDER = "environments-1"
_PACKAGES = "packages"
_MARKER = "complete"
"""Beside the packages, and written last. Its time says when the environment was last asked for."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SEALED_FOLDER, _SEALED_PROGRAM, _SEALED_FILE = 0o555, 0o555, 0o444
_FEW = 300
"""Up to so many files, each is written to the disk by itself; for more, all that waits at once is faster."""
_FAILED = "packages-failed"
_WHAT = "the packages cannot be installed"


class Environments:
    """All environments in one cache folder. Any number of threads and processes may use them."""

    def __init__(self, folder: str, *, max_bytes: int = MAX_BYTES, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self._folder = os.path.join(os.path.abspath(folder), _FOLDER)
        self._max_bytes = max_bytes
        self._timeout_seconds = timeout_seconds

    @contextmanager
    def hold(self, lock: Lock) -> Generator[None]:
        """Keep the environment of a lock, also one that is found or installed meanwhile, from being collected."""
        with hold_lock(self._use_file(lock.digest), Hold.SHARED):
            yield

    def find(self, lock: Lock) -> str | None:
        """Return the folder with the packages; None if they are not installed."""
        place = self._place(lock.digest)
        if not _is_complete(place, lock.digest):
            return None
        with suppress(OSError):
            os.utime(os.path.join(place, _MARKER))
        return os.path.join(place, _PACKAGES)

    def install(self, lock: Lock, *, uv: str, progress: Progress, offline: bool = False) -> str:
        """Return the folder with the packages, after installing them if nobody has. Call it under `hold`."""
        try:
            with working(self._folder, lock.digest, progress=progress) as folder:
                found = self.find(lock)
                if found is not None:
                    return found  # From the process that this one has waited for.
                draft = os.path.join(folder, "environment")
                packages = os.path.join(draft, _PACKAGES)
                os.mkdir(draft, 0o700)
                os.mkdir(packages)
                self._fill(packages, lock, folder, uv, progress, offline=offline)
                self._seal(packages)
                _settle(packages)
                _mark(draft, lock.digest)
                remove_tree(self._place(lock.digest))  # One that is damaged.
                os.rename(draft, self._place(lock.digest))
        except OSError as error:
            raise WorldError(f"{_WHAT}: {error}", hint="see to the disk and try again; nothing was kept") from error
        return os.path.join(self._place(lock.digest), _PACKAGES)

    def collect(self, keep: int) -> int:
        """Remove what was not asked for longest, until so many are left, but none in use; return how many went."""
        latest_first = sorted(self._list(), key=self._last_asked, reverse=True)
        return sum(self._remove(digest) for digest in latest_first[keep:])

    def _fill(self, packages: str, lock: Lock, folder: str, uv: str, progress: Progress, *, offline: bool) -> None:
        if not lock.packages:
            return
        with open(os.path.join(folder, "lock.txt"), "w", encoding="utf-8") as file:
            file.write(lock.text)
        ran = run_uv(
            uv,
            (
                *("pip", "install", "--requirements=lock.txt", f"--target={packages}"),
                *("--require-hashes", "--verify-hashes", "--no-deps", "--only-binary=:all:"),
                # Copies, because their modes are changed; and no bytecode, because that takes a Python.
                *("--link-mode=copy", "--no-compile-bytecode", "--no-sources"),
                *(f"--python-version={lock.python}", f"--python-platform={lock.platform}"),
                *(("--offline",) if offline else ()),
            ),
            folder=folder,
            progress=progress,
            timeout_seconds=self._timeout_seconds,
            max_bytes=2 * self._max_bytes,  # Once as uv unpacks them, once in their place.
        )
        if ran.failure is not None:
            raise describe_refusal(ran, _WHAT, otherwise=_FAILED)

    def _seal(self, packages: str) -> None:
        """Make all of it read-only; raise if it is too large, or holds what is neither file nor folder."""
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(packages, ".lock"))  # uv's own.
        if measure(packages, limit=self._max_bytes) > self._max_bytes:
            reason = f"they take more than {self._max_bytes:,} bytes"
            raise describe_refusal(Ran(Failure.SIZE, reason), _WHAT, otherwise=_FAILED)
        for folder, folders, files in os.walk(packages, topdown=False):
            for name in (*folders, *files):
                _seal_entry(os.path.join(folder, name))
        os.chmod(packages, _SEALED_FOLDER)

    def _list(self) -> list[str]:
        try:
            return [name for name in os.listdir(self._folder) if _DIGEST.fullmatch(name)]
        except FileNotFoundError:
            return []

    def _last_asked(self, digest: str) -> int:
        """Return when it was last asked for, in nanoseconds; never, for one that is not complete."""
        try:
            return os.stat(os.path.join(self._place(digest), _MARKER)).st_mtime_ns
        except OSError:
            return 0

    def _remove(self, digest: str) -> bool:
        lock = try_lock(self._use_file(digest), Hold.ALONE)
        if lock is None:
            return False
        try:
            with suppress(FileNotFoundError):  # Without its marker it is none any more, wherever we are stopped.
                os.unlink(os.path.join(self._place(digest), _MARKER))
            remove_tree(self._place(digest))
        finally:
            release_lock(lock)
        return not os.path.exists(self._place(digest))

    def _place(self, digest: str) -> str:
        return os.path.join(self._folder, digest)

    def _use_file(self, digest: str) -> str:
        """The lock that users share. Digests that begin alike have one, so that their number is bounded."""
        return os.path.join(self._folder, "in-use", f"{digest[:2]}.lock")


def _is_complete(place: str, digest: str) -> bool:
    try:
        with open(os.path.join(place, _MARKER), "rb") as file:
            return file.read(100) == digest.encode("ascii") and os.path.isdir(os.path.join(place, _PACKAGES))
    except OSError:
        return False


def _seal_entry(path: str) -> None:
    mode = os.lstat(path).st_mode
    if stat.S_ISDIR(mode):
        os.chmod(path, _SEALED_FOLDER)
    elif stat.S_ISREG(mode):
        os.chmod(path, _SEALED_PROGRAM if mode & 0o111 else _SEALED_FILE)
    else:
        name = os.path.basename(path)
        raise Refused(f"{_WHAT}: '{name}' is neither a file nor a folder", hint="nothing was kept", code=_FAILED)


def _settle(packages: str) -> None:
    """Return when every file would outlive a crash of the machine."""
    files = [os.path.join(folder, name) for folder, _, names in os.walk(packages) for name in names]
    if os.name != "posix":
        return
    if len(files) > _FEW:
        os.sync()
        return
    for path in files:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _mark(draft: str, digest: str) -> None:
    """Say that it is complete."""
    with open(os.path.join(draft, _MARKER), "w", encoding="ascii") as file:
        file.write(digest)
        file.flush()
        os.fsync(file.fileno())
