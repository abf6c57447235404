"""What a state store promises, wherever it keeps its state."""

from dataclasses import replace

import pytest

from prowess.activation.grants import Act, Decision, Scope, sort_powers
from prowess.activation.receipts import AskedBy, Receipt, SessionRecord, Usage
from prowess.catalog.switches import EVERY_AGENT, Switch, SwitchKey
from prowess.state.opening import open_store
from prowess.state.store import StateStore
from tests.state.values import end_run, make_grant, make_receipt, make_run, make_session

_ODD_TEXTS = [
    "'; DROP TABLE switches; --",
    "a\nb",
    "技能",
    "%_\\ ?",
    "/a\udcff",
    "a\0b",
    "\ud83d",
    "bytes:00",
    "utf-16:",
]


def _reopened(url: str) -> StateStore:
    """Return what another process would find."""
    return open_store(url, state_file="")


# What people decide


def test_new_store_is_empty(store: StateStore) -> None:
    assert (store.switches(), store.trusted_projects(user="ann")) == ({}, frozenset())
    assert (store.grants(user="ann"), store.find_grant(user="ann", digest="d1")) == ((), None)
    assert (store.sessions(user="ann"), store.receipts(user="ann"), store.usage(user="ann")) == ((), (), ())
    assert (store.active(user="ann", session="chat"), store.forget_receipts(user="ann", before=9.0)) == ((), 0)


@pytest.mark.requirement("R37")
@pytest.mark.parametrize("position", Switch)
def test_switch_is_kept(shared_store: StateStore, url: str, position: Switch) -> None:
    shared_store.set_switch(EVERY_AGENT, SwitchKey("core:pdf"), position)
    other = _reopened(url)
    assert shared_store.switches() == {(EVERY_AGENT, SwitchKey("core:pdf")): position}
    assert other.switches() == shared_store.switches()
    other.close()


@pytest.mark.requirement("R37")
def test_switch_set_again_replaces_the_former(store: StateStore) -> None:
    store.set_switch("a", SwitchKey("core:pdf"), Switch.OFF)
    store.set_switch("a", SwitchKey("core:pdf"), Switch.ON)
    assert store.switches() == {("a", SwitchKey("core:pdf")): Switch.ON}


@pytest.mark.requirement("R37")
def test_switches_of_agents_and_of_roots_are_apart(store: StateStore) -> None:
    wanted = {
        ("", SwitchKey("project:pdf", "/a")): Switch.OFF,
        ("", SwitchKey("project:pdf", "/b")): Switch.NAME_ONLY,
        ("x", SwitchKey("project:pdf", "/a")): Switch.USER_ONLY,
        ("x", SwitchKey("project:pdf")): Switch.ON,
    }
    for (agent, key), position in wanted.items():
        store.set_switch(agent, key, position)
    assert store.switches() == wanted


def test_trust_says_whether_it_is_new(shared_store: StateStore, url: str) -> None:
    assert [shared_store.trust(path, user="ann") for path in ("/a", "/a", "/b")] == [True, False, True]
    other = _reopened(url)
    assert shared_store.trusted_projects(user="ann") == other.trusted_projects(user="ann") == {"/a", "/b"}
    other.close()


def test_untrust_says_whether_it_was_trusted(store: StateStore) -> None:
    store.trust("/a", user="ann")
    assert [store.untrust(path, user="ann") for path in ("/a", "/a", "/b")] == [True, False, False]
    assert store.trusted_projects(user="ann") == frozenset()


@pytest.mark.requirement("K7")
def test_project_that_one_user_trusts_is_not_trusted_by_another(store: StateStore) -> None:
    store.trust("/a", user="ann")
    assert (store.trusted_projects(user="ann"), store.trusted_projects(user="bob")) == ({"/a"}, frozenset())
    assert [store.untrust("/a", user="bob"), store.trust("/a", user="bob")] == [False, True]
    assert store.untrust("/a", user="bob")
    assert store.trusted_projects(user="ann") == {"/a"}


def test_project_that_is_trusted_for_everybody_is_so_until_somebody_takes_it_back(store: StateStore) -> None:
    store.trust("/a", user="")
    assert [store.trusted_projects(user=user) for user in ("ann", "bob")] == [{"/a"}, {"/a"}]
    assert not store.trust("/a", user="ann")
    assert store.untrust("/a", user="bob")
    assert [store.trusted_projects(user=user) for user in ("ann", "bob")] == [{"/a"}, frozenset()]


