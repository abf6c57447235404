"""Whether what a skill needs is there, asked of the machine where its code will run.

`decide_eligibility` is pure; a `Probe` answers its questions. `HostProbe` asks this machine and remembers the answers
until the folders of PATH change.
"""

import os
import re
import shutil
import sys
from dataclasses import dataclass, field
from typing import Protocol

from prowess.skill.manifest import Requirements

__all__ = ["HostProbe", "Probe", "decide_eligibility", "satisfies"]

_PLATFORMS = {"linux": "linux", "darwin": "macos", "win32": "windows", "cygwin": "windows"}
_COMMAND = re.compile(r"[A-Za-z0-9._+@-]+")
_CLAUSE = re.compile(r"(>=|<=|==|!=|~=|>|<)?\s*(\d+(?:\.\d+)*)(\.\*)?")
_ANYTHING = Requirements()


class Probe(Protocol):
    """Answers questions about the place where a skill's code will run."""

    def has_binary(self, name: str) -> bool:
        """Whether a command of this name can be started."""
        ...

    def has_variable(self, name: str) -> bool:
        """Whether an environment variable is set and not empty."""
        ...

    def has_tool(self, name: str) -> bool:
        """Whether a skill may call a tool of this name at all."""
        ...

    def system(self) -> str:
        """The operating system, as `linux`, `macos` or `windows`."""
        ...

    def python(self) -> tuple[int, ...]:
        """The version of Python, as numbers."""
        ...

    def state(self) -> object:
        """A value that differs whenever one of the answers given so far may differ now."""
        ...


def decide_eligibility(requires: Requirements, probe: Probe) -> tuple[str, ...]:
    """Return what is missing, a phrase each; nothing if the skill can be used."""
    if requires == _ANYTHING:
        return ()
    missing: list[str] = []
    if requires.systems and probe.system() not in requires.systems:
        missing.append(f"the operating system is {probe.system()}, not {' or '.join(requires.systems)}")
    if requires.always:
        return tuple(missing)
    missing += [f"the command '{name}' is not installed" for name in requires.binaries if not probe.has_binary(name)]
    if requires.any_binaries and not any(probe.has_binary(name) for name in requires.any_binaries):
        missing.append(f"none of the commands {', '.join(requires.any_binaries)} is installed")
    missing += [f"the variable {name} is not set" for name in requires.environment if not probe.has_variable(name)]
    missing += [
        f"the tool {name} is off: no rule of the host is for it" for name in requires.tools if not probe.has_tool(name)
    ]
    if requires.python and not probe.python():
        missing.append(f"there is no Python, and {requires.python} is needed")
    elif requires.python and not satisfies(probe.python(), requires.python):
        version = ".".join(map(str, probe.python()))
        missing.append(f"Python is {version}, not {requires.python}")
    return tuple(missing)


def satisfies(version: tuple[int, ...], specifier: str) -> bool:
    """Whether the version meets every clause. A clause that cannot be read is met by none."""
    return all(_meets(version, clause.strip()) for clause in specifier.split(","))


def _meets(version: tuple[int, ...], clause: str) -> bool:
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        return False
    parts = tuple(int(part) for part in found[2].split("."))
    wanted = (*parts, *(0 for _ in version[len(parts) :]))
    same = version[: len(parts)] == parts if found[3] else version == wanted
    match found[1] or ("==" if found[3] else ">="):
        case ">=":
            return version >= wanted
        case "<=":
            return version <= wanted
        case ">":
            return version > wanted
        case "<":
            return version < wanted
        case "!=":
            return not same
        case "~=":
            return version >= wanted and version[: len(parts) - 1] == parts[:-1]
        case _:
            return same


@dataclass(slots=True)
class HostProbe:
    """Asks this machine, and remembers where its commands are until `state` finds that something has changed."""

    commands: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    path_state: object = None
    variables: set[str] = field(default_factory=set[str])
    """Those that were asked about, by which alone the environment counts."""

    def has_binary(self, name: str) -> bool:
        if not _COMMAND.fullmatch(name):
            return False  # A path, or an attempt at a shell command.
        if name not in self.commands:
            self.commands[name] = shutil.which(name)
        return self.commands[name] is not None

    def has_variable(self, name: str) -> bool:
        self.variables.add(name)
        return bool(os.environ.get(name))

    def has_tool(self, name: str) -> bool:  # noqa: ARG002 - a machine has no rules on tools
        return True

    def system(self) -> str:
        return _PLATFORMS.get(sys.platform, sys.platform)

    def python(self) -> tuple[int, ...]:
        return tuple(sys.version_info[:3])

    def state(self) -> object:
        state = _path_state()
        if self.path_state not in (None, state):
            self.commands.clear()
        self.path_state = state
        for name, place in self.commands.items():
            if place is None or not os.access(place, os.X_OK):
                self.commands[name] = shutil.which(name)
        asked = (name for name in sorted(self.variables) if os.environ.get(name))
        return (*state, *self.commands.items(), *asked)


def _path_state() -> tuple[object, ...]:
    """Return what changes when a command is installed or removed."""
    path = os.environ.get("PATH", os.defpath)
    return (path, *(_changed(folder) for folder in path.split(os.pathsep)))


def _changed(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0
