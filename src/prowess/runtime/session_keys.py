"""Under which key the state of a session is kept."""

import os
import re

from prowess.errors import SettingsError
from prowess.policy import SessionMemory
from prowess.runtime.given_values import check_text

__all__ = ["SessionKeys", "make_fork_id"]

_MAX_LENGTH = 200
_FORK = re.compile(r"fork-[0-9a-f]{16}")


def make_fork_id() -> str:
    """Return an id for the session of a fork, which nobody else can open: what is handed over to it is for it alone."""
    return f"fork-{os.urandom(8).hex()}"


class SessionKeys:
    """A chat's key is its id, so that every process finds it; a task's is one that no other process will ever use."""

    def __init__(self, memory: SessionMemory) -> None:
        self._memory = memory
        self._tasks: dict[str, tuple[str, int]] = {}
        """By id: the key of each task, and the process that began it."""

    def choose(self, session_id: str | None) -> str:
        """Return the key for an id; None stands for a task that nobody will ask for again."""
        if session_id is None:
            return f"task-{os.urandom(8).hex()}"
        session_id = check_text("the id of a session", session_id)
        if not session_id.strip() or len(session_id) > _MAX_LENGTH or not session_id.isprintable():
            raise SettingsError(
                f"'{session_id[:40]}' cannot be the id of a session",
                hint=f"use 1 to {_MAX_LENGTH} characters that can be printed",
                code="bad-session",
            )
        if _FORK.fullmatch(session_id):
            raise SettingsError(
                f"'{session_id}' is the session of a fork, which is not to be opened again",
                hint="`prowess sessions ID` shows what was done in it",
                code="bad-session",
            )
        if self._memory is SessionMemory.CHAT:
            return session_id
        return self._tasks.setdefault(session_id, (f"{session_id}#{os.urandom(8).hex()}", os.getpid()))[0]

    def find(self, session_id: str) -> str:
        """Return the key of a session that may be open."""
        return self._tasks[session_id][0] if session_id in self._tasks else session_id

    def drop(self, session_id: str) -> str:
        """Return the key of a session that ends; a task of the same id is another one from now on."""
        return self._tasks.pop(session_id, (session_id, 0))[0]

    def open_tasks(self) -> tuple[str, ...]:
        """Return the ids of the tasks that this process has begun and not ended; a fork does not end its parent's."""
        return tuple(task for task, (_, process) in self._tasks.items() if process == os.getpid())
