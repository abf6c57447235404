"""Fetch one state of a git repository, by the `git` command, without running anything that comes with it.

Nobody is asked for a password, no hook, filter or submodule of the repository is run, git speaks no protocol but the
address's own, and time and size are bounded.
"""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from prowess.copies.disk_failures import telling
from prowess.copies.git_addresses import GitAddress
from prowess.copies.layout import Layout
from prowess.copies.trees import remove_tree
from prowess.copies.user_folders import ensure_plain_folder, ensure_user_folders
from prowess.errors import NotFound, WorldError
from prowess.sources.locks import Hold, hold_lock
from prowess.sources.real_paths import find_real_path

__all__ = ["MAX_FETCH_BYTES", "TIMEOUT_SECONDS", "Checkout", "fetched"]

TIMEOUT_SECONDS = 300
MAX_FETCH_BYTES = 1 << 30
"""Of what git writes: packs, and then files."""
_MAX_LISTING_BYTES = 20_000_000
_MAX_COMPLAINT_BYTES = 1 << 20
"""Of what git says besides; a server may have it say anything, for as long as it likes."""
_KEPT_VARIABLES = ("GIT_SSH", "GIT_SSL", "GIT_HTTP", "GIT_CONFIG")
"""How a user reaches hosts. Other variables of git's would point it to another repository."""
_SAFE = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false", "-c", "protocol.version=2")
_POLL_SECONDS = 0.1
_UNREADABLE = "fatal: Could not read from remote repository."


@dataclass(frozen=True, slots=True)
class Checkout:
    """The files of a repository at a commit."""

    folder: str
    """Absolute, without links."""
    commit: str


@contextmanager
def fetched(
    address: GitAddress,
    layout: Layout,
    user: str,
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    max_bytes: int = MAX_FETCH_BYTES,
) -> Generator[Checkout]:
    """Give the files of a repository, as long as they are needed. One at a time for a user; others wait."""
    layout = Layout(find_real_path(layout.home) or layout.home)
    with telling("the repository cannot be fetched"):
        ensure_user_folders(layout, user)
        with hold_lock(os.path.join(layout.workshop, "users", user, "fetching.lock"), Hold.ALONE):
            folder = os.path.join(layout.user_folder(user), ".staging", "repository")
            ensure_plain_folder(os.path.dirname(folder))
            remove_tree(folder)  # A crash may have left it.
            os.mkdir(folder, 0o700)
            try:
                git = _Git(folder, address, time.monotonic() + timeout_seconds, max_bytes)
                yield git.fetch()
            finally:
                remove_tree(folder)


@dataclass(frozen=True, slots=True)
class _Git:
    folder: str
    address: GitAddress
    deadline: float
    max_bytes: int

    def fetch(self) -> Checkout:
        address = self.address
        self._run("init", "--quiet", "--template=", ".")
        self._run(
            *("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance"),
            *("--end-of-options", address.repository, address.ref or "HEAD"),
        )
        commit = self._run("rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()
        self._check_size(commit)
        # Filters and line endings are matters of the user's own configuration, which is left aside here.
        alone = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_LITERAL_PATHSPECS": "1"}
        self._run("checkout", "--quiet", "--force", commit, "--", address.folder or ".", more=alone)
        return Checkout(self._find_folder(), commit)

    def _check_size(self, commit: str) -> None:
        """Raise if the files would take more room than is allowed; a small pack can hold very large trees."""
        where = [self.address.folder + "/"] if self.address.folder else []
        listing = self._run("ls-tree", "-r", "-l", "-z", commit, "--", *where, more={"GIT_LITERAL_PATHSPECS": "1"})
        sizes = (entry.split(b"\t", 1)[0].split()[-1] for entry in listing.split(b"\0") if entry)
        if sum(int(size) for size in sizes if size.isdigit()) > self.max_bytes:
            raise self._failed(f"its files are larger than {self.max_bytes:,} bytes")
        if where and not listing:
            message = f"no folder '{self.address.folder}' in {self.address.repository}"
            raise NotFound(message, hint="what stands after # is the path of a folder from the repository's top")

    def _find_folder(self) -> str:
        folder = os.path.join(self.folder, *self.address.folder.split("/")) if self.address.folder else self.folder
        if find_real_path(folder) != folder or not os.path.isdir(folder):
            raise NotFound(
                f"'{self.address.folder}' in {self.address.repository} is not a folder", hint="a link is not followed"
            )
        return folder

    def _run(self, *arguments: str, more: Mapping[str, str] | None = None) -> bytes:
        """Return what git prints, within bounds."""
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
            try:
                process = subprocess.Popen(
                    ["git", *_SAFE, *arguments],
                    cwd=self.folder,
                    env=self._environment(more or {}),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=complaints,
                    start_new_session=True,
                )
            except FileNotFoundError as error:
                raise WorldError("git is not installed", hint="install git, or give a folder instead") from error
            try:
                self._wait(process, output.fileno(), complaints.fileno())
            finally:
                _end(process)
            if process.returncode != 0:
                complaints.seek(0)
                raise self._failed(_find_reason(complaints.read(10_000)))
            output.seek(0)
            said = output.read(_MAX_LISTING_BYTES + 1)
            if len(said) > _MAX_LISTING_BYTES:
                raise self._failed("it has too many files")
            return said

    def _wait(self, process: "subprocess.Popen[bytes]", output: int, complaints: int) -> None:
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)
            if os.fstat(output).st_size > _MAX_LISTING_BYTES:
                raise self._failed("it has too many files")
            if os.fstat(complaints).st_size > _MAX_COMPLAINT_BYTES:
                raise self._failed("the server says too much")
            if _measure(os.path.join(self.folder, ".git"), self.max_bytes) > self.max_bytes:
                raise self._failed(f"it is larger than {self.max_bytes:,} bytes")
            if process.returncode is not None:
                return
            if time.monotonic() > self.deadline:
                raise self._failed("it takes too long")

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        own = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or name.startswith(_KEPT_VARIABLES)
        }
        return {
            **own,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "SSH_ASKPASS_REQUIRE": "never",
            "GIT_ALLOW_PROTOCOL": self.address.protocol,
            "GIT_CEILING_DIRECTORIES": os.path.dirname(self.folder),
            "LC_ALL": "C",
            **more,
        }

    def _failed(self, reason: str) -> WorldError:
        return WorldError(
            f"Failed to install from {self.address.repository}: {reason}",
            hint="nothing was changed; see whether `git ls-remote` reaches the address",
            code="git-failed",
        )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End git with all that it has started, if it still runs."""
    if process.poll() is not None:
        return
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _measure(folder: str, limit: int) -> int:
    """Return how many bytes the files below a folder have, or some number beyond the limit."""
    total, pending = 0, [folder]
    while pending and total <= limit:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    total += entry.stat(follow_symlinks=False).st_size
    return total


def _find_reason(said: bytes) -> str:
    """Return the last line that says why; what git adds to it is the same for every address that it cannot read."""
    paragraph = said.decode("utf-8", "replace").strip().partition("\n\n")[0].splitlines()
    lines = [line for line in paragraph if line != _UNREADABLE] or paragraph
    return lines[-1].removeprefix("fatal: ") if lines else "git says no more"
