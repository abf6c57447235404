"""Mounts as values: which folder of the host a sandbox sees where, and the way from a path to its other side.

Paths are compared by whole components and by their text; only `get_host_path` looks at the disk. Inside a sandbox a
path is `/…` in its file system, or `private:/…` in the files of one task: a name for a place that each sandbox chooses
itself (`place_private`).
"""

import os
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from enum import StrEnum
from pathlib import PurePath

from prowess.errors import Refused, SettingsError

__all__ = [
    "PRIVATE",
    "PRIVATE_SKILLS",
    "SHARED_SKILLS",
    "Access",
    "Mount",
    "Permissions",
    "by_depth",
    "get_host_path",
    "make_permissions",
    "make_skills_mount",
    "place_private",
    "to_host",
    "to_inside",
]

SHARED_SKILLS = "/shared/skills"
"""Where a sandbox sees the active skills of its user."""
PRIVATE = "private:"
"""Stands before a path in the files of one task."""
PRIVATE_SKILLS = f"{PRIVATE}/.skills"
"""Where a task sees the skills that it has activated."""
_MAX_LINKS = 40
"""As many as Linux follows on one path."""
_NOT_IN_A_WINDOWS_NAME = frozenset("\\:")


class Access(StrEnum):
    """What a sandbox may do with a mount."""

    READ_ONLY = "ro"
    READ_WRITE = "rw"


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder of the host, and where a sandbox sees it. Both paths are absolute, and normal once it is made."""

    host: str
    _: KW_ONLY
    inside: str
    access: Access = Access.READ_ONLY

    def __post_init__(self) -> None:
        if "\0" in self.host or not os.path.isabs(self.host):
            raise _bad_mount(f"Mount hostPath must be absolute: {self.host}")
        inside = _split_inside(self.inside)
        if inside is None:
            raise _bad_mount(f"Mount mappedPath must be absolute POSIX path: {self.inside}")
        object.__setattr__(self, "host", _normal_host(self.host))
        object.__setattr__(self, "inside", _join_inside(*inside))


@dataclass(frozen=True, slots=True)
class Permissions:
    """Folders of the host that a sandbox policy lets a process read, and those where it may write too."""

    read_dirs: tuple[str, ...]
    write_dirs: tuple[str, ...]

    @property
    def read_only_dirs(self) -> tuple[str, ...]:
        """Those that may be read and not written."""
        return tuple(folder for folder in self.read_dirs if folder not in self.write_dirs)


def make_skills_mount(active: str) -> Mount:
    """Return the mount that shows a user's active skills to a sandbox."""
    return Mount(active, inside=SHARED_SKILLS)


def place_private(mounts: Iterable[Mount], *, root: str) -> tuple[Mount, ...]:
    """Return the mounts with `private:/…` at `root/…`, as a sandbox needs them."""
    return tuple(
        replace(mount, inside=posixpath.join(root, mount.inside.removeprefix(f"{PRIVATE}/")))
        if mount.inside.startswith(PRIVATE)
        else mount
        for mount in mounts
    )


