"""Containers whose process is dead: known by their labels, removed when a sandbox is first used.

A guard removes the containers of its process. This is for when both were killed.
"""

import os
import platform
import re
from functools import cache

from prowess.execution.engines.container_commands import EngineCommand

__all__ = ["NAME_PREFIX", "RUN_LABEL", "is_owner_dead", "make_owner_labels", "remove_leftovers"]

NAME_PREFIX = "prowess-run-"
RUN_LABEL = "prowess.run"
_OWNER_LABEL = "prowess.owner"
_NAME = re.compile(rf"{NAME_PREFIX}\d+-[0-9a-f]{{16}}")
_OWNER = re.compile(rf"{re.escape(_OWNER_LABEL)}[=:]([^\s,\]]+)")
_MAX_REMOVED = 1_000


def make_owner_labels() -> dict[str, str]:
    """Return the labels of a container that belongs to a run of this process."""
    return {RUN_LABEL: "1", _OWNER_LABEL: f"{_find_realm()}.{os.getpid()}.{_read_start(os.getpid())}"}


def is_owner_dead(owner: str) -> bool:
    """Whether the process that a label names is known to be dead. Those of other machines and sandboxes are not."""
    realm, _, process = owner.partition(".")
    number, _, start = process.partition(".")
    if realm != _find_realm() or not number.isdecimal():
        return False
    if start != "unknown":
        return _read_start(int(number)) != start
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def remove_leftovers(command: EngineCommand) -> tuple[str, ...]:
    """Remove the containers of dead processes; return their names."""
    answer = command.ask("ps", "--all", f"--filter=label={RUN_LABEL}=1", "--format={{.Names}} {{.Labels}}")
    names = [name for line in answer.stdout.splitlines() if (name := _find_leftover(line))][:_MAX_REMOVED]
    if names:
        command.ask(*command.kind.remove, *names)
    return tuple(names)


def _find_leftover(line: str) -> str | None:
    name, _, labels = line.partition(" ")
    owner = _OWNER.search(labels)
    return name if _NAME.fullmatch(name) and owner and is_owner_dead(owner[1]) else None


@cache
def _find_realm() -> str:
    """Return where process numbers mean the same as here: one start of one machine, one namespace."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        return f"{boot}-{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return re.sub(r"[^A-Za-z0-9-]", "-", platform.node())


def _read_start(process: int) -> str:
    """Return when a process has started, by the kernel's count; empty if there is none, `unknown` without a /proc."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return "" if os.path.isdir("/proc/self") else "unknown"
    return "" if fields[0] in "ZX" else fields[19]
