"""End the containers of this process when it dies, however it dies.

A guard is a small process with a session of its own. It reads from a pipe which containers there are; the pipe ends
when this process does, by SIGKILL too, and then the guard removes those that are left, with their folders. Children of
this process do not hold the pipe: programs because it closes when one is started, forks because they close it.
"""

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol
from weakref import WeakSet, finalize

from prowess.execution.sandbox import NoSandbox

__all__ = ["Forgetful", "RunGuard", "forget_in_forks"]

# Its name is the folder that holds the folders of all runs, its arguments are the command that removes containers. That
# is said several times: an engine may still be making a container that it was asked for before. Where everybody may
# make folders, one that is no longer ours is left alone.
_SCRIPT = """
names=
while IFS= read -r line; do
  name=${line#?}
  case $line in
    +*) names="$names $name" ;;
    -*) kept=; for one in $names; do [ "$one" = "$name" ] || kept="$kept $one"; done; names=$kept ;;
  esac
done
[ -n "$names" ] || exit 0
for pause in 0 1 3 6; do
  sleep $pause
  "$@" $names
  for one in $names; do
    [ -O "$0/$one" ] && [ ! -L "$0/$one" ] && chmod -R u+rwx "$0/$one" && rm -rf "$0/$one"
  done
done
"""
_END_SECONDS = 1.0


class Forgetful(Protocol):
    """Something whose threads, locks and containers belong to one process."""

    def forget(self) -> None:
        """Let go of everything that the parent of this process has; end nothing."""
        ...


_alive: WeakSet[Forgetful] = WeakSet()


def forget_in_forks(thing: Forgetful) -> None:
    """Have the thing forget everything in each fork of this process, for as long as it lives."""
    _alive.add(thing)


def _forget_all() -> None:
    for thing in list(_alive):
        thing.forget()


if hasattr(os, "register_at_fork"):  # Windows has no forks.
    os.register_at_fork(after_in_child=_forget_all)


class RunGuard:
    """Knows the containers of one sandbox. Its process starts with the first of them, and again if somebody ends it."""

    def __init__(self, remove: Sequence[str], *, folder: str, environment: Mapping[str, str]) -> None:
        self._command = ["sh", "-c", _SCRIPT, folder, *remove]
        self._environment = dict(environment)
        self._names: dict[str, None] = {}
        self._processes: list[subprocess.Popen[bytes]] = []
        """The guard's, if there is one."""
        self._of_the_parent: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        finalize(self, _end, self._processes)
        forget_in_forks(self)

    @property
    def process_id(self) -> int | None:
        """The guard's process, None if there is none at present."""
        return self._processes[0].pid if self._is_alive() else None

    def add(self, name: str) -> None:
        """Have a container removed when this process dies, together with the folder of its name."""
        with self._lock:
            self._names[name] = None
            if not self._is_alive() or not self._tell(f"+{name}\n"):
                self._start()

    def drop(self, name: str) -> None:
        """Forget a container that is gone."""
        with self._lock:
            self._names.pop(name, None)
            self._tell(f"-{name}\n")

    def renew(self) -> None:
        """Start the guard again if somebody has ended it though there is something to guard."""
        with self._lock:
            if self._names and not self._is_alive():
                self._start()

    def close(self) -> None:
        """End the guard, unless there is still something that it must remove when this process ends."""
        with self._lock:
            if not self._names:
                _end(self._processes)

    def forget(self) -> None:
        """See `Forgetful`: the guard is the parent's, and only the parent may keep it waiting."""
        self._lock = threading.Lock()
        self._names = {}
        self._of_the_parent = list(self._processes)
        self._processes.clear()
        for process in self._of_the_parent:
            assert process.stdin is not None
            process.stdin.close()

    def _is_alive(self) -> bool:
        return bool(self._processes) and self._processes[0].poll() is None

    def _start(self) -> None:
        """Start a guard that knows all names. The lock is held."""
        _end(self._processes)
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self._environment,
                cwd="/",
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise NoSandbox(f"the guard of containers cannot be started: {error}") from error
        self._processes.append(process)
        for name in self._names:
            self._tell(f"+{name}\n")

    def _tell(self, line: str) -> bool:
        """Write a line, which is short enough to be whole or not there at all; False if nobody reads it."""
        try:
            for process in self._processes:
                assert process.stdin is not None
                process.stdin.write(line.encode())
        except OSError:
            return False
        return True


_at_work: list[subprocess.Popen[bytes]] = []
"""Guards whose pipe has ended, and which are removing something."""


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """End a guard by the end of its pipe; one that has containers to remove is not waited for."""
    _at_work[:] = [process for process in _at_work if process.poll() is None]
    while processes:
        process = processes.pop()
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            _at_work.append(process)
