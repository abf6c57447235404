"""The fold: how each event of a conversation changes its blocks.

Only what is kept in the log shapes the blocks that stay. What is heard meanwhile (letters of an answer, output of a
script) is shown until the kept event comes that says the same, or that it is void.
"""

from dataclasses import replace
from typing import Any

from prowess.agent.asking import NOBODY
from prowess.agent.events import (
    Answered,
    Asked,
    Begun,
    CallBegun,
    CallEnded,
    Compacted,
    ConsentAnswered,
    ConsentAsked,
    Done,
    Event,
    Failed,
    ForkBegun,
    ForkEnded,
    Happening,
    Noticed,
    OutputHeard,
    Resumed,
    Retried,
    SkillLoaded,
    TextHeard,
    ThinkingHeard,
)
from prowess.state.conversations import Outcome
from prowess.surfaces.web.scene.blocks import (
    AssistantText,
    Compaction,
    ConsentQuestion,
    Failure,
    ForkPanel,
    Notice,
    SkillRef,
    ToolCard,
    TurnEnd,
    UserMessage,
)
from prowess.surfaces.web.scene.board import Board
from prowess.surfaces.web.scene.call_cards import CallCards
from prowess.surfaces.web.scene.drafts import Draft
from prowess.surfaces.web.scene.questions import Questions
from prowess.surfaces.web.scene.turn_state import Scope, TurnState
from prowess.surfaces.web.scene.unfinished import MAX_TEXT, OutputTail, UnfinishedAnswer
from prowess.surfaces.wording import describe_compaction, describe_resumption

__all__ = ["Fold"]

_INTERRUPTED = "interrupted"
"""How a turn has ended of whose end nobody has told."""
_UNFINISHED = "it was not finished"


