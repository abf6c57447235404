"""Whether a running container holds a folder that the host has replaced since: a bind mount pins what it found.

Seen by looking into the container's file system through one of its processes, where this process may (Linux, with the
rights of a debugger). Nothing in the container is followed out of it.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from prowess.containers.mounts import Mount
from prowess.containers.staleness import Fault, StaleMount
from prowess.errors import WorldError

__all__ = ["Pins", "find_replaced"]

_MAX_LINKS = 40


@dataclass(frozen=True, slots=True)
class Pins:
    """What was found: the mounts whose folder was replaced, and a note if nothing could be seen."""

    replaced: tuple[StaleMount, ...] = ()
    note: str = ""


def find_replaced(mounts: Sequence[Mount], *, pid: int, container_id: str) -> Pins:
    """Compare each mount of a running container with its folder on the host, by device and inode.

    A folder that is gone from the host is a `WorldError`: no container could be made with it.
    """
    try:
        process = os.open(f"/proc/{pid}", os.O_RDONLY)
    except OSError:
        return _unseen("its processes are not on this machine")
    try:
        # An engine elsewhere gives numbers of processes of its own machine: this one must know the container's id.
        if not _knows(process, container_id):
            return _unseen("its processes are not on this machine")
        root = os.open("root", os.O_PATH | os.O_DIRECTORY, dir_fd=process)
    except OSError as error:
        return _unseen(error.strerror or str(error))
    finally:
        os.close(process)
    try:
        return Pins(tuple(_replaced(mount) for mount in mounts if _is_replaced(mount, root)))
    except OSError as error:
        return _unseen(error.strerror or str(error))
    finally:
        os.close(root)


def _knows(process: int, container_id: str) -> bool:
    """Whether a process is of the container, by its control group or by files of the engine that are mounted in it."""
    wanted = container_id.encode()
    return any(wanted in _read(process, name) for name in ("cgroup", "mountinfo"))


def _read(process: int, name: str) -> bytes:
    with open(os.open(name, os.O_RDONLY, dir_fd=process), "rb") as file:
        return file.read()


def _is_replaced(mount: Mount, root: int) -> bool:
    try:
        here = os.stat(mount.host)
    except FileNotFoundError as error:
        raise WorldError(
            f"mount '{mount.inside}': there is no '{mount.host}'", hint="make the folder first", code="mount-missing"
        ) from error
    there = _stat_inside(root, mount.inside)
    return there is None or (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino)


def _stat_inside(root: int, path: str) -> os.stat_result | None:
    """Return the status of what the container has at the path; links lead where they lead for the container."""
    pending, links = _steps_last_first(path), 0
    way = [os.dup(root)]
    try:
        while pending:
            step = pending.pop()
            if step == "..":
                if len(way) > 1:
                    os.close(way.pop())
                continue
            target = _read_link(step, way[-1])
            if target is None:
                way.append(os.open(step, os.O_PATH | os.O_NOFOLLOW, dir_fd=way[-1]))
                continue
            links += 1
            if links > _MAX_LINKS:
                return None
            while target.startswith("/") and len(way) > 1:
                os.close(way.pop())
            pending += _steps_last_first(target)
        return os.fstat(way[-1])
    except (FileNotFoundError, NotADirectoryError):
        return None
    finally:
        for handle in way:
            os.close(handle)


def _read_link(step: str, folder: int) -> str | None:
    try:
        return os.readlink(step, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError:
        return None


def _steps_last_first(path: str) -> list[str]:
    return [step for step in reversed(path.split("/")) if step not in ("", ".")]


def _replaced(mount: Mount) -> StaleMount:
    message = f"mount '{mount.inside}' shows a folder that was replaced: '{mount.host}' is another by now"
    return StaleMount(mount.inside, fault=Fault.REPLACED, message=message)


def _unseen(why: str) -> Pins:
    return Pins(note=f"cannot look into the container ({why}): whether a folder was replaced is not known")
