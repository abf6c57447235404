"""Questions of consent on a board: what is asked, what there is to answer by, and the answer."""

from dataclasses import replace
from typing import Any

from prowess.agent.events import ConsentAnswered, ConsentAsked
from prowess.surfaces.web.scene.blocks import ConsentQuestion
from prowess.surfaces.web.scene.board import Board
from prowess.surfaces.web.scene.turn_state import Scope, TurnState

__all__ = ["Questions"]


class Questions:
    """Puts the questions of one conversation on a board."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._blocks: dict[str, str] = {}
        """Ids of the blocks of all questions, by the question's id."""
        self._details: dict[str, dict[str, Any]] = {}

    def take(self, event: ConsentAsked | ConsentAnswered, state: TurnState, scope: Scope) -> None:
        """Show a question, or the answer to one."""
        if isinstance(event, ConsentAsked):
            details = self._details.get(event.question, {})
            block_id = scope.number("q")
            self._blocks[event.question] = state.questions[event.question] = block_id
            asked = ConsentQuestion(block_id, event.question, event.title, event.record, details)
            self._board.put(asked, parent=scope.parent)
            return
        state.questions.pop(event.question, None)
        block = self._board.find(self._blocks.get(event.question, ""))
        if isinstance(block, ConsentQuestion):
            self._board.put(replace(block, answer=event.answer))

    def set_details(self, question: str, details: dict[str, Any]) -> None:
        """Show what there is to answer a question by besides the event."""
        if self._details.get(question) == details:
            return
        self._details[question] = details
        block = self._board.find(self._blocks.get(question, ""))
        if isinstance(block, ConsentQuestion):
            self._board.put(replace(block, details=details))
