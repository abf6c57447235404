"""The scene: a conversation as blocks, the same live and after a reload, for all who watch it."""

import threading
from collections.abc import Mapping
from typing import Any

from prowess.agent.events import Happening
from prowess.surfaces.web.scene.board import Board, Patches
from prowess.surfaces.web.scene.drafts import parse_draft, render_draft
from prowess.surfaces.web.scene.fold import Fold

__all__ = ["Scene"]


class Scene:
    """Folds what happens in one conversation into blocks. Can be used by several threads."""

    def __init__(self) -> None:
        self.last = 0
        """The number of the last event of the log that was taken."""
        self._board = Board()
        self._fold = Fold(self._board)
        self._draft: tuple[str, int] = ("", 0)
        """The last one that was taken, and the last event before it."""
        self._lock = threading.Lock()

    @property
    def epoch(self) -> str:
        """What the cursors of this scene begin with, and of no other."""
        return self._board.epoch

    @property
    def cursor(self) -> str:
        """A name for the state of now."""
        return self._board.cursor

    @property
    def is_busy(self) -> bool:
        """Whether a turn is under way."""
        return self._fold.is_busy

    @property
    def turn(self) -> str:
        """The id of the turn that is under way; empty if there is none."""
        return self._fold.state.id if self._fold.is_busy else ""

    def take(self, happening: Happening) -> None:
        """Show what has happened; what was taken before is ignored."""
        with self._lock:
            if happening.number is not None:
                if happening.number <= self.last:
                    return
                self.last = happening.number
            self._fold.take(happening)

    def patches(self, cursor: str) -> Patches:
        """Return what has changed since a cursor; all blocks, if it is empty or of another scene."""
        with self._lock:
            return self._board.patches(cursor)

    def set_question(self, question: str, details: Mapping[str, Any]) -> None:
        """Show what there is to answer a question by besides the event: `diffs`, as `make_diffs` gives them."""
        with self._lock:
            self._fold.set_question(question, dict(details))

    def draft(self) -> str:
        """Return what is unfinished as JSON, within bounds, for watchers in processes that have only the log."""
        with self._lock:
            return render_draft(self._fold.make_draft())

    def take_draft(self, turn: str, draft: str) -> None:
        """Show what another process has heard of the turn under way; what is malformed, or out of date, is ignored."""
        with self._lock:
            if (draft, self.last) == self._draft or turn != self._fold.state.id or not self._fold.is_busy:
                return
            self._draft = (draft, self.last)
            found = parse_draft(draft)
            if found is not None:
                self._fold.take_draft(found)
