"""The part of a state store by which several processes share a conversation: turns under way and their questions."""

from typing import Protocol

from prowess.state.live_turns import LiveTurn, OpenQuestion

__all__ = ["LiveStore"]


class LiveStore(Protocol):
    """Remembers who works on which turn, and what is asked meanwhile.

    A turn is worked by one process, its holder. Others show it, answer its questions, ask for its end, and take it over
    when its holder has died, which they see by beats that no longer grow. A former holder that was only slow cannot
    write into the log any more once another has: that is what the numbers of events are for.
    """

    # Turns under way

    def claim_turn(self, turn: LiveTurn) -> bool:
        """Begin a turn; say whether the session is its own now.

        It is not if another turn goes on there, whoever holds it. The same turn and holder may claim it again.
        """
        ...

    def live_turn(self, *, user: str, session: str) -> LiveTurn | None:
        """Return the turn that goes on in a session."""
        ...

    def live_turns(self, *, user: str) -> tuple[LiveTurn, ...]:
        """Return all turns of a user that go on, in the order of their beginning."""
        ...

    def beat_turn(
        self, *, user: str, session: str, turn: str, holder: str, at: float, draft: str | None = None
    ) -> LiveTurn | None:
        """Give one more sign of life, with a new draft if there is one; return the turn with what is wished of it.

        `at` is the moment by the holder's clock.

        None means that the turn has ended or is held by another: then the holder must stop.
        """
        ...

    def take_turn(self, *, user: str, session: str, turn: str, beats: int, holder: str) -> bool:
        """Take a turn over, if it has given no sign of life beyond these beats; say whether it is the holder's now.

        Of several that try with the same beats, one gets it. The one that got it may try again.
        """
        ...

    def release_turn(self, *, user: str, session: str, turn: str, holder: str) -> None:
        """Let go of a turn, so that somebody else may take it over at once."""
        ...

    def end_turn(self, *, user: str, session: str, turn: str, holder: str, at: float) -> None:
        """End a turn, and have its questions without an answer get `nobody`. Nothing happens if another holds it."""
        ...

    def wish_turn(self, *, user: str, session: str, turn: str, wish: str) -> bool:
        """Tell the holder of a turn what is wanted of it, with its next sign of life; say whether the turn goes on."""
        ...

    # Their questions

    def ask_question(self, question: OpenQuestion) -> None:
        """Put a question; one that was put before stays as it is."""
        ...

    def find_question(self, *, user: str, session: str, question: str) -> OpenQuestion | None:
        """Return a question by its id, answered or not."""
        ...

    def open_questions(self, *, user: str, session: str | None = None) -> tuple[OpenQuestion, ...]:
        """Return the questions of a session, or all of a user's, that have no answer yet, the oldest first."""
        ...

    def answer_question(
        self, *, user: str, session: str, question: str, answer: str, answered_by: str, at: float
    ) -> OpenQuestion | None:
        """Answer a question, unless it has an answer; return it as it is then, or None if it is not known.

        Whose answer counts is told by `answered_by`, which should be another for each request.
        """
        ...

    # Hearing of changes

    def changes(self) -> int:
        """Return a number that stays the same while surely nothing has changed; cheap enough for ten times a second.

        Read it before what is watched, so that nothing in between is missed. A changed number promises nothing: with a
        server it also changes after half a second of silence, since a network may drop a notice without a word.
        """
        ...
