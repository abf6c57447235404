"""What a scene remembers of the turn that it is being told of: where its blocks go, and what is still open in it."""

from dataclasses import dataclass, field

from prowess.surfaces.web.scene.unfinished import OutputTail, UnfinishedAnswer

__all__ = ["Scope", "TurnState"]


@dataclass(slots=True)
class Scope:
    """A conversation or a fork in it: something that has answers and calls of its own."""

    id: str
    """What the ids of its blocks begin with."""
    parent: str = ""
    """The block that they lie within."""
    unfinished: UnfinishedAnswer | None = None
    loaded: list[str] = field(default_factory=list[str])
    """Ids of the cards of skills that the message has switched on, until it is told what the model gets with it."""
    _counts: dict[str, int] = field(default_factory=dict[str, int])
    _answers: int = 1

    def number(self, kind: str) -> str:
        """Return the id of the next block of a kind."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{self.id}-{kind}{self._counts[kind]}"

    @property
    def answer_id(self) -> str:
        """The id of the answer that comes next, or is being heard."""
        return f"{self.id}-a{self._answers}"

    def end_answer(self) -> None:
        """Have the next answer be another block."""
        self.unfinished = None
        self._answers += 1


@dataclass(slots=True)
class TurnState:
    """One turn."""

    id: str
    scopes: dict[str, Scope] = field(default_factory=dict[str, Scope])
    """By the fork's id; the conversation itself under the empty text."""
    cards: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Ids of cards by the fork that they are in and their call's id."""
    running: dict[str, OutputTail] = field(default_factory=dict[str, OutputTail])
    """By the ids of cards that have no result yet."""
    panels: dict[str, str] = field(default_factory=dict[str, str])
    """Ids of the panels of forks that have not ended, by the fork's id."""
    questions: dict[str, str] = field(default_factory=dict[str, str])
    """Ids of the blocks of questions without an answer, by the question's id."""

    def scope(self, within: str) -> Scope:
        """Return where something happens; what happens in a fork that nobody has told of is shown without it."""
        main = self.scopes.get("")
        if main is None:
            main = self.scopes[""] = Scope(f"t{self.id}")
        return self.scopes.get(within, main)
