"""What is mounted somewhere on this machine, in a container that outlived its caller for one."""

import os
from collections.abc import Iterator

from prowess.sources.mount_points import read_mount_points

__all__ = ["find_mounted", "has_mount_point", "is_mounted"]

_MAX_NAMESPACES = 10_000


def find_mounted(versions: str) -> frozenset[str]:
    """Return the digests of the versions that some process of this machine has mounted, as far as one may look."""
    marker = f"/{os.path.basename(versions)}/"
    return frozenset(root.rpartition(marker)[2].partition("/")[0] for root in _list_mounts() if marker in root)


def is_mounted(folder: str) -> bool:
    """Whether some process of this machine may have mounted a folder, or something in it."""
    return any(len(root) > 1 and (folder.endswith(root) or f"{folder}/" in f"{root}/") for root in _list_mounts())


def has_mount_point(folder: str) -> bool:
    """Whether something is mounted on a folder or below it, so that what is seen there is not its own."""
    return any(f"{mount.place}/".startswith(f"{folder}/") for mount in read_mount_points())


def _list_mounts() -> Iterator[str]:
    """Return what is mounted in each mount namespace: paths in their file systems, which need not be the host's."""
    seen: set[str] = set()
    for process in _list_processes():
        try:
            namespace = os.readlink(f"/proc/{process}/ns/mnt")
        except PermissionError:
            namespace = f"of {process}"  # Another user's: its mounts can be read all the same.
        except OSError:
            continue
        if namespace in seen or len(seen) > _MAX_NAMESPACES:
            continue
        seen.add(namespace)
        yield from (mount.root for mount in read_mount_points(process))


def _list_processes() -> list[str]:
    try:
        return [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
