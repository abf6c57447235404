"""How a job is said to bubblewrap: what its sandbox holds, in the order in which that is put together."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from prowess.containers.arguments import render_bubblewrap
from prowess.errors import ToolInputError
from prowess.execution.host_world import CERTIFICATES, NAME_SERVICE, OF_THE_HOST
from prowess.execution.jobs import INPUT_FILE, OUTPUT_FOLDER, Job
from prowess.execution.seccomp import make_filter

__all__ = ["INSIDE_USER", "HandOver", "RunAs", "render_job"]

INSIDE_USER = 1_000
"""Who a run is inside, where the kernel translates users for it."""

HandOver = Callable[[str, bytes], int]
"""Takes a name and bytes, and returns an open file with them that bubblewrap inherits."""
_WITH_NETWORK = ("/etc/resolv.conf", *CERTIFICATES)
_NAMES_OF_MACHINES = {
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": NAME_SERVICE,
}
_FOLDERS_BESIDE_USR = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SHARED_MEMORY, _TEMPORARY = "/dev/shm", "/tmp"  # noqa: S108 - the sandbox's own


@dataclass(frozen=True, slots=True)
class RunAs:
    """As whom a job is run. Bubblewrap's own translation of users will do, unless Prowess is root.

    Root behind the translation would still be root for the kernel: it owns /dev/null and may write below /proc/sys. So
    root needs no translation, and hands the job to a user that owns nothing at all.
    """

    user: int
    translated: bool
    group: int = 0
    """Its group; 0 for one of the user's number."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        if not self.translated:
            apart = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
            return (*apart, "--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
        who = ("--unshare-user", "--disable-userns", "--uid", str(self.user), "--gid", str(self.user))
        return ("--unshare-all", *who, "--cap-drop", "ALL")

    @property
    def prefix(self) -> tuple[str, ...]:
        """What stands before a job's command."""
        who = (f"--reuid={self.user}", f"--regid={self.group or self.user}", "--clear-groups", "--inh-caps=-all")
        return () if self.translated else ("/usr/bin/setpriv", *who, "--")


def render_job(job: Job, *, run_as: RunAs, programs: Sequence[str], hand_over: HandOver) -> list[str]:
    """Return bubblewrap's arguments, but for the command; they hold secrets and are for no command line.

    Everything that could be written is read-only or bounded: the root itself is made so last.
    """
    _check(programs)
    limits = job.limits
    variables = {**job.environment, **job.secrets}
    options = [
        *_without_network(run_as.namespaces, network=job.network),
        *("--die-with-parent", "--new-session", "--hostname", "sandbox"),
        *_show_programs(),
        *_show_folders(OF_THE_HOST),
        *((*_make_parents(_WITH_NETWORK), *_show_folders(_WITH_NETWORK)) if job.network else ()),
        *_describe_users(run_as, hand_over, network=job.network),
        *("--proc", "/proc", "--remount-ro", "/proc"),
        *("--dev", "/dev", *_scratch(_SHARED_MEMORY, limits.scratch_bytes), "--remount-ro", "/dev"),
        *_scratch(_TEMPORARY, limits.scratch_bytes),
        *_scratch(OUTPUT_FOLDER, limits.folder_bytes),
        *_make_parents(tuple(filter(os.path.exists, programs))),
        *_show_folders(programs),  # One may lie in /tmp.
        *_make_parents((*(mount.inside for mount in job.mounts), INPUT_FILE)),
        *_show_input(job, hand_over),
        *render_bubblewrap(job.mounts),
        *("--remount-ro", "/", "--chdir", job.work_folder, "--clearenv"),
        *(part for name, value in variables.items() for part in ("--setenv", name, value)),
        *_refuse_calls(job, hand_over),
    ]
    _check(options)
    return options


def _check(options: Sequence[str]) -> None:
    """Raise if an option cannot be passed on as one: they are written one after another, a zero byte after each."""
    for option in options:
        try:
            torn = b"\0" in os.fsencode(option)
        except UnicodeEncodeError:
            torn = True
        if torn:  # It may be a secret, so it is not shown.
            raise ToolInputError(
                "a path or a variable of the run holds a character that no program can be given",
                hint="look for a zero byte or half a character in its variables, secrets and folders",
                code="bad-arguments",
            )


def _show_programs() -> list[str]:
    """Return what shows the programs of this machine."""
    found = ["--perms", "0755", "--dir", "/etc", "--ro-bind", "/usr", "/usr"]
    for folder in _FOLDERS_BESIDE_USR:
        if os.path.islink(folder):
            found += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            found += ["--ro-bind", folder, folder]
    return found


def _show_folders(paths: Sequence[str]) -> list[str]:
    """Return what shows files and folders of the host where they lie, as far as they are there."""
    return [part for path in paths for part in ("--ro-bind-try", os.path.realpath(path), path)]


def _scratch(folder: str, size_bytes: int) -> tuple[str, ...]:
    return ("--size", str(size_bytes), "--perms", "1777", "--tmpfs", folder)


def _without_network(namespaces: tuple[str, ...], *, network: bool) -> tuple[str, ...]:
    """Return the namespaces; a run with a network shares that of the host."""
    if not network:
        return namespaces
    shared = tuple(option for option in namespaces if option != "--unshare-net")
    return (*shared, "--share-net") if "--unshare-all" in shared else shared


def _describe_users(run_as: RunAs, hand_over: HandOver, *, network: bool) -> list[str]:
    """Return files that give the run's user a name, and know no other; with a network, also how names are looked up."""
    number = run_as.user
    files = {
        "passwd": f"skill:x:{number}:{number}:skill:{OUTPUT_FOLDER}:/bin/sh\n",
        "group": f"skill:x:{number}:\n",
    }
    files |= _NAMES_OF_MACHINES if network else {}
    found: list[str] = []
    for name, text in files.items():
        found += ["--perms", "0444", "--file", str(hand_over(name, text.encode())), f"/etc/{name}"]
    return found


def _make_parents(places: Sequence[str]) -> list[str]:
    """Return what makes the folders above mounts, which bubblewrap would make for itself alone."""
    parents = {str(parent) for place in places for parent in PurePosixPath(place).parents if str(parent) != "/"}
    return [part for parent in sorted(parents) for part in ("--perms", "0755", "--dir", parent)]


def _show_input(job: Job, hand_over: HandOver) -> tuple[str, ...]:
    if job.input is None:
        return ()
    return ("--perms", "0444", "--file", str(hand_over("input", job.input)), INPUT_FILE)


def _refuse_calls(job: Job, hand_over: HandOver) -> tuple[str, ...]:
    made = make_filter(network=job.network)
    return ("--seccomp", str(hand_over("filter", made))) if made else ()