@pytest.mark.parametrize("text", _ODD_TEXTS)
def test_any_text_is_kept_as_it_is(store: StateStore, text: str) -> None:
    powers = sort_powers((text, "network"))
    grant = replace(
        make_grant(text, user=text, session=text, skill=text, root=text, act=Act.RUN, powers=powers),
        name=text,
        given_by=text,
    )
    run = replace(
        end_run(make_run(text, user=text, session=text, skill=text, name=text)),
        digest=text,
        script=text,
        arguments=text,
        agent=text,
        consent=text,
        backend=text,
        powers=powers,
    )
    receipt = replace(
        make_receipt(text, user=text, session=text, skill=text, name=text, digest=text),
        agent=text,
        trigger=text,
        arguments=text,
        consent=text,
    )
    store.set_switch(text, SwitchKey(text, text), Switch.OFF)
    store.trust(text, user=text)
    store.set_grant(grant)
    store.activate(receipt)
    store.record_run(run)
    store.keep_prompt_basis(SessionRecord(text, text, text, 1.0, 1.0), text)
    assert (store.switches(), store.trusted_projects(user=text)) == (
        {(text, SwitchKey(text, text)): Switch.OFF},
        {text},
    )
    assert store.find_grant(user=text, digest=text, session=text, act=Act.RUN) == grant
    assert store.receipts(user=text, session=text) == (receipt,)
    assert store.runs(user=text, session=text) == (run,)
    assert store.sessions(user=text) == (SessionRecord(text, text, text, 1.0, 1.0, (text,)),)
    assert store.usage(user=text) == (Usage(text, text, 1, 1, 25, 1.0, 1),)
    assert store.recent_skills(user=text, since=0.0, limit=9) == (text,)
    assert store.prompt_basis(user=text, session=text) == text


# Grants


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("decision", Decision)
def test_decision_on_a_digest_is_kept_whole(shared_store: StateStore, url: str, decision: Decision) -> None:
    grant = make_grant(decision=decision, root="/project")
    shared_store.set_grant(grant)
    other = _reopened(url)
    assert shared_store.find_grant(user="ann", digest="d1") == grant
    assert other.find_grant(user="ann", digest="d1", session="any") == grant
    other.close()


@pytest.mark.requirement("K1")
def test_decision_is_on_one_digest_and_of_one_user(store: StateStore) -> None:
    store.set_grant(make_grant("d1"))
    assert store.find_grant(user="ann", digest="d2") is None
    assert store.find_grant(user="bob", digest="d1") is None


@pytest.mark.requirement("K1")
def test_later_decision_replaces_the_former(store: StateStore) -> None:
    store.set_grant(make_grant(at=1.0))
    refused = make_grant(decision=Decision.REFUSE, skill="core:other", at=2.0)
    store.set_grant(refused)
    assert store.grants(user="ann") == (refused,)


@pytest.mark.requirement("K1")
def test_decision_of_a_session_counts_before_the_general_one(store: StateStore) -> None:
    general = make_grant(at=2.0)
    own = make_grant(session="chat", decision=Decision.REFUSE, at=1.0)
    store.set_grant(general)
    store.set_grant(own)
    assert store.find_grant(user="ann", digest="d1", session="chat") == own
    assert store.find_grant(user="ann", digest="d1", session="other") == general
    assert store.find_grant(user="ann", digest="d1") == general


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("own_decision", Decision)
@pytest.mark.parametrize(("own_at", "refused_at", "counts"), [(1.0, 2.0, ""), (1.0, 1.0, ""), (2.0, 1.0, "chat")])
def test_general_refusal_counts_before_what_a_session_decided_earlier(
    store: StateStore, own_decision: Decision, own_at: float, refused_at: float, counts: str
) -> None:
    decisions = {
        "": make_grant(decision=Decision.REFUSE, at=refused_at),
        "chat": make_grant(session="chat", decision=own_decision, at=own_at),
    }
    for grant in decisions.values():
        store.set_grant(grant)
    assert store.find_grant(user="ann", digest="d1", session="chat") == decisions[counts]


@pytest.mark.requirement("R91")
def test_decision_of_a_session_holds_in_no_other(store: StateStore) -> None:
    store.set_grant(make_grant(session="chat"))
    assert store.find_grant(user="ann", digest="d1", session="other") is None
    assert store.find_grant(user="ann", digest="d1") is None


@pytest.mark.requirement("K1")
def test_former_consent_is_the_newest_to_other_files_of_the_same_skill(store: StateStore) -> None:
    older, newer = make_grant("d1", at=1.0), make_grant("d2", session="chat", at=2.0)
    for grant in (
        newer,
        older,
        make_grant("d3", decision=Decision.REFUSE, at=3.0),
        make_grant("d4", skill="core:other", at=4.0),
        make_grant("d5", root="/project", at=5.0),
        make_grant("d6", user="bob", at=6.0),
    ):
        store.set_grant(grant)
    pdf = SwitchKey("core:pdf")
    assert store.find_former_grant(user="ann", skill=pdf, digest="d9") == newer
    assert store.find_former_grant(user="ann", skill=pdf, digest="d2") == older
    assert store.find_former_grant(user="ann", skill=SwitchKey("core:pdf", "/project"), digest="d5") is None


def test_grants_are_listed_newest_first(store: StateStore) -> None:
    grants = [make_grant("d1", at=1.0), make_grant("d2", at=3.0), make_grant("d1", session="chat", at=2.0)]
    for grant in [*grants, make_grant(user="bob")]:
        store.set_grant(grant)
    assert store.grants(user="ann") == (grants[1], grants[2], grants[0])


