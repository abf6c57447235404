"""The protocol of a sandbox: what the runtime asks of whatever runs scripts."""

import os
from dataclasses import dataclass
from typing import Protocol

from prowess.errors import WorldError
from prowess.execution.jobs import Ended, Job, Listener

__all__ = ["NoSandbox", "Probed", "ScriptSandbox", "hear_nothing", "stamp_folder"]


class NoSandbox(WorldError):
    """Nothing here can run a script safely, so none is run."""

    default_code = "no-sandbox"


@dataclass(frozen=True, slots=True)
class Probed:
    """Whether a sandbox works here, found out by using it."""

    works: bool
    detail: str
    """The version and what it bounds by, or what went wrong."""
    hint: str = ""
    """What to do, where it does not work."""


class ScriptSandbox(Protocol):
    """Runs jobs apart from the host. Any thread may use it, and several at once.

    Whatever a job does: it reads nothing but its mounts and the sandbox's own programs, writes nothing but its output
    folder, its /tmp and mounts that allow it, reaches nothing beyond, and uses no more than its limits. When `run`
    returns or raises, and when this process dies in the middle of it, none of the job's processes is left.
    """

    name: str

    def probe(self) -> Probed:
        """Run a trial job, and say what came of it."""
        ...

    def identity(self) -> str:
        """Return a value that differs whenever the programs that a job finds may differ; cheap to ask."""
        ...

    def run(self, job: Job, *, keep: str, listener: Listener = ...) -> Ended:
        """Carry out a job, and copy what it leaves in its output folder to `keep`, a folder of the host's.

        Raise `NoSandbox` if the job could not be started as it must be.
        """
        ...

    def close(self) -> None:
        """Give back what it holds: containers that wait for a job, the guard that would end them."""
        ...


def stamp_folder(folder: str) -> str:
    """Return what differs when something was put into a folder of programs, or taken out of it."""
    try:
        return f"{folder}@{os.stat(folder).st_mtime_ns}"
    except OSError:
        return f"{folder}@0"


def hear_nothing(_stream: object, _content: bytes) -> None:
    """Listen to nothing."""
