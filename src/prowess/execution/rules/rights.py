"""Rights: what somebody may do, and so the most that they can pass on."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from prowess.errors import Refused
from prowess.execution.rules.permission_tags import PermissionKind, PermissionTag
from prowess.policy import WorkspaceAccess

__all__ = ["EVERYTHING", "NOTHING", "Rights", "allows_tag", "check_tags", "intersect"]

_WORKSPACE_ORDER = (WorkspaceAccess.NONE, WorkspaceAccess.READ, WorkspaceAccess.WRITE)


@dataclass(frozen=True, slots=True)
class Rights:
    """What an agent, a host or a run may do. What is not named is not held.

    Folders are absolute, and hold for all that is below them. To have a folder as its working folder gives nobody any
    right in it.
    """

    network: bool = False
    events: bool = False
    workspace: WorkspaceAccess = WorkspaceAccess.NONE
    read_dirs: tuple[str, ...] = ()
    """None at all means that nothing may be read, but for `write_dirs`."""
    write_dirs: tuple[str, ...] = ()
    """May be read too."""
    tools: tuple[tuple[str, ...], ...] = ()
    """Sets of patterns for `tool_rules`: each of the sets must cover a call."""


EVERYTHING = Rights(
    network=True, events=True, workspace=WorkspaceAccess.WRITE, read_dirs=("/",), write_dirs=("/",), tools=()
)
NOTHING = Rights(tools=((),))
"""Its one set of patterns is empty, and covers no call."""


def intersect(a: Rights, b: Rights) -> Rights:
    """Return what both hold."""
    write_dirs = _meet(a.write_dirs, b.write_dirs)
    read_dirs = _meet(a.read_dirs, b.read_dirs)
    # Who may write may read, so what one side writes and the other reads is readable for both.
    mixed = (*_meet(a.read_dirs, b.write_dirs), *_meet(a.write_dirs, b.read_dirs))
    added = (folder for folder in mixed if not _is_held(folder, (*read_dirs, *write_dirs)))
    return Rights(
        network=a.network and b.network,
        events=a.events and b.events,
        workspace=min(a.workspace, b.workspace, key=_WORKSPACE_ORDER.index),
        read_dirs=tuple(dict.fromkeys((*read_dirs, *added))),
        write_dirs=write_dirs,
        tools=tuple(dict.fromkeys((*a.tools, *b.tools))),
    )


def allows_tag(rights: Rights, tag: PermissionTag) -> bool:
    """Whether the permission is among the rights."""
    match tag.kind:
        case PermissionKind.NETWORK:
            return rights.network
        case PermissionKind.EVENTS:
            return rights.events
        case PermissionKind.WORKSPACE:
            return rights.workspace is WorkspaceAccess.WRITE
        case PermissionKind.READ:
            return _is_held(tag.path, (*rights.read_dirs, *rights.write_dirs))
        case PermissionKind.WRITE:
            return _is_held(tag.path, rights.write_dirs)


def check_tags(tags: Sequence[PermissionTag], rights: Rights) -> None:
    """Raise `Refused` for the first permission that is not among the rights."""
    for tag in tags:
        if not allows_tag(rights, tag):
            raise Refused(
                f"Cannot attach permission '{tag}' - you don't have it.",
                hint="Leave it out, or ask somebody who holds it.",
                code="permission-not-held",
            )


def _is_held(path: str, folders: Iterable[str]) -> bool:
    """Whether the path is one of the folders or below one, by whole components."""
    parts = _split(path)
    if parts is None:
        return False
    return any(own is not None and parts[: len(own)] == own for own in map(_split, folders))


def _split(path: str) -> tuple[str, ...] | None:
    """Return the components of a path; None if nobody can say by its text where it is."""
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    return parts if path.startswith("/") and ".." not in parts else None


def _meet(some: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return the deeper folder of each pair of which one holds the other."""
    return tuple(dict.fromkeys(_find_deeper(some, others)))


def _find_deeper(some: Sequence[str], others: Sequence[str]) -> Iterator[str]:
    for one in map(_split, some):
        for other in map(_split, others):
            if one is None or other is None:
                continue
            deeper, upper = (one, other) if len(one) >= len(other) else (other, one)
            if deeper[: len(upper)] == upper:
                yield "/" + "/".join(deeper)