def by_depth(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """Return the mounts in an order in which none hides another that was made before it."""
    return tuple(sorted(mounts, key=lambda mount: mount.inside.rstrip("/").count("/")))


def make_permissions(mounts: Sequence[Mount]) -> Permissions:
    """Return what the mounts let a sandbox do with folders of the host."""
    writable = [mount.host for mount in mounts if mount.access is Access.READ_WRITE]
    return Permissions(tuple(dict.fromkeys(mount.host for mount in mounts)), tuple(dict.fromkeys(writable)))


def to_host(mounts: Sequence[Mount], inside_path: str) -> str | None:
    """Return the path of the host that a sandbox sees at this path, None if that is in no mount.

    The mount with the longest path inside is the one that is seen, and of equals the last. `..` is taken by the text.
    """
    split = _split_inside(inside_path)
    seen = _find_seen(mounts, *split) if split else None
    return _join_host(seen[0].host, seen[1]) if seen else None


def to_inside(mounts: Sequence[Mount], host_path: str) -> str | None:
    """Return the path at which a sandbox sees this path of the host, None if it sees it nowhere.

    The mount with the longest path on the host comes first; one whose place is hidden by another mount shows nothing.
    """
    if "\0" in host_path or not os.path.isabs(host_path):
        return None
    path = _normal_host(host_path)
    parts = PurePath(path).parts
    for mount in sorted(mounts, key=lambda mount: len(PurePath(mount.host).parts), reverse=True):
        top = PurePath(mount.host).parts
        if _fold(parts[: len(top)]) != _fold(top):
            continue
        inside = posixpath.join(mount.inside, *parts[len(top) :])
        back = to_host(mounts, inside)
        if back is not None and os.path.normcase(back) == os.path.normcase(path):
            return inside
    return None


def get_host_path(mounts: Sequence[Mount], inside_path: str) -> str:
    """Return the path, free of links, that a sandbox reaches by this one, so that the host may open it.

    Links are read as the sandbox reads them, since it may have written them: where they lead out of the mounts, that is
    refused. The answer is of this instant. What opens it follows no link (`O_NOFOLLOW`, step by step), because a
    sandbox that may write can put one there meanwhile.
    """
    space, text = _split_space(inside_path)
    steps = _follow_links(mounts, space, _steps(text)) if _is_absolute(text) else None
    seen = _find_seen(mounts, space, steps) if steps is not None else None
    path = _join_host(os.path.realpath(seen[0].host), seen[1]) if seen else None
    if path is None:
        raise Refused(
            f"'{inside_path}' leads out of the mounts",
            hint="name a file below one of the mounts",
            code="outside-mounts",
        )
    return path


def _follow_links(mounts: Sequence[Mount], space: str, steps: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the steps, free of links, to which a sandbox comes by these; None if that cannot be known."""
    here: tuple[str, ...] = ()
    pending, links = list(reversed(steps)), 0
    while pending:
        step = pending.pop()
        if step == "..":
            here = here[:-1]
            continue
        target = _read_link(_find_seen(mounts, space, (*here, step)))
        if target is None:
            here = (*here, step)
            continue
        links += 1
        if links > _MAX_LINKS or (space and target.startswith("/")):  # Where private files lie, only the sandbox knows.
            return None
        here = () if target.startswith("/") else here
        pending += reversed(_steps(target))
    return here


def _find_seen(mounts: Sequence[Mount], space: str, parts: tuple[str, ...]) -> tuple[Mount, tuple[str, ...]] | None:
    """Return the mount that is seen at a path, and the rest of the path below it."""
    best: tuple[Mount, tuple[str, ...]] | None = None
    for mount in mounts:
        mount_space, top = _split_inside(mount.inside) or ("", ())
        if (
            mount_space == space
            and parts[: len(top)] == top
            and (best is None or len(parts) - len(top) <= len(best[1]))
        ):
            best = mount, parts[len(top) :]
    return best


def _read_link(seen: tuple[Mount, tuple[str, ...]] | None) -> str | None:
    """Return the text of a link in a mount, None if it is no link. A mount's own root is the host's affair."""
    path = _join_host(seen[0].host, seen[1]) if seen and seen[1] else None
    if path is None:
        return None
    try:
        return os.readlink(path).replace(os.sep, "/")
    except OSError:
        return None


def _join_host(top: str, rest: tuple[str, ...]) -> str | None:
    """Return the path of the host; None if the host can have no such name."""
    if os.sep != "/" and any(_NOT_IN_A_WINDOWS_NAME.intersection(part) for part in rest):
        return None
    return os.path.join(top, *rest)


def _split_inside(path: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the space of a path inside and its steps, without dots; None if it is not absolute."""
    space, text = _split_space(path)
    return (space, _steps(posixpath.normpath(text))) if _is_absolute(text) else None


def _split_space(path: str) -> tuple[str, str]:
    """Return the space of a path inside ("" for the file system), and the rest of it."""
    space = PRIVATE if path.startswith(f"{PRIVATE}/") else ""
    return space, path.removeprefix(space)


def _is_absolute(path: str) -> bool:
    return path.startswith("/") and "\0" not in path


def _steps(path: str) -> tuple[str, ...]:
    return tuple(step for step in path.split("/") if step not in ("", "."))


def _join_inside(space: str, steps: tuple[str, ...]) -> str:
    return f"{space}/" + "/".join(steps)


def _normal_host(path: str) -> str:
    normal = os.path.normpath(path)
    # POSIX leaves two slashes at the start to the system; on those that we know they mean one.
    return normal[1:] if os.sep == "/" and normal.startswith("//") else normal


def _fold(parts: Sequence[str]) -> list[str]:
    return [os.path.normcase(part) for part in parts]


def _bad_mount(message: str) -> SettingsError:
    return SettingsError(message, hint="give both paths of a mount in full", code="bad-mount")
