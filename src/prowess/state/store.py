"""The protocol of a state store: what the runtime asks of whatever keeps its state."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from prowess.activation.grants import Act, Grant
from prowess.activation.receipts import DayUsage, Receipt, RunReceipt, SessionRecord, Usage
from prowess.catalog.switches import Switch, SwitchKey
from prowess.state.conversations import ConversationRecord, LoggedEvent, ModelUsage, TurnReceipt
from prowess.state.live_store import LiveStore

__all__ = ["StateStore"]


class StateStore(LiveStore, Protocol):
    """Remembers what people decided, what sessions have switched on, and conversations.

    Decisions, receipts, runs and turns hold names and numbers only. What was said, instructions of skills included,
    stands in the log of a conversation, its first words in the title of it, what a turn has of it in the turn while it
    goes on, and nowhere else. Questions hold what a person was shown of a skill.

    A call returns when its change is complete, whole, and visible to every other process. Any number of threads and
    processes may call at once. Doing the same thing twice is doing it once.
    """

    # What people decide

    def switches(self) -> Mapping[tuple[str, SwitchKey], Switch]:
        """Return all switches by agent and skill."""
        ...

    def set_switch(self, agent: str, key: SwitchKey, position: Switch) -> None:
        """Set one switch."""
        ...

    def trusted_projects(self, *, user: str) -> frozenset[str]:
        """Return the roots of the projects that a user trusts, and of those that are trusted for everybody."""
        ...

    def trust(self, project: str, *, user: str) -> bool:
        """Trust a project for one user; say whether that is new."""
        ...

    def untrust(self, project: str, *, user: str) -> bool:
        """Trust a project no more, neither for the user nor for everybody; say whether the user trusted it."""
        ...

    # Grants

    def find_grant(self, *, user: str, digest: str, session: str = "", act: Act = Act.USE) -> Grant | None:
        """Return the decision that counts for this digest and act: the session's own before the general one.

        A general refusal that is not older than the session's own decision counts before it. Where both allow runs,
        the powers of the general one are added: what holds in all sessions holds in this one.
        """
        ...

    def find_former_grant(self, *, user: str, skill: SwitchKey, digest: str, act: Act = Act.USE) -> Grant | None:
        """Return the newest consent to the same skill with another digest, to say what has changed since."""
        ...

    def grants(self, *, user: str) -> tuple[Grant, ...]:
        """Return all decisions of a user, newest first."""
        ...

    def set_grant(self, grant: Grant) -> None:
        """Record a decision, in place of an earlier one on the same digest, session and act.

        Consent to runs keeps the powers of an earlier consent. A refusal to use a skill ends what is switched on with
        that digest, in the session or in all; a refusal to run it does not.
        """
        ...

    def revoke_grants(self, *, user: str, skill: SwitchKey | None = None, digest: str | None = None) -> int:
        """Forget decisions on one skill, or all of a user's; return how many there were.

        Those on `digest`, which the skill has now, go too, whichever skill of the same files they were given for.
        """
        ...

    # Sessions and their receipts

    def open_session(self, record: SessionRecord) -> SessionRecord:
        """Remember a session, or that it is used again; return it as it is remembered."""
        ...

    def touch_session(self, *, user: str, session: str, at: float) -> None:
        """Remember that a session is used again; nothing happens if it is not known."""
        ...

    def sessions(self, *, user: str, limit: int = 1_000) -> tuple[SessionRecord, ...]:
        """Return the sessions of a user, the one used last first."""
        ...

    def end_session(self, *, user: str, session: str, at: float) -> bool:
        """Switch everything off in a session and forget it and its grants, but keep its receipts, runs and log.

        Say whether it was known.
        """
        ...

    def prompt_basis(self, *, user: str, session: str) -> str:
        """Return what a session's prompt was planned from; empty if nothing was kept."""
        ...

    def keep_prompt_basis(self, record: SessionRecord, basis: str) -> None:
        """Keep what a session's prompt was planned from, so that another process plans the same."""
        ...

    def activate(self, receipt: Receipt) -> Receipt:
        """Switch a skill on; return the receipt by which it is on.

        That is the given one, or an earlier one of the same session, skill and digest that is still open. An open
        receipt with another digest is ended.
        """
        ...

    def deactivate(self, *, user: str, session: str, skill: str, at: float) -> Receipt | None:
        """Switch a skill off; return its receipt, or None if it was not on."""
        ...

    def active(self, *, user: str, session: str) -> tuple[Receipt, ...]:
        """Return the open receipts of a session, in the order of activation."""
        ...

    def mark_context(self, *, user: str, session: str, in_context: frozenset[str]) -> None:
        """Set for all open receipts of a session whether their instructions are still in its context, by receipt id."""
        ...

    def enter_context(self, *, user: str, session: str, receipt: str) -> None:
        """Say of one open receipt that its instructions are in the session's context again."""
        ...

    def receipts(self, *, user: str, session: str | None = None, limit: int = 1_000) -> tuple[Receipt, ...]:
        """Return receipts, open and ended, newest first."""
        ...

    def open_skills(self, *, user: str) -> frozenset[str]:
        """Return the ids of the skills that are switched on in any session of a user."""
        ...

    def held_digests(self) -> frozenset[str]:
        """Return the digests whose versions are needed, by any user.

        These are of all skills that are switched on in a session, and of what was last agreed to of each skill, so that
        a later question can show what has changed.
        """
        ...

    # Conversations: a log of events for each session that has one

    def append_events(
        self,
        *,
        user: str,
        session: str,
        events: Sequence[LoggedEvent],
        model: str = "",
        turns: Sequence[TurnReceipt] = (),
    ) -> bool:
        """Append consecutive events to the log of a conversation, which comes into being with its first.

        Return False, with no event written, if a number is taken by another event or leaves a gap: then somebody else
        has gone on with the conversation. Events that stand there already, with the same number, turn, kind and data,
        are left as they are. `model` is that which answers from now on. `turns` are recorded at the same time, as
        `record_turn` does, whatever becomes of the events, but for those that somebody else has resumed in their place.
        """
        ...

    def events(self, *, user: str, session: str, after: int = 0, limit: int = 100_000) -> tuple[LoggedEvent, ...]:
        """Return the events of a conversation in their order, those after a number."""
        ...

    def last_event(self, *, user: str, session: str) -> int:
        """Return the number of the last event in the log of a conversation; 0 if there is none."""
        ...

    def conversations(self, *, user: str, limit: int = 1_000) -> tuple[ConversationRecord, ...]:
        """Return the conversations of a user, the one used last first.

        The title is the given one, else the first line of the first message.
        """
        ...

    def find_conversation(self, *, user: str, session: str) -> ConversationRecord | None:
        """Return one conversation; None if nothing was said in it."""
        ...

    def search_conversations(self, *, user: str, query: str, limit: int = 100) -> tuple[ConversationRecord, ...]:
        """Return the conversations in whose title, messages or answers a text stands, the one used last first.

        Case does not count for ASCII letters.
        """
        ...

    def name_conversation(self, *, user: str, session: str, title: str) -> bool:
        """Give a conversation a title, of which one short line is kept; an empty one takes it back.

        Say whether the conversation is known.
        """
        ...

    def forget_conversation(self, *, user: str, session: str) -> bool:
        """Forget a conversation with its whole log, but keep its receipts, runs and turns; say whether it was known.

        A turn that goes on there goes too, and all its questions.
        """
        ...

    # Turns of conversations and of forks

    def record_turn(self, turn: TurnReceipt) -> None:
        """Record a turn, when it begins and again when it ends. One that has ended stays so."""
        ...

    def turns(
        self, *, user: str, session: str | None = None, parent: str | None = None, limit: int = 1_000
    ) -> tuple[TurnReceipt, ...]:
        """Return turns of a session, the forks of a turn by its id, or all of a user's, newest first."""
        ...

    def model_usage(self, *, user: str, since: float = 0.0) -> tuple[ModelUsage, ...]:
        """Return how much each model was used in turns that began since a moment, the one with most tokens first."""
        ...

    # Runs, and what receipts and runs add up to

    def record_run(self, run: RunReceipt) -> None:
        """Record a run, when it begins and again when it ends. One that has ended stays so."""
        ...

    def runs(self, *, user: str, session: str | None = None, limit: int = 1_000) -> tuple[RunReceipt, ...]:
        """Return runs of a session, or all of a user's, newest first."""
        ...

    def usage(self, *, user: str, since: float = 0.0) -> tuple[Usage, ...]:
        """Return how much each skill was activated and run since a moment, most used first."""
        ...

    def usage_by_day(self, *, user: str, since: float) -> tuple[DayUsage, ...]:
        """Return how much each skill was activated and run on each day since a moment, the oldest day first.

        Days without any use are left out.
        """
        ...

    def count_sessions(self, *, user: str, since: float = 0.0) -> int:
        """Return how many sessions have activated a skill since a moment, ended ones included."""
        ...

    def recent_skills(self, *, user: str, since: float, limit: int) -> tuple[str, ...]:
        """Return the ids of skills that were activated since a moment, the latest first."""
        ...

    def forget_receipts(self, *, user: str, before: float) -> int:
        """Forget a user's ended receipts, runs and turns that began before, and sessions and logs not used since.

        Turns that began before and never ended go too, and questions of before that nobody waits with.
        Return how many receipts of activations there were.
        """
        ...

    # The store itself

    def version(self) -> int:
        """Return a number that changes whenever what people decided may have changed, here or in another process."""
        ...

    def close(self) -> None:
        """Give back what the store holds."""
        ...
