"""Under which key the state of a session is kept."""

import os

from prowess.errors import SettingsError
from prowess.policy import SessionMemory

__all__ = ["SessionKeys"]

_MAX_LENGTH = 200


class SessionKeys:
    """A chat's key is its id, so that every process finds it; a task's is one that no other process will ever use."""

    def __init__(self, memory: SessionMemory) -> None:
        self._memory = memory
        self._tasks: dict[str, str] = {}

    def choose(self, session_id: str | None) -> str:
        """Return the key for an id; None stands for a task that nobody will ask for again."""
        if session_id is None:
            return f"task-{os.urandom(8).hex()}"
        if not session_id.strip() or len(session_id) > _MAX_LENGTH or not session_id.isprintable():
            raise SettingsError(
                f"'{session_id[:40]}' cannot be the id of a session",
                hint=f"use 1 to {_MAX_LENGTH} characters that can be printed",
                code="bad-session",
            )
        if self._memory is SessionMemory.CHAT:
            return session_id
        return self._tasks.setdefault(session_id, f"{session_id}#{os.urandom(8).hex()}")

    def find(self, session_id: str) -> str:
        """Return the key of a session that may be open."""
        return self._tasks.get(session_id, session_id)

    def drop(self, session_id: str) -> str:
        """Return the key of a session that ends; a task of the same id is another one from now on."""
        return self._tasks.pop(session_id, session_id)

    def open_tasks(self) -> tuple[str, ...]:
        """Return the ids of the tasks that are open."""
        return tuple(self._tasks)
