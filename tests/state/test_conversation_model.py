"""Conversations and turns in a store against a plain model of them, under any order of calls."""

from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from prowess.state.conversations import ConversationRecord, LoggedEvent, ModelUsage, Outcome, TokenUse, TurnReceipt
from prowess.state.opening import open_store
from tests.state.values import end_turn, make_event, make_session, make_turn

_USERS = st.sampled_from(["ann", "bob"])
_SESSIONS = st.sampled_from(["s1", "s2"])
_MODELS = st.sampled_from(["", "small", "large"])
_KINDS = st.lists(st.sampled_from([("begun", ""), ("begun", "fork"), ("answer", "")]), min_size=1, max_size=4)

pytestmark = pytest.mark.slow


class _Conversations(RuleBasedStateMachine):
    """One clock for all calls; the turns of the model are in the order of their beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.store = open_store("memory", state_file="")
        self.now = 0.0
        self.records: dict[tuple[str, str], ConversationRecord] = {}
        self.logs: dict[tuple[str, str], list[LoggedEvent]] = {}
        self.given: dict[tuple[str, str], str] = {}
        self.turns: list[TurnReceipt] = []
        self.version = self.store.version()

    def teardown(self) -> None:
        self.store.close()

    def tick(self) -> float:
        self.now += 1.0
        return self.now

    @rule(user=_USERS, session=_SESSIONS, kinds=_KINDS, model=_MODELS, back=st.integers(-2, 4))
    def append_events(self, user: str, session: str, kinds: list[tuple[str, str]], model: str, back: int) -> None:
        """Of which some may stand in the log already, or be in the way, or come too early."""
        at, log = self.tick(), self.logs.get((user, session), [])
        first = len(log) + 1 - back
        events = [
            make_event(number, kind=kind, within=within, message=f"message {number}", at=at)
            for number, (kind, within) in enumerate(kinds, first)
        ]
        pairs = list(zip(log[max(first - 1, 0) :], events, strict=False))
        same = all((one.kind, one.data) == (other.kind, other.data) for one, other in pairs)
        wanted = 1 <= first <= len(log) + 1 and same
        assert self.store.append_events(user=user, session=session, events=events, model=model) == wanted
        if wanted and events[len(pairs) :]:
            self.grow(user, session, events[len(pairs) :], model)

    def grow(self, user: str, session: str, events: list[LoggedEvent], model: str) -> None:
        at, begun = events[0].at, [event for event in events if (event.kind, event.within) == ("begun", "")]
        known = self.records.get((user, session), ConversationRecord(user, session, created_at=at))
        self.records[user, session] = replace(
            known,
            title=known.title or (f"message {begun[0].number}" if begun else ""),
            model=model or known.model,
            used_at=at,
            turns=known.turns + len(begun),
        )
        self.logs.setdefault((user, session), []).extend(events)

    @rule(user=_USERS, session=_SESSIONS, title=st.sampled_from(["", "Taxes"]))
    def name_conversation(self, user: str, session: str, title: str) -> None:
        known = (user, session) in self.records
        if known:
            self.given[user, session] = title
        assert self.store.name_conversation(user=user, session=session, title=title) == known

    @rule(user=_USERS, session=_SESSIONS)
    def forget_conversation(self, user: str, session: str) -> None:
        known = (user, session) in self.records
        self.forget(user, session)
        assert self.store.forget_conversation(user=user, session=session) == known

    def forget(self, user: str, session: str) -> None:
        for kept in (self.records, self.logs, self.given):
            kept.pop((user, session), None)

    @rule(user=_USERS, session=_SESSIONS)
    def end_session(self, user: str, session: str) -> None:
        self.store.open_session(make_session(session, user=user, at=self.tick()))
        assert self.store.end_session(user=user, session=session, at=self.now)

    @rule(user=_USERS, session=_SESSIONS, model=_MODELS, parent=st.sampled_from(["", "t1.0", "t2.0"]))
    def begin_turn(self, user: str, session: str, model: str, parent: str) -> None:
        at = self.tick()
        self.turns.append(make_turn(f"t{at}", user=user, session=session, model=model, parent=parent, at=at))
        self.store.record_turn(self.turns[-1])

    @rule(
        number=st.integers(0, 9),
        outcome=st.sampled_from(Outcome),
        tokens=st.integers(0, 50),
        cost=st.none() | st.sampled_from([0.0, 0.25, 0.5]),
    )
    def end_turn(self, number: int, outcome: Outcome, tokens: int, cost: float | None) -> None:
        """Of one that may have ended before, and begins once more in vain."""
        if not self.turns:
            return
        which = number % len(self.turns)
        turn = self.turns[which]
        begun = make_turn(
            turn.id, user=turn.user, session=turn.session, model=turn.model, parent=turn.parent, at=turn.at
        )
        self.turns[which] = end_turn(begun, outcome=outcome, tokens=tokens, cost_usd=cost)
        self.store.record_turn(self.turns[which])
        self.store.record_turn(begun)

    @rule(user=_USERS, age=st.integers(0, 8))
    def forget_receipts(self, user: str, age: int) -> None:
        before = self.now - age
        for record in [one for one in self.records.values() if one.user == user and one.used_at < before]:
            self.forget(user, record.id)
        self.turns = [turn for turn in self.turns if turn.user != user or turn.at >= before]
        self.store.forget_receipts(user=user, before=before)

    @rule(user=_USERS, since=st.integers(0, 20))
    def count_usage(self, user: str, since: int) -> None:
        by_model: dict[str, list[TurnReceipt]] = {}
        for turn in self.turns:
            if turn.user == user and turn.at >= since:
                by_model.setdefault(turn.model, []).append(turn)
        wanted = [
            ModelUsage(
                model,
                sum(not turn.parent for turn in turns),
                sum(bool(turn.parent) for turn in turns),
                sum((turn.use for turn in turns), TokenUse()),
            )
            for model, turns in by_model.items()
        ]
        wanted.sort(key=lambda one: (-one.use.input_tokens - one.use.output_tokens, one.model))
        assert self.store.model_usage(user=user, since=float(since)) == tuple(wanted)

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        assert self.store.version() == self.version
        for user in ("ann", "bob"):
            known = [
                replace(record, title=self.given.get(key) or record.title)
                for key, record in self.records.items()
                if record.user == user
            ]
            known.sort(key=lambda record: (-record.used_at, record.id))
            assert self.store.conversations(user=user) == tuple(known)
            turns = [turn for turn in reversed(self.turns) if turn.user == user]
            assert self.store.turns(user=user) == tuple(turns)
            forks = tuple(turn for turn in turns if turn.parent == "t1.0")
            assert self.store.turns(user=user, parent="t1.0") == forks
            for session in ("s1", "s2"):
                log = self.logs.get((user, session), [])
                assert self.store.events(user=user, session=session) == tuple(log)
                assert self.store.events(user=user, session=session, after=1, limit=2) == tuple(log[1:3])
                assert self.store.last_event(user=user, session=session) == len(log)
                of_session = tuple(turn for turn in turns if turn.session == session)
                assert self.store.turns(user=user, session=session) == of_session


TestConversations = _Conversations.TestCase
