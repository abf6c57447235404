"""Which versions are mounted somewhere on this machine, in a container that outlived its caller for one."""

import os

__all__ = ["find_mounted"]

_MAX_NAMESPACES = 10_000


def find_mounted(versions: str) -> frozenset[str]:
    """Return the digests of the versions that some process of this machine has mounted, as far as one may look."""
    marker = f"/{os.path.basename(versions)}/"
    found: set[str] = set()
    seen: set[str] = set()
    for process in _list_processes():
        try:
            namespace = os.readlink(f"/proc/{process}/ns/mnt")
            if namespace in seen or len(seen) > _MAX_NAMESPACES:
                continue
            with open(f"/proc/{process}/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
                roots = [line.split(" ", 4)[3] for line in file]
        except (OSError, IndexError):
            continue
        seen.add(namespace)
        found |= {root.rpartition(marker)[2].partition("/")[0] for root in roots if marker in root}
    return frozenset(found)


def _list_processes() -> list[str]:
    try:
        return [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