class Fold:
    """Puts what happens in one conversation on a board."""

    def __init__(self, board: Board) -> None:
        self.is_busy = False
        """Whether a turn is under way."""
        self.state = TurnState("")
        self._board = board
        self._cards = CallCards(board)
        self._questions = Questions(board)

    def take(self, happening: Happening) -> None:
        """Show what has happened."""
        if happening.turn != self.state.id:
            self._begin(happening.turn)
        self._fold(happening.event, self.state.scope(happening.within), happening)

    def set_question(self, question: str, details: dict[str, Any]) -> None:
        """Show what there is to answer a question by besides the event."""
        self._questions.set_details(question, details)

    def make_draft(self) -> Draft:
        """Return what is unfinished in the turn under way."""
        scopes = self.state.scopes.values()
        return Draft({one.answer_id: one.unfinished for one in scopes if one.unfinished}, self.state.running)

    def take_draft(self, draft: Draft) -> None:
        """Show what another process has heard of the turn under way; what is out of date is left out."""
        for scope in self.state.scopes.values():
            self._show_unfinished(scope, draft.answers.get(scope.answer_id))
        for card in self.state.running:
            self._cards.grow(card, self.state, draft.outputs.get(card, OutputTail()))

    def _begin(self, turn: str) -> None:
        """Begin with another turn; one whose end was never told has ended all the same."""
        if self.is_busy:
            self._close()
            self._board.put(TurnEnd(f"{self.state.scope('').id}-end", _INTERRUPTED))
        self.is_busy = False
        self.state = TurnState(turn)

    def _fold(self, event: Event, scope: Scope, happening: Happening) -> None:
        match event:
            case TextHeard() | ThinkingHeard() | Retried():
                self._hear(event, scope)
            case OutputHeard():
                self._cards.hear(event, self.state, happening.within)
            case Begun():
                self.is_busy = True
                text = event.message
                self._put(UserMessage(scope.number("m"), text, happening.at, is_task=bool(happening.within)), scope)
            case Answered():
                self._answer(event, scope)
            case CallBegun() | CallEnded():
                self._cards.call(event, self.state, scope, happening.within)
            case ConsentAsked() | ConsentAnswered():
                self._questions.take(event, self.state, scope)
            case SkillLoaded():
                self._cards.load(event, self.state, scope, happening.within)
            case Asked():
                self._cards.give(event, scope)
            case ForkBegun() | ForkEnded():
                self._fork(event, scope, happening.within)
            case Done() | Resumed():
                self._end(event, scope, happening.within)
            case _:
                self._say(event, scope)

    def _say(self, event: Event, scope: Scope) -> None:
        match event:
            case Noticed():
                self._put(Notice(scope.number("n"), event.text), scope)
            case Compacted():
                text, summary = describe_compaction(event), event.summary[:MAX_TEXT]
                self._put(Compaction(scope.number("n"), text, summary), scope)
            case Failed():
                self._void(scope)
                self._put(Failure(scope.number("n"), event.message, event.hint, event.code), scope)
            case _:  # What the model is told is not for the page.
                pass

    def _put(self, block: UserMessage | Notice | Compaction | Failure, scope: Scope) -> None:
        self._board.put(block, parent=scope.parent)

    # Answers

    def _hear(self, event: TextHeard | ThinkingHeard | Retried, scope: Scope) -> None:
        if isinstance(event, Retried):
            again = f"the provider failed: {' '.join(event.reason.split())}; asked again, attempt {event.attempt}"
            self._show_unfinished(scope, UnfinishedAnswer(note=again))
            return
        answer = scope.unfinished or UnfinishedAnswer()
        if isinstance(event, TextHeard):
            answer.hear(event.text)
        else:
            answer.think(event.text)
        self._show_unfinished(scope, answer)

    def _show_unfinished(self, scope: Scope, answer: UnfinishedAnswer | None) -> None:
        if answer is None:
            self._void(scope)
            return
        scope.unfinished = answer
        block_id = scope.answer_id
        self._board.put_growing(block_id, lambda: answer.make(block_id), parent=scope.parent)

    def _void(self, scope: Scope) -> None:
        if scope.unfinished is not None:
            scope.unfinished = None
            self._board.remove(scope.answer_id)

    def _answer(self, event: Answered, scope: Scope) -> None:
        block_id = scope.answer_id
        scope.end_answer()
        if not event.text and not event.thinking:
            self._board.remove(block_id)
            return
        text, thinking = event.text[:MAX_TEXT], event.thinking[:MAX_TEXT]
        is_cut = len(event.text) > len(text) or len(event.thinking) > len(thinking)
        self._board.put(AssistantText(block_id, text, thinking, is_cut=is_cut), parent=scope.parent)

    # Forks

    def _fork(self, event: ForkBegun | ForkEnded, scope: Scope, within: str) -> None:
        if event.fork in self.state.scopes:
            self._void(self.state.scopes[event.fork])
        if isinstance(event, ForkBegun):
            skill = self._cards.learn(event.name, SkillRef(event.skill, event.digest))
            panel = ForkPanel(scope.number("f"), event.name, skill, event.permissions, event.granted_by)
            self.state.panels[event.fork] = panel.id
            self.state.scopes[event.fork] = Scope(panel.id, panel.id)
            self._board.put(panel, parent=self.state.cards.get((within, event.call), scope.parent))
            return
        block = self._board.find(self.state.panels.pop(event.fork, ""))
        if isinstance(block, ForkPanel):
            outcome = event.outcome.value
            self._board.put(replace(block, outcome=outcome, use=event.use, steps=event.steps, seconds=event.seconds))

    # Ends

    def _end(self, event: Done | Resumed, scope: Scope, within: str) -> None:
        if isinstance(event, Resumed):
            for one in self.state.scopes.values():
                self._void(one)
                one.end_answer()
            for card in self.state.running:
                self._cards.grow(card, self.state, OutputTail())
            self._put(Notice(scope.number("n"), describe_resumption(event)), scope)
        elif within in self.state.scopes and within:
            self._void(scope)
        elif not within:
            self._close()
            self.is_busy = False
            self._board.put(TurnEnd(f"{scope.id}-end", event.outcome.value, event.use, event.seconds))

    def _close(self) -> None:
        """Give everything an end that was left open."""
        state = self.state
        for scope in state.scopes.values():
            self._void(scope)
        left_open = (*state.running, *state.panels.values(), *state.questions.values())
        for block_id in left_open:
            match self._board.find(block_id):
                case ToolCard() as card:
                    self._board.put(replace(card, state="cancelled", summary=_UNFINISHED))
                case ForkPanel() as panel:
                    self._board.put(replace(panel, outcome=Outcome.CANCELLED.value))
                case ConsentQuestion() as question:
                    self._board.put(replace(question, answer=NOBODY))
                case _:
                    pass
        state.running.clear()
        state.panels.clear()
        state.questions.clear()