@pytest.mark.parametrize(
    ("skill", "left"),
    [
        (None, set[str]()),
        (SwitchKey("core:pdf"), {"d3", "d4"}),
        (SwitchKey("core:unknown"), {"d1", "d2", "d3", "d4"}),
    ],
)
def test_revoking_forgets_decisions_of_all_sessions_by_skill(
    store: StateStore, skill: SwitchKey | None, left: set[str]
) -> None:
    for grant in (
        make_grant("d1"),
        make_grant("d2", session="chat"),
        make_grant("d3", root="/project"),
        make_grant("d4", skill="core:other", session="chat"),
        make_grant("d5", user="bob"),
    ):
        store.set_grant(grant)
    assert store.revoke_grants(user="ann", skill=skill) == 4 - len(left)
    assert {grant.digest for grant in store.grants(user="ann")} == left
    assert len(store.grants(user="bob")) == 1


@pytest.mark.requirement("K1")
@pytest.mark.parametrize(
    ("skill", "left"),
    [
        (SwitchKey("core:pdf"), {("d3", "")}),
        (SwitchKey("core:unknown"), {("d1", ""), ("d3", "")}),
        (None, {("d1", ""), ("d3", "")}),
    ],
)
def test_revoking_by_digest_forgets_what_was_decided_for_another_skill_of_the_same_files(
    store: StateStore, skill: SwitchKey | None, left: set[tuple[str, str]]
) -> None:
    for grant in (
        make_grant("d1"),
        make_grant("d2", skill="core:twin"),
        make_grant("d2", skill="core:twin", session="chat"),
        make_grant("d3", skill="core:other"),
        make_grant("d2", user="bob"),
    ):
        store.set_grant(grant)
    assert store.revoke_grants(user="ann", skill=skill, digest="d2") == 4 - len(left)
    assert {(grant.digest, grant.session) for grant in store.grants(user="ann")} == left
    assert len(store.grants(user="bob")) == 1


# Consent to runs


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("act", Act)
@pytest.mark.parametrize("decision", Decision)
def test_decision_on_one_act_says_nothing_of_the_other(store: StateStore, act: Act, decision: Decision) -> None:
    grant = make_grant(act=act, decision=decision)
    store.set_grant(grant)
    found = {one: store.find_grant(user="ann", digest="d1", session="chat", act=one) for one in Act}
    assert found == {**dict.fromkeys(Act), act: grant}


@pytest.mark.requirement("K1")
def test_decisions_on_both_acts_are_kept_side_by_side(shared_store: StateStore, url: str) -> None:
    running = make_grant(act=Act.RUN, decision=Decision.REFUSE, at=2.0)
    using = make_grant(at=1.0)
    for grant in (running, using):
        shared_store.set_grant(grant)
    other = _reopened(url)
    assert other.grants(user="ann") == shared_store.grants(user="ann") == (running, using)
    other.close()


@pytest.mark.requirement("K1")
def test_consent_to_runs_adds_its_powers_to_those_of_an_earlier_one(store: StateStore) -> None:
    store.set_grant(make_grant(act=Act.RUN, powers=("network",), at=1.0))
    store.set_grant(make_grant(act=Act.RUN, powers=("secret:KEY", "workspace:write"), skill="core:twin", at=2.0))
    store.set_grant(make_grant(act=Act.RUN, powers=("network",), at=3.0))
    everything = ("network", "secret:KEY", "workspace:write")
    assert store.grants(user="ann") == (make_grant(act=Act.RUN, powers=everything, at=3.0),)


@pytest.mark.requirement("K1")
@pytest.mark.parametrize(("first", "second"), [(Decision.ALLOW, Decision.REFUSE), (Decision.REFUSE, Decision.ALLOW)])
def test_opposite_decision_on_runs_replaces_the_former_with_its_powers(
    store: StateStore, first: Decision, second: Decision
) -> None:
    store.set_grant(make_grant(act=Act.RUN, decision=first, powers=("network",), at=1.0))
    later = make_grant(act=Act.RUN, decision=second, powers=("secret:KEY",), at=2.0)
    store.set_grant(later)
    assert store.grants(user="ann") == (later,)


@pytest.mark.requirement("K1")
def test_powers_are_added_to_those_of_the_same_files_session_and_user_only(store: StateStore) -> None:
    grants = [
        make_grant(act=Act.RUN, powers=("a",), at=5.0),
        make_grant(act=Act.RUN, powers=("b",), session="chat", at=4.0),
        make_grant("d2", act=Act.RUN, powers=("c",), at=3.0),
        make_grant(powers=("d",), at=2.0),
    ]
    for grant in [*grants, make_grant(user="bob", act=Act.RUN, powers=("e",))]:
        store.set_grant(grant)
    assert store.grants(user="ann") == tuple(grants)


