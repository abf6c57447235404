"""Cards of tool calls: how each event of a call changes its card."""

from dataclasses import replace

from prowess.activation.tools import Role
from prowess.agent.events import Asked, CallBegun, CallEnded, OutputHeard, SkillLoaded
from prowess.surfaces.web.scene.blocks import SkillRef, ToolCard
from prowess.surfaces.web.scene.board import Board
from prowess.surfaces.web.scene.fields import Fields
from prowess.surfaces.web.scene.model_texts import find_loaded
from prowess.surfaces.web.scene.turn_state import Scope, TurnState
from prowess.surfaces.web.scene.unfinished import MAX_TEXT, OutputTail

__all__ = ["CallCards"]

_ACTIVATED = "Activate a skill"


class CallCards:
    """Puts the calls of one conversation on a board, and knows which skills its names stand for."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._skills: dict[str, SkillRef] = {}
        """By name, as they were last switched on here."""

    def learn(self, name: str, skill: SkillRef) -> SkillRef:
        """Take a name for this skill from now on."""
        self._skills[name] = skill
        return skill

    def call(self, event: CallBegun | CallEnded, state: TurnState, scope: Scope, within: str) -> None:
        """Show that a call has begun, or what came of it."""
        key = (within, event.call)
        block = self._board.find(state.cards.get(key, ""))
        if isinstance(event, CallBegun) or not isinstance(block, ToolCard):
            block = ToolCard(scope.number("c"), event.tool, event.role)
            state.cards[key] = block.id
        if isinstance(event, CallBegun):
            state.running[block.id] = OutputTail()
            skill = self._skills.get(Fields(event.arguments).text("name"))
            block = replace(block, title=event.title, arguments=event.arguments, skill=skill)
        else:
            state.running.pop(block.id, None)
            block = self._end(block, event)
        self._board.put(block, parent=scope.parent)

    def _end(self, card: ToolCard, event: CallEnded) -> ToolCard:
        data = Fields(event.data)
        name = data.text("name") or Fields(card.arguments).text("name")
        if data.text("name") and data.text("id"):
            self.learn(name, SkillRef(data.text("id"), data.text("digest")))
        content = event.content[:MAX_TEXT]
        return replace(
            card,
            role=event.role or card.role,
            state=event.state,
            summary=event.summary,
            seconds=event.seconds,
            data=event.data,
            content=content,
            content_cut=len(event.content) - len(content),
            skill=self._skills.get(name),
        )

    def hear(self, event: OutputHeard, state: TurnState, within: str) -> None:
        """Show what a script has written meanwhile."""
        card = state.cards.get((within, event.call), "")
        tail = state.running.get(card)
        if tail is not None:
            tail.hear(event.stream, event.text)
            self.grow(card, state, tail)

    def grow(self, card_id: str, state: TurnState, tail: OutputTail) -> None:
        """Show this as the output so far."""
        state.running[card_id] = tail
        card = self._board.find(card_id)
        if isinstance(card, ToolCard):
            self._board.grow(card_id, lambda: replace(card, output=tail.pieces(), output_cut=tail.cut))

    def load(self, event: SkillLoaded, state: TurnState, scope: Scope, within: str) -> None:
        """Show that a skill was switched on: in the card of the call that did it, or in one of its own."""
        skill = self.learn(event.name, SkillRef(event.skill, event.digest))
        card = self._board.find(state.cards.get((within, event.call), "")) if event.call else None
        if isinstance(card, ToolCard):
            self._board.put(replace(card, skill=skill, loaded=(*card.loaded, event.text)))
            if card.id in state.running:
                self.grow(card.id, state, state.running[card.id])
            return
        data = {"name": event.name, "truncated": event.truncated, "asked_by": event.asked_by}
        card = ToolCard(
            scope.number("l"), "", Role.ACTIVATE.value, _ACTIVATED, "done", data=data, skill=skill, loaded=(event.text,)
        )
        scope.loaded.append(card.id)
        self._board.put(card, parent=scope.parent)

    def give(self, event: Asked, scope: Scope) -> None:
        """Show the instructions that go with a message, in the cards of the skills that it has switched on."""
        texts = find_loaded(event.context or event.system) if scope.loaded else {}
        for card_id in scope.loaded:
            card = self._board.find(card_id)
            if isinstance(card, ToolCard):
                text = texts.get(Fields(card.data).text("name"), "")
                content = text[:MAX_TEXT]
                self._board.put(replace(card, content=content, content_cut=len(text) - len(content)))
        scope.loaded.clear()
