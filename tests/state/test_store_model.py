"""A store against a plain model of it, under any order of calls."""

from dataclasses import replace

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from prowess.activation.grants import Act, Decision, Grant
from prowess.activation.receipts import Receipt, RunReceipt, SessionRecord, Usage
from prowess.catalog.switches import SwitchKey
from prowess.state.opening import open_store
from tests.state.values import end_run, make_grant, make_receipt, make_run, make_session

_USERS = st.sampled_from(["ann", "bob"])
_SESSIONS = st.sampled_from(["s1", "s2"])
_SKILLS = st.sampled_from(["core:a", "core:b", "core:c"])
_DIGESTS = st.sampled_from(["d1", "d2"])
_ACTS = st.sampled_from(Act)
_POWERS = st.frozensets(st.sampled_from(["network", "secret:A", "secret:B"]))

pytestmark = pytest.mark.slow


class _Stores(RuleBasedStateMachine):
    """One clock for all calls; the receipts and runs of the model are in the order of their beginning."""

    def __init__(self) -> None:
        super().__init__()
        self.store = open_store("memory", state_file="")
        self.now = 0.0
        self.sessions: dict[tuple[str, str], SessionRecord] = {}
        self.receipts: list[Receipt] = []
        self.runs: list[RunReceipt] = []
        self.grants: dict[tuple[str, str, str, Act], Grant] = {}
        self.trust_of: set[tuple[str, str]] = set()
        self.bases: dict[tuple[str, str], str] = {}
        self.version = self.store.version()

    def teardown(self) -> None:
        self.store.close()

    def tick(self) -> float:
        self.now += 1.0
        return self.now

    def open(self, user: str, session: str) -> list[Receipt]:
        return [r for r in self.receipts if (r.user, r.session) == (user, session) and r.is_open]

    def end(self, receipt: Receipt, at: float) -> Receipt:
        ended = replace(receipt, ended_at=at)
        self.receipts[self.receipts.index(receipt)] = ended
        return ended

    def use(self, user: str, session: str, at: float) -> None:
        known = self.sessions.get((user, session), make_session(session, user=user, at=at))
        self.sessions[user, session] = replace(known, used_at=max(known.used_at, at))

    def expect_decisions(self, *, changed: int) -> None:
        before, self.version = self.version, self.store.version()
        assert (self.version != before) == (changed > 0)

    @rule(user=_USERS, session=_SESSIONS)
    def open_session(self, user: str, session: str) -> None:
        at = self.tick()
        self.use(user, session, at)
        found = self.store.open_session(make_session(session, user=user, at=at))
        names = tuple(receipt.name for receipt in self.open(user, session))
        assert found == replace(self.sessions[user, session], active=names)
        self.expect_decisions(changed=0)

    @rule(user=_USERS, session=_SESSIONS, ahead=st.integers(-3, 3))
    def touch_session(self, user: str, session: str, ahead: int) -> None:
        """By a clock that is not quite this one."""
        at = self.tick() + ahead
        if (user, session) in self.sessions:
            self.use(user, session, at)
        self.store.touch_session(user=user, session=session, at=at)
        self.expect_decisions(changed=0)

    @rule(user=_USERS, session=_SESSIONS, basis=st.sampled_from(["x", "y"]))
    def keep_prompt_basis(self, user: str, session: str, basis: str) -> None:
        at = self.tick()
        self.use(user, session, at)
        self.bases[user, session] = basis
        self.store.keep_prompt_basis(make_session(session, user=user, at=at), basis)
        self.expect_decisions(changed=0)

    @rule(user=_USERS, session=_SESSIONS, skill=_SKILLS, digest=_DIGESTS)
    def activate(self, user: str, session: str, skill: str, digest: str) -> None:
        at = self.tick()
        wanted = make_receipt(f"r{at}", user=user, session=session, skill=skill, digest=digest, at=at)
        self.use(user, session, at)
        earlier = [receipt for receipt in self.open(user, session) if receipt.skill == skill]
        if earlier and earlier[0].digest == digest:
            assert self.store.activate(wanted) == earlier[0]
        else:
            for receipt in earlier:
                self.end(receipt, at)
            self.receipts.append(wanted)
            assert self.store.activate(wanted) == wanted
        self.expect_decisions(changed=0)

    @rule(user=_USERS, session=_SESSIONS, skill=_SKILLS)
    def deactivate(self, user: str, session: str, skill: str) -> None:
        at = self.tick()
        wanted = [self.end(receipt, at) for receipt in self.open(user, session) if receipt.skill == skill]
        found = self.store.deactivate(user=user, session=session, skill=skill, at=at)
        assert found == (wanted[0] if wanted else None)
        self.expect_decisions(changed=0)

    @rule(user=_USERS, session=_SESSIONS, kept=st.frozensets(_SKILLS))
    def mark_context(self, user: str, session: str, kept: frozenset[str]) -> None:
        for receipt in self.open(user, session):
            self.receipts[self.receipts.index(receipt)] = replace(receipt, in_context=receipt.skill in kept)
        ids = frozenset(receipt.id for receipt in self.open(user, session) if receipt.skill in kept)
        self.store.mark_context(user=user, session=session, in_context=ids)

    @rule(user=_USERS, session=_SESSIONS, number=st.integers(0, 9))
    def enter_context(self, user: str, session: str, number: int) -> None:
        of_session = [receipt for receipt in self.receipts if (receipt.user, receipt.session) == (user, session)]
        if not of_session:
            return
        receipt = of_session[number % len(of_session)]
        if receipt.is_open:
            self.receipts[self.receipts.index(receipt)] = replace(receipt, in_context=True)
        self.store.enter_context(user=user, session=session, receipt=receipt.id)
        self.expect_decisions(changed=0)

    @rule(user=st.just("") | _USERS, project=st.sampled_from(["/a", "/b"]))
    def trust(self, user: str, project: str) -> None:
        is_new = not self.trust_of & {(user, project), ("", project)}
        changed = 0 if (user, project) in self.trust_of else 1
        self.trust_of.add((user, project))
        assert self.store.trust(project, user=user) == is_new
        self.expect_decisions(changed=changed)

    @rule(user=_USERS, project=st.sampled_from(["/a", "/b"]))
    def untrust(self, user: str, project: str) -> None:
        gone = self.trust_of & {(user, project), ("", project)}
        self.trust_of -= gone
        assert self.store.untrust(project, user=user) == bool(gone)
        self.expect_decisions(changed=len(gone))

    @rule(user=_USERS, session=_SESSIONS)
    def end_session(self, user: str, session: str) -> None:
        at = self.tick()
        for receipt in self.open(user, session):
            self.end(receipt, at)
        known = self.sessions.pop((user, session), None)
        self.bases.pop((user, session), None)
        gone = [key for key in self.grants if (key[0], key[2]) == (user, session)]
        for key in gone:
            del self.grants[key]
        assert self.store.end_session(user=user, session=session, at=at) == (known is not None)
        self.expect_decisions(changed=len(gone))

    @rule(user=_USERS, session=_SESSIONS, skill=_SKILLS)
    def begin_run(self, user: str, session: str, skill: str) -> None:
        at = self.tick()
        self.runs.append(make_run(f"x{at}", user=user, session=session, skill=skill, at=at))
        self.store.record_run(self.runs[-1])
        self.expect_decisions(changed=0)

    @rule(number=st.integers(0, 9), exit_status=st.sampled_from([0, 1, None]))
    def end_run(self, number: int, exit_status: int | None) -> None:
        """Of one that may have ended before, and begins once more in vain."""
        if not self.runs:
            return
        which = number % len(self.runs)
        run = self.runs[which]
        begun = make_run(run.id, user=run.user, session=run.session, skill=run.skill, at=run.at)
        self.runs[which] = end_run(begun, exit_status=exit_status)
        self.store.record_run(self.runs[which])
        self.store.record_run(begun)
        self.expect_decisions(changed=0)

    @rule(
        user=_USERS,
        session=st.just("") | _SESSIONS,
        skill=_SKILLS,
        digest=_DIGESTS,
        said=st.tuples(st.sampled_from(Decision), _ACTS, _POWERS),
    )
    def set_grant(
        self, user: str, session: str, skill: str, digest: str, said: tuple[Decision, Act, frozenset[str]]
    ) -> None:
        decision, act, powers = said
        grant = make_grant(
            digest,
            user=user,
            session=session,
            skill=skill,
            decision=decision,
            at=self.tick(),
            act=act,
            powers=tuple(sorted(powers)),
        )
        self.store.set_grant(grant)
        earlier = self.grants.get((user, digest, session, act))
        self.grants[user, digest, session, act] = self.joined(grant, earlier)
        self.expect_decisions(changed=1)
        if act is Act.RUN:
            return
        for receipt in [r for r in self.receipts if (r.user, r.digest, r.is_open) == (user, digest, True)]:
            if decision is Decision.REFUSE and session in ("", receipt.session):
                self.receipts[self.receipts.index(receipt)] = replace(receipt, ended_at=grant.at)

    def joined(self, grant: Grant, other: Grant | None) -> Grant:
        if other is None or {(one.act, one.decision) for one in (grant, other)} != {(Act.RUN, Decision.ALLOW)}:
            return grant
        return replace(grant, powers=tuple(sorted({*grant.powers, *other.powers})))

    @rule(
        user=_USERS,
        skill=st.none() | _SKILLS,
        digest=st.none() | _DIGESTS,
    )
    def revoke_grants(self, user: str, skill: str | None, digest: str | None) -> None:
        gone = [
            key
            for key, grant in self.grants.items()
            if grant.user == user and (skill == grant.skill.skill or digest == grant.digest or skill is digest is None)
        ]
        for key in gone:
            del self.grants[key]
        key = None if skill is None else SwitchKey(skill)
        assert self.store.revoke_grants(user=user, skill=key, digest=digest) == len(gone)
        self.expect_decisions(changed=len(gone))

    @rule(user=_USERS, age=st.integers(0, 8))
    def forget_receipts(self, user: str, age: int) -> None:
        before = self.now - age
        self.sessions = {k: record for k, record in self.sessions.items() if k[0] != user or record.used_at >= before}
        self.bases = {key: basis for key, basis in self.bases.items() if key in self.sessions}
        kept = [
            r
            for r in self.receipts
            if r.user != user or (r.ended_at or 0.0) >= before or (r.is_open and self.is_known(r, before))
        ]
        grants = {
            k: g
            for k, g in self.grants.items()
            if g.user != user or not g.session or g.at >= before or (k[0], k[2]) in self.sessions
        }
        assert self.store.forget_receipts(user=user, before=before) == len(self.receipts) - len(kept)
        self.expect_decisions(changed=len(self.grants) - len(grants))
        self.receipts, self.grants = kept, grants
        self.runs = [run for run in self.runs if run.user != user or run.at >= before]

    def is_known(self, receipt: Receipt, before: float) -> bool:
        return (receipt.user, receipt.session) in self.sessions or receipt.at >= before

    @rule(user=_USERS, session=st.just("") | _SESSIONS, skill=_SKILLS, digest=_DIGESTS, act=_ACTS)
    def find_grants(self, user: str, session: str, skill: str, digest: str, act: Act) -> None:
        own, general = self.grants.get((user, digest, session, act)), self.grants.get((user, digest, "", act))
        wanted = self.joined(own, general) if own else general
        if own and general and general.decision is Decision.REFUSE:
            wanted = max(own, general, key=lambda grant: grant.at)
        assert self.store.find_grant(user=user, digest=digest, session=session, act=act) == wanted
        former = [
            grant
            for grant in self.grants.values()
            if (grant.user, grant.skill.skill, grant.decision, grant.act) == (user, skill, Decision.ALLOW, act)
            and grant.digest != digest
        ]
        newest = max(former, key=lambda grant: grant.at, default=None)
        assert self.store.find_former_grant(user=user, skill=SwitchKey(skill), digest=digest, act=act) == newest

    @rule(user=_USERS, since=st.integers(0, 20))
    def count_usage(self, user: str, since: int) -> None:
        by_skill: dict[str, list[Receipt]] = {}
        for receipt in self.receipts:
            if receipt.user == user and receipt.at >= since:
                by_skill.setdefault(receipt.skill, []).append(receipt)
        runs = [run for run in self.runs if run.user == user and run.at >= since]
        wanted: list[Usage] = []
        for skill in by_skill.keys() | {run.skill for run in runs}:
            uses, began = by_skill.get(skill, []), [run.at for run in runs if run.skill == skill]
            sessions, last = {receipt.session for receipt in uses}, max([*began, *(receipt.at for receipt in uses)])
            name = skill.partition(":")[2]
            wanted.append(Usage(skill, name, len(uses), len(sessions), 25 * len(uses), last, len(began)))
        wanted.sort(key=lambda usage: (-usage.activations, -usage.runs, -usage.last_used_at))
        assert self.store.usage(user=user, since=float(since)) == tuple(wanted)
        sessions = {receipt.session for uses in by_skill.values() for receipt in uses}
        assert self.store.count_sessions(user=user, since=float(since)) == len(sessions)
        recent = sorted(by_skill, key=lambda skill: -by_skill[skill][-1].at)
        assert self.store.recent_skills(user=user, since=float(since), limit=2) == tuple(recent[:2])

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        for user in ("ann", "bob"):
            assert list(reversed(self.store.receipts(user=user))) == [r for r in self.receipts if r.user == user]
            assert list(reversed(self.store.runs(user=user))) == [run for run in self.runs if run.user == user]
            grants = [grant for grant in self.grants.values() if grant.user == user]
            assert list(self.store.grants(user=user)) == sorted(grants, key=lambda grant: -grant.at)
            known = [record for record in self.sessions.values() if record.user == user]
            known.sort(key=lambda record: (-record.used_at, record.id))
            names = [tuple(receipt.name for receipt in self.open(user, record.id)) for record in known]
            assert list(self.store.sessions(user=user)) == [
                replace(record, active=active) for record, active in zip(known, names, strict=True)
            ]
            trusted = {project for owner, project in self.trust_of if owner in (user, "")}
            assert self.store.trusted_projects(user=user) == trusted
            for session in ("s1", "s2"):
                assert self.store.prompt_basis(user=user, session=session) == self.bases.get((user, session), "")
                assert list(self.store.active(user=user, session=session)) == self.open(user, session)
                runs = [run for run in self.runs if (run.user, run.session) == (user, session)]
                assert list(reversed(self.store.runs(user=user, session=session))) == runs


TestStores = _Stores.TestCase