@pytest.mark.requirement("K1")
def test_session_may_do_what_all_sessions_may_and_what_it_may_itself(store: StateStore) -> None:
    general = make_grant(act=Act.RUN, powers=("network",), at=2.0)
    own = make_grant(act=Act.RUN, powers=("secret:KEY",), session="chat", at=1.0)
    for grant in (general, own):
        store.set_grant(grant)
    found = store.find_grant(user="ann", digest="d1", session="chat", act=Act.RUN)
    assert found is not None
    assert (found, found.scope) == (replace(own, powers=("network", "secret:KEY")), Scope.SESSION)
    assert store.find_grant(user="ann", digest="d1", session="other", act=Act.RUN) == general


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("act", Act)
@pytest.mark.parametrize(("own_at", "refused_at", "counts"), [(1.0, 2.0, ""), (1.0, 1.0, ""), (2.0, 1.0, "chat")])
def test_general_refusal_of_one_act_counts_before_earlier_decisions_on_that_act(
    store: StateStore, act: Act, own_at: float, refused_at: float, counts: str
) -> None:
    (other_act,) = set(Act) - {act}
    decisions = {
        "": make_grant(act=act, decision=Decision.REFUSE, at=refused_at),
        "chat": make_grant(act=act, session="chat", at=own_at),
    }
    other = make_grant(act=other_act, session="chat", at=own_at)
    for grant in (*decisions.values(), other):
        store.set_grant(grant)
    assert store.find_grant(user="ann", digest="d1", session="chat", act=act) == decisions[counts]
    assert store.find_grant(user="ann", digest="d1", session="chat", act=other_act) == other


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("session", ["", "chat"])
def test_refusal_to_use_ends_what_is_on_and_refusal_to_run_does_not(store: StateStore, session: str) -> None:
    receipt = store.activate(make_receipt())
    store.set_grant(make_grant(act=Act.RUN, decision=Decision.REFUSE, session=session, at=2.0))
    assert store.active(user="ann", session="chat") == (receipt,)
    store.set_grant(make_grant(decision=Decision.REFUSE, session=session, at=3.0))
    assert store.receipts(user="ann") == (replace(receipt, ended_at=3.0),)


@pytest.mark.requirement("K1")
def test_former_consent_is_to_the_same_act(store: StateStore) -> None:
    used, run = make_grant("d1", at=1.0), make_grant("d2", act=Act.RUN, at=2.0)
    for grant in (used, run):
        store.set_grant(grant)
    pdf = SwitchKey("core:pdf")
    assert store.find_former_grant(user="ann", skill=pdf, digest="d9") == used
    assert store.find_former_grant(user="ann", skill=pdf, digest="d9", act=Act.RUN) == run
    assert store.find_former_grant(user="ann", skill=pdf, digest="d2", act=Act.RUN) is None


@pytest.mark.requirement("K1")
@pytest.mark.parametrize(
    ("skill", "digest", "left"),
    [
        (None, None, set[tuple[str, Act]]()),
        (SwitchKey("core:pdf"), None, {("d2", Act.USE), ("d2", Act.RUN)}),
        (SwitchKey("core:pdf"), "d2", set[tuple[str, Act]]()),
    ],
)
def test_revoking_forgets_both_acts(
    store: StateStore, skill: SwitchKey | None, digest: str | None, left: set[tuple[str, Act]]
) -> None:
    for one in Act:
        store.set_grant(make_grant("d1", act=one))
        store.set_grant(make_grant("d2", act=one, skill="core:other"))
    assert store.revoke_grants(user="ann", skill=skill, digest=digest) == 4 - len(left)
    assert {(grant.digest, grant.act) for grant in store.grants(user="ann")} == left


@pytest.mark.requirement("K1")
def test_powers_that_were_revoked_do_not_come_back(store: StateStore) -> None:
    store.set_grant(make_grant(act=Act.RUN, powers=("network",)))
    store.revoke_grants(user="ann")
    plain = make_grant(act=Act.RUN, at=2.0)
    store.set_grant(plain)
    assert store.grants(user="ann") == (plain,)


# Sessions and receipts


@pytest.mark.requirement("R92")
def test_session_is_remembered_with_the_names_of_its_skills(shared_store: StateStore, url: str) -> None:
    assert shared_store.open_session(make_session(at=1.0)) == make_session(at=1.0)
    shared_store.activate(make_receipt("r1", skill="core:zip", at=2.0))
    shared_store.activate(make_receipt("r2", skill="core:pdf", at=3.0))
    other = _reopened(url)
    again = other.open_session(make_session(agent="other", at=9.0))
    other.close()
    assert again == SessionRecord("ann", "chat", "main", created_at=1.0, used_at=9.0, active=("zip", "pdf"))
    assert shared_store.sessions(user="ann") == (again,)


def test_session_never_goes_back_in_time(store: StateStore) -> None:
    store.open_session(make_session(at=5.0))
    assert store.open_session(make_session(at=2.0)) == make_session(at=5.0)


def test_touched_session_is_used_again_and_otherwise_the_same(store: StateStore) -> None:
    store.activate(make_receipt(at=1.0))
    store.open_session(make_session(user="bob", at=1.0))
    store.touch_session(user="ann", session="chat", at=5.0)
    store.touch_session(user="ann", session="chat", at=3.0)
    store.touch_session(user="ann", session="unknown", at=5.0)
    assert store.sessions(user="ann") == (SessionRecord("ann", "chat", "main", 1.0, 5.0, ("pdf",)),)
    assert store.sessions(user="bob") == (make_session(user="bob", at=1.0),)


def test_sessions_are_listed_by_their_last_use(store: StateStore) -> None:
    for number, id_ in enumerate(("a", "b", "c")):
        store.open_session(make_session(id_, at=float(number)))
    store.open_session(make_session("x", user="bob"))
    store.open_session(make_session("a", at=9.0))
    assert [session.id for session in store.sessions(user="ann")] == ["a", "c", "b"]
    assert [session.id for session in store.sessions(user="ann", limit=1)] == ["a"]


@pytest.mark.requirement("K6")
def test_receipt_is_kept_whole(shared_store: StateStore, url: str) -> None:
    receipt = Receipt(
        id="r1",
        user="ann",
        session="chat",
        skill="core:pdf",
        name="pdf",
        digest="d1",
        asked_by=AskedBy.TRIGGER,
        agent="main",
        trigger="fill",
        arguments="form.pdf",
        consent="session",
        size_bytes=1 << 40,
        tokens=25,
        at=1700000000.123456,
        in_context=False,
    )
    assert shared_store.activate(receipt) == receipt
    other = _reopened(url)
    assert other.receipts(user="ann") == other.active(user="ann", session="chat") == (receipt,)
    other.close()


@pytest.mark.requirement("K6")
def test_activating_again_gives_the_receipt_that_is_open(store: StateStore) -> None:
    first = store.activate(make_receipt("r1", at=1.0))
    assert store.activate(make_receipt("r2", at=2.0)) == first
    assert store.activate(first) == first
    assert store.receipts(user="ann") == (first,)


@pytest.mark.requirement("K6")
def test_activating_other_files_ends_the_receipt_that_is_open(store: StateStore) -> None:
    first = store.activate(make_receipt("r1", digest="d1", at=1.0))
    second = make_receipt("r2", digest="d2", at=2.0)
    assert store.activate(second) == second
    assert store.receipts(user="ann") == (second, replace(first, ended_at=2.0))
    assert store.active(user="ann", session="chat") == (second,)


def test_receipt_that_has_ended_stays_so(store: StateStore) -> None:
    first = store.activate(make_receipt("r1"))
    ended = store.deactivate(user="ann", session="chat", skill="core:pdf", at=2.0)
    assert ended == replace(first, ended_at=2.0)
    assert store.activate(first) == ended
    second = store.activate(make_receipt("r2", digest="d2", at=3.0))
    assert store.activate(first) == ended
    assert store.active(user="ann", session="chat") == (second,)


@pytest.mark.requirement("K6")
def test_skill_can_be_switched_off_and_on_again(store: StateStore) -> None:
    first = store.activate(make_receipt("r1", at=1.0))
    assert store.deactivate(user="ann", session="chat", skill="core:pdf", at=2.0) == replace(first, ended_at=2.0)
    assert store.deactivate(user="ann", session="chat", skill="core:pdf", at=3.0) is None
    second = store.activate(make_receipt("r2", at=4.0))
    assert store.active(user="ann", session="chat") == (second,)
    assert store.receipts(user="ann") == (second, replace(first, ended_at=2.0))


def test_active_skills_are_in_the_order_of_activation_whatever_the_clock_says(store: StateStore) -> None:
    for number, skill in enumerate(("core:c", "core:a", "core:b")):
        store.activate(make_receipt(f"r{9 - number}", skill=skill, at=5.0 - number % 2))
    assert [receipt.skill for receipt in store.active(user="ann", session="chat")] == ["core:c", "core:a", "core:b"]


@pytest.mark.requirement("R91", "R92")
def test_sessions_and_users_do_not_see_each_other(store: StateStore) -> None:
    own = store.activate(make_receipt())
    others = (store.activate(make_receipt(session="other")), store.activate(make_receipt(user="bob")))
    store.deactivate(user="ann", session="other", skill="core:pdf", at=2.0)
    store.end_session(user="bob", session="chat", at=2.0)
    assert store.active(user="ann", session="chat") == (own,)
    assert store.receipts(user="ann", session="other") == (replace(others[0], ended_at=2.0),)
    assert store.receipts(user="bob") == (replace(others[1], ended_at=2.0),)


@pytest.mark.requirement("R91")
def test_ended_session_leaves_receipts_and_nothing_else(store: StateStore) -> None:
    store.open_session(make_session())
    first, second = store.activate(make_receipt("r1")), store.activate(make_receipt("r2", skill="core:zip", at=2.0))
    store.deactivate(user="ann", session="chat", skill="core:pdf", at=3.0)
    for act in Act:
        store.set_grant(make_grant(session="chat", act=act))
    kept = (make_grant("d2"), make_grant("d3", session="other"), make_grant("d4", user="bob", session="chat"))
    for grant in kept:
        store.set_grant(grant)
    assert store.end_session(user="ann", session="chat", at=4.0)
    assert not store.end_session(user="ann", session="chat", at=5.0)
    assert store.sessions(user="ann") == ()
    assert store.active(user="ann", session="chat") == ()
    assert store.receipts(user="ann") == (replace(second, ended_at=4.0), replace(first, ended_at=3.0))
    assert {*store.grants(user="ann"), *store.grants(user="bob")} == set(kept)


def test_ending_the_nameless_session_keeps_general_decisions(store: StateStore) -> None:
    store.set_grant(make_grant())
    store.end_session(user="ann", session="", at=2.0)
    assert store.grants(user="ann") == (make_grant(),)


@pytest.mark.requirement("K6")
def test_open_receipts_say_what_is_still_in_context(store: StateStore) -> None:
    for id_, skill in (("r1", "core:a"), ("r2", "core:b"), ("r3", "core:c")):
        store.activate(make_receipt(id_, skill=skill))
    store.deactivate(user="ann", session="chat", skill="core:c", at=2.0)
    store.activate(make_receipt("r1", session="other"))
    store.mark_context(user="ann", session="chat", in_context=frozenset({"r2", "r3", "unknown"}))
    marks = {receipt.id: receipt.in_context for receipt in store.receipts(user="ann", session="chat")}
    assert marks == {"r1": False, "r2": True, "r3": True}
    store.mark_context(user="ann", session="chat", in_context=frozenset({"r1"}))
    assert [receipt.in_context for receipt in store.active(user="ann", session="chat")] == [True, False]
    assert [receipt.in_context for receipt in store.active(user="ann", session="other")] == [True]


def test_receipts_are_listed_newest_first_up_to_a_limit(store: StateStore) -> None:
    for number in range(5):
        store.activate(make_receipt(f"r{number}", session="ab"[number % 2], skill=f"core:{number}", at=float(number)))
    assert [receipt.id for receipt in store.receipts(user="ann", limit=3)] == ["r4", "r3", "r2"]
    assert [receipt.id for receipt in store.receipts(user="ann", session="a")] == ["r4", "r2", "r0"]


@pytest.mark.requirement("K6")
def test_one_receipt_can_be_put_into_the_context_again(store: StateStore) -> None:
    for number in (1, 2):
        store.activate(make_receipt(f"r{number}", skill=f"core:{number}"))
    store.mark_context(user="ann", session="chat", in_context=frozenset())
    store.enter_context(user="ann", session="chat", receipt="r2")
    assert [receipt.in_context for receipt in store.active(user="ann", session="chat")] == [False, True]


@pytest.mark.requirement("K6")
def test_only_the_open_receipt_that_is_meant_enters_the_context(store: StateStore) -> None:
    for user, session in (("ann", "chat"), ("ann", "other"), ("bob", "chat")):
        store.activate(make_receipt("r1", user=user, session=session))
        store.mark_context(user=user, session=session, in_context=frozenset())
    store.activate(make_receipt("r2", skill="core:zip"))
    store.mark_context(user="ann", session="chat", in_context=frozenset())
    store.deactivate(user="ann", session="chat", skill="core:zip", at=2.0)
    for receipt in ("r1", "r1", "r2", "unknown"):
        store.enter_context(user="ann", session="chat", receipt=receipt)
    marks = {(one.session, one.id): one.in_context for one in store.receipts(user="ann")}
    assert marks == {("chat", "r1"): True, ("chat", "r2"): False, ("other", "r1"): False}
    assert [one.in_context for one in store.receipts(user="bob")] == [False]


def test_what_a_prompt_was_planned_from_is_kept_with_its_session(store: StateStore) -> None:
    assert store.prompt_basis(user="ann", session="s") == ""
    store.keep_prompt_basis(SessionRecord("ann", "s", "helper", 1.0, 1.0), "first")
    store.keep_prompt_basis(SessionRecord("ann", "s", "helper", 2.0, 2.0), "second")
    assert store.prompt_basis(user="ann", session="s") == "second"
    assert (store.prompt_basis(user="bob", session="s"), store.prompt_basis(user="ann", session="t")) == ("", "")
    assert store.sessions(user="ann") == (SessionRecord("ann", "s", "helper", 1.0, 2.0),)
    store.activate(make_receipt(session="s", at=3.0))
    store.open_session(make_session("s", at=4.0))
    assert store.prompt_basis(user="ann", session="s") == "second"
    store.end_session(user="ann", session="s", at=5.0)
    assert store.prompt_basis(user="ann", session="s") == ""


def test_what_a_prompt_was_planned_from_is_found_by_another_process(shared_store: StateStore, url: str) -> None:
    shared_store.keep_prompt_basis(SessionRecord("ann", "s", "helper", 1.0, 1.0), "x" * 100_000)
    other = _reopened(url)
    assert other.prompt_basis(user="ann", session="s") == "x" * 100_000
    other.close()


def test_nothing_is_switched_on_in_a_new_store(store: StateStore) -> None:
    assert (store.open_skills(user="ann"), store.held_digests()) == (frozenset(), frozenset())


@pytest.mark.requirement("K5", "R91")
def test_skills_are_on_while_any_session_of_their_user_has_them_on(store: StateStore) -> None:
    store.activate(make_receipt("r1", session="one", skill="core:pdf", digest="d1"))
    store.activate(make_receipt("r2", session="two", skill="core:pdf", digest="d1"))
    store.activate(make_receipt("r3", session="two", skill="user:odd\n\udcff", digest="d2"))
    store.activate(make_receipt("r4", user="bob", session="one", skill="core:git", digest="d3"))
    assert (store.open_skills(user="ann"), store.open_skills(user="bob"), store.open_skills(user="eve")) == (
        {"core:pdf", "user:odd\n\udcff"},
        {"core:git"},
        frozenset(),
    )
    store.deactivate(user="ann", session="two", skill="core:pdf", at=2.0)
    assert store.open_skills(user="ann") == {"core:pdf", "user:odd\n\udcff"}
    store.end_session(user="ann", session="one", at=3.0)
    assert store.open_skills(user="ann") == {"user:odd\n\udcff"}


@pytest.mark.requirement("K5")
def test_digests_are_held_while_any_session_of_anybody_needs_them(store: StateStore) -> None:
    store.activate(make_receipt("r1", digest="d1"))
    store.activate(make_receipt("r2", user="bob", digest="d1"))
    store.activate(make_receipt("r3", user="bob", session="two", digest="d2"))
    assert store.held_digests() == {"d1", "d2"}
    store.activate(make_receipt("r4", user="bob", session="two", digest="d3", at=2.0))  # In the place of the former.
    assert store.held_digests() == {"d1", "d3"}
    store.end_session(user="ann", session="chat", at=3.0)
    assert store.held_digests() == {"d1", "d3"}
    store.end_session(user="bob", session="chat", at=4.0)
    assert store.held_digests() == {"d3"}


@pytest.mark.requirement("K1", "K5")
def test_what_was_last_agreed_to_of_a_skill_is_held(store: StateStore) -> None:
    store.set_grant(make_grant(digest="d1", at=1.0))
    store.set_grant(make_grant(digest="d2", at=2.0))
    store.set_grant(make_grant(digest="d3", decision=Decision.REFUSE, at=3.0))
    assert store.held_digests() == {"d2"}
    store.revoke_grants(user="ann")
    assert store.held_digests() == frozenset()


@pytest.mark.requirement("K5")
def test_what_is_held_is_seen_by_other_processes(shared_store: StateStore, url: str) -> None:
    shared_store.activate(make_receipt("r1", digest="d1"))
    other = _reopened(url)
    assert (other.open_skills(user="ann"), other.held_digests()) == ({"core:pdf"}, {"d1"})
    other.close()


def test_recent_skills_are_told_the_latest_first(store: StateStore) -> None:
    for number, skill in enumerate(["core:a", "core:b", "core:a", "core:c"]):
        store.activate(make_receipt(f"r{number}", skill=skill, session=f"s{number}", at=float(number)))
    assert store.recent_skills(user="ann", since=0.0, limit=10) == ("core:c", "core:a", "core:b")
    assert store.recent_skills(user="ann", since=2.0, limit=1) == ("core:c",)
    assert store.recent_skills(user="bob", since=0.0, limit=10) == ()


def test_recent_skills_of_one_moment_are_in_the_order_of_their_ids(store: StateStore) -> None:
    for number, skill in enumerate(["core:b", "core:B", "core:a", "core:é", "core:a-b", "core:aa"]):
        store.activate(make_receipt(f"r{number}", skill=skill))
    everything = store.recent_skills(user="ann", since=1.0, limit=10)
    assert everything == ("core:B", "core:a", "core:a-b", "core:aa", "core:b", "core:é")
    assert store.recent_skills(user="ann", since=1.0, limit=2) == everything[:2]
    assert store.recent_skills(user="ann", since=1.0, limit=0) == ()


def test_sessions_are_counted_by_whether_they_activated_a_skill(store: StateStore) -> None:
    assert store.count_sessions(user="ann") == 0
    store.open_session(make_session("idle"))
    for number, session in enumerate(["a", "a", "b", "c"]):
        store.activate(make_receipt(f"r{number}", skill=f"core:{number}", session=session, at=float(number)))
    store.activate(make_receipt(user="bob", session="x", at=9.0))
    store.end_session(user="ann", session="c", at=4.0)
    assert [store.count_sessions(user="ann", since=since) for since in (0.0, 2.0, 3.0, 3.5)] == [3, 2, 1, 0]
    assert store.count_sessions(user="bob") == 1


def test_usage_counts_activations_sessions_and_tokens(store: StateStore) -> None:
    rows = [("r1", "a", "core:pdf", 10, 1.0), ("r2", "b", "core:pdf", 20, 3.0), ("r3", "a", "core:zip", 5, 2.0)]
    for id_, session, skill, tokens, at in rows:
        store.activate(make_receipt(id_, session=session, skill=skill, name=f"at-{at}", tokens=tokens, at=at))
    store.deactivate(user="ann", session="a", skill="core:pdf", at=2.0)
    store.activate(make_receipt("r4", session="a", name="oldest", tokens=1, at=0.5))
    store.activate(make_receipt("r5", user="bob"))
    zip_usage = Usage("core:zip", "at-2.0", 1, 1, 5, 2.0)
    assert store.usage(user="ann") == (Usage("core:pdf", "at-3.0", 3, 2, 31, 3.0), zip_usage)
    assert store.usage(user="ann", since=2.0) == (Usage("core:pdf", "at-3.0", 1, 1, 20, 3.0), zip_usage)


def test_forgetting_takes_ended_receipts_and_unused_sessions(store: StateStore) -> None:
    store.activate(make_receipt("r1", session="old", skill="core:a", at=1.0))
    store.activate(make_receipt("r2", session="old", skill="core:b", at=2.0))
    store.set_grant(make_grant("d1", session="old", at=2.0))
    store.activate(make_receipt("r3", session="used", skill="core:a", at=3.0))
    store.activate(make_receipt("r4", session="used", skill="core:b", at=4.0))
    store.set_grant(make_grant("d2", session="used", at=2.0))
    store.set_grant(make_grant("d3", at=1.0))
    store.deactivate(user="ann", session="used", skill="core:a", at=5.0)
    store.open_session(make_session("used", at=9.0))
    assert store.forget_receipts(user="ann", before=8.0) == 3
    assert [receipt.id for receipt in store.receipts(user="ann")] == ["r4"]
    assert [(session.id, session.active) for session in store.sessions(user="ann")] == [("used", ("b",))]
    assert {grant.digest for grant in store.grants(user="ann")} == {"d2", "d3"}


@pytest.mark.requirement("R91")
def test_forgetting_takes_nothing_of_another_user(store: StateStore) -> None:
    for user in ("ann", "bob"):
        store.activate(make_receipt("r1", user=user, session="ended"))
        store.end_session(user=user, session="ended", at=2.0)
        store.activate(make_receipt("r2", user=user, session="idle"))
        store.set_grant(make_grant(user=user, session="idle"))
    of_bob = (store.receipts(user="bob"), store.sessions(user="bob"), store.grants(user="bob"))
    assert store.forget_receipts(user="ann", before=9.0) == 2
    assert (store.receipts(user="ann"), store.sessions(user="ann"), store.grants(user="ann")) == ((), (), ())
    assert (store.receipts(user="bob"), store.sessions(user="bob"), store.grants(user="bob")) == of_bob
    assert [len(part) for part in of_bob] == [2, 1, 1]


# The store itself


def test_version_stays_while_nobody_decides_anything(store: StateStore) -> None:
    store.trust("/a", user="ann")
    store.set_switch("", SwitchKey("core:pdf"), Switch.OFF)
    store.set_grant(make_grant())
    before = store.version()
    store.open_session(make_session())
    store.activate(make_receipt())
    store.mark_context(user="ann", session="chat", in_context=frozenset())
    store.enter_context(user="ann", session="chat", receipt="r1")
    store.touch_session(user="ann", session="chat", at=2.0)
    store.keep_prompt_basis(make_session(), "basis")
    store.deactivate(user="ann", session="chat", skill="core:pdf", at=2.0)
    store.record_run(make_run())
    store.record_run(end_run(make_run()))
    store.trust("/a", user="ann")
    store.untrust("/b", user="ann")
    store.set_switch("", SwitchKey("core:pdf"), Switch.OFF)
    store.revoke_grants(user="bob")
    store.end_session(user="ann", session="chat", at=2.0)
    store.forget_receipts(user="ann", before=9.0)
    assert store.version() == before


def test_version_changes_with_every_decision(store: StateStore) -> None:
    versions = [store.version()]
    decisions = (
        lambda: store.trust("/a", user="ann"),
        lambda: store.untrust("/a", user="ann"),
        lambda: store.set_switch("", SwitchKey("core:pdf"), Switch.OFF),
        lambda: store.set_switch("", SwitchKey("core:pdf"), Switch.ON),
        lambda: store.set_grant(make_grant()),
        lambda: store.set_grant(make_grant(act=Act.RUN)),
        lambda: store.set_grant(make_grant(act=Act.RUN, powers=("network",))),
        lambda: store.revoke_grants(user="ann", skill=SwitchKey("core:pdf")),
        lambda: store.set_grant(make_grant()),
        lambda: store.revoke_grants(user="ann"),
        lambda: store.set_grant(make_grant(session="chat")),
        lambda: store.end_session(user="ann", session="chat", at=1.0),
        lambda: store.set_grant(make_grant(session="chat")),
        lambda: store.forget_receipts(user="ann", before=9.0),
    )
    for decide in decisions:
        decide()
        versions.append(store.version())
    assert len(set(versions)) == len(versions)


def test_closed_store_opens_again_when_it_is_used(shared_store: StateStore) -> None:
    shared_store.trust("/a", user="ann")
    before = shared_store.version()
    shared_store.close()
    shared_store.close()
    assert (shared_store.trusted_projects(user="ann"), shared_store.version()) == ({"/a"}, before)
