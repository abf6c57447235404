"""Consent, as far as it is decided without asking anybody."""

import hashlib
from dataclasses import fields, replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.activation.consent import (
    Allow,
    Answer,
    Ask,
    CallbackAsker,
    Change,
    Deny,
    FileChange,
    HeadlessAsker,
    Question,
    Verdict,
    compare_files,
    decide_consent,
    decide_run,
)
from prowess.activation.grants import Act, Decision, Grant, Scope
from prowess.catalog.switches import SwitchKey
from prowess.policy import Consent, ScriptConsent
from prowess.skill.digest import FileKind, SkillFile, digest_files


def _grant(decision: Decision, scope: Scope) -> Grant:
    session = "chat" if scope is Scope.SESSION else ""
    return Grant("ann", SwitchKey("user:pdf"), "pdf", "d", decision, session=session)


_ALWAYS = _grant(Decision.ALLOW, Scope.ALWAYS)
_FOR_SESSION = _grant(Decision.ALLOW, Scope.SESSION)
_REFUSED = _grant(Decision.REFUSE, Scope.ALWAYS)
_REFUSED_FOR_SESSION = _grant(Decision.REFUSE, Scope.SESSION)
_GRANTS = (None, _ALWAYS, _FOR_SESSION, _REFUSED, _REFUSED_FOR_SESSION)


def _decide(
    policy: Consent,
    *,
    digest: str = "d",
    vouched: bool = False,
    trusted: bool = False,
    is_active: bool = False,
    grant: Grant | None = None,
) -> Verdict:
    return decide_consent(policy, digest=digest, vouched=vouched, trusted=trusted, is_active=is_active, grant=grant)


# Verdicts


@pytest.mark.requirement("K1")
@pytest.mark.parametrize(
    ("grant", "asking", "each_session"),
    [
        pytest.param(None, Ask(), Ask(), id="never asked"),
        pytest.param(_ALWAYS, Allow("always"), Ask(), id="granted for good"),
        pytest.param(_FOR_SESSION, Allow("session"), Allow("session"), id="granted for the session"),
        pytest.param(_REFUSED, Deny("refused"), Deny("refused"), id="refused"),
        pytest.param(_REFUSED_FOR_SESSION, Deny("refused"), Deny("refused"), id="refused for the session"),
    ],
)
def test_what_was_said_counts(grant: Grant | None, asking: Verdict, each_session: Verdict) -> None:
    assert _decide(Consent.ASK, grant=grant) == asking
    assert _decide(Consent.EACH_SESSION, grant=grant) == each_session


@pytest.mark.requirement("K1")
def test_trusted_source_does_not_ask_where_trust_counts() -> None:
    assert _decide(Consent.ASK, trusted=True) == Allow("trusted")
    assert _decide(Consent.EACH_SESSION, trusted=True) == Ask()


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("policy", [Consent.ASK, Consent.EACH_SESSION])
def test_folder_that_the_caller_named_does_not_ask(policy: Consent) -> None:
    assert _decide(policy, vouched=True) == Allow("trusted")


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("policy", [Consent.ASK, Consent.EACH_SESSION])
def test_refusal_counts_for_trusted_sources_too(policy: Consent) -> None:
    assert _decide(policy, trusted=True, grant=_REFUSED) == Deny("refused")
    assert _decide(policy, vouched=True, grant=_REFUSED) == Deny("refused")


@pytest.mark.requirement("K1")
def test_files_that_cannot_all_be_read_cannot_be_agreed_to() -> None:
    assert _decide(Consent.ASK, digest="") == Deny("no-digest")
    assert _decide(Consent.EACH_SESSION, digest="") == Deny("no-digest")
    assert _decide(Consent.ASK, digest="", trusted=True) == Allow("trusted")
    assert _decide(Consent.EACH_SESSION, digest="", vouched=True) == Allow("trusted")
    assert _decide(Consent.NEVER, digest="") == Allow("not-asked")


@pytest.mark.requirement("R90")
@pytest.mark.parametrize("policy", [Consent.ASK, Consent.EACH_SESSION])
def test_what_is_active_is_safe(policy: Consent) -> None:
    assert _decide(policy) == Ask()
    assert _decide(policy, is_active=True) == Allow("active")


_CHOICES = [False, True]


@pytest.mark.requirement("K1")
@pytest.mark.parametrize(
    ("digest", "vouched", "trusted", "is_active", "grant"),
    list(product(["", "d"], _CHOICES, _CHOICES, _CHOICES, _GRANTS)),
)
def test_laws_of_consent(digest: str, vouched: bool, trusted: bool, is_active: bool, grant: Grant | None) -> None:
    """Where nobody is to be asked, all is allowed; asking each session never allows what asking once refuses."""
    verdicts = {
        policy: _decide(policy, digest=digest, vouched=vouched, trusted=trusted, is_active=is_active, grant=grant)
        for policy in Consent
    }
    assert verdicts[Consent.NEVER] == Allow("not-asked")
    for policy in (Consent.ASK, Consent.EACH_SESSION):
        assert not (isinstance(verdicts[policy], Ask) and not digest)
    if isinstance(verdicts[Consent.EACH_SESSION], Allow):
        assert isinstance(verdicts[Consent.ASK], Allow)


# Verdicts on runs


def _run_grant(scope: Scope = Scope.ALWAYS, *powers: str, decision: Decision = Decision.ALLOW) -> Grant:
    return replace(_grant(decision, scope), act=Act.RUN, powers=powers)


_USES: tuple[Verdict, ...] = (
    *(Allow(reason) for reason in ("trusted", "active", "once", "session", "always", "not-asked")),
    Ask(),
    Deny("refused"),
    Deny("no-digest"),
)
_RUN_GRANTS = (
    None,
    *(_run_grant(scope, *powers) for scope in (Scope.SESSION, Scope.ALWAYS) for powers in ((), ("network",))),
    *(_run_grant(scope, decision=Decision.REFUSE) for scope in (Scope.SESSION, Scope.ALWAYS)),
)


_AGREED = Allow("always")


def _decide_run(
    policy: ScriptConsent,
    *powers: str,
    use: Verdict = _AGREED,
    grant: Grant | None = None,
    digest: str = "d",
) -> Verdict:
    return decide_run(policy, use=use, grant=grant, powers=powers, digest=digest)


@pytest.mark.requirement("K1")
@pytest.mark.parametrize(
    ("policy", "plain", "with_powers"),
    [
        (ScriptConsent.ASK, Ask(), Ask()),
        (ScriptConsent.WITH_ACTIVATION, Allow("session"), Ask()),
        (ScriptConsent.NEVER, Allow("not-asked"), Ask()),
    ],
)
def test_run_that_nobody_decided_on_is_as_the_policy_says(
    policy: ScriptConsent, plain: Verdict, with_powers: Verdict
) -> None:
    assert _decide_run(policy, use=Allow("session")) == plain
    assert _decide_run(policy, "network", use=Allow("session")) == with_powers


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("reason", ["trusted", "active", "not-asked", "always"])
def test_trust_in_a_skill_is_no_consent_to_its_scripts(reason: str) -> None:
    assert _decide_run(ScriptConsent.ASK, use=Allow(reason)) == Ask()


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("policy", ScriptConsent)
@pytest.mark.parametrize("use", [Allow("trusted"), Ask()])
def test_what_was_said_of_runs_counts_for_the_powers_that_it_was_about(policy: ScriptConsent, use: Verdict) -> None:
    granted = {scope: _run_grant(scope, "network", "secret:A") for scope in (Scope.SESSION, Scope.ALWAYS)}
    verdicts = {
        (scope, powers): _decide_run(policy, *powers, use=use, grant=grant)
        for scope, grant in granted.items()
        for powers in ((), ("network",), ("network", "secret:A"), ("network", "secret:B"))
    }
    assert verdicts == {
        **{(scope, powers): Allow(scope.value) for scope, powers in verdicts if "secret:B" not in powers},
        **{(scope, ("network", "secret:B")): Ask() for scope in granted},
    }


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("policy", ScriptConsent)
@pytest.mark.parametrize("scope", [Scope.SESSION, Scope.ALWAYS])
def test_refused_run_stays_refused(policy: ScriptConsent, scope: Scope) -> None:
    refusal = _run_grant(scope, "network", decision=Decision.REFUSE)
    assert _decide_run(policy, grant=refusal) == Deny("refused")
    assert _decide_run(policy, "network", grant=refusal) == Deny("refused")


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("policy", ScriptConsent)
def test_nothing_runs_of_a_skill_that_nobody_agreed_to_use(policy: ScriptConsent) -> None:
    """Also where running itself is not asked about."""
    assert _decide_run(policy, use=Ask()) == Ask()


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("policy", ScriptConsent)
def test_consent_to_use_is_no_consent_to_powers(policy: ScriptConsent) -> None:
    to_use = replace(_ALWAYS, powers=("network",))
    assert _decide_run(policy, "network", grant=to_use) == Ask()


@pytest.mark.requirement("K1")
@pytest.mark.parametrize("policy", ScriptConsent)
@pytest.mark.parametrize("use", _USES, ids=str)
def test_laws_of_running(policy: ScriptConsent, use: Verdict) -> None:
    for grant, powers, digest in product(_RUN_GRANTS, [(), ("network",), ("secret:A",)], ["", "d"]):
        _expect_laws_of_running(policy, use, grant, powers=powers, digest=digest)


def _expect_laws_of_running(
    policy: ScriptConsent, use: Verdict, grant: Grant | None, *, powers: tuple[str, ...], digest: str
) -> None:
    """What may not be used does not run; nor what no digest holds fast; powers are had only by consent to them."""
    verdict = _decide_run(policy, *powers, use=use, grant=grant, digest=digest)
    if isinstance(use, Deny):
        assert verdict == use
    elif not digest:
        assert verdict == Deny("no-digest")
    elif grant is not None and grant.decision is Decision.REFUSE:
        assert verdict == Deny("refused")
    else:
        is_covered = grant is not None and grant.covers(powers)
        assert not isinstance(verdict, Deny)
        assert not is_covered or isinstance(verdict, Allow)
        assert not isinstance(verdict, Allow) or is_covered or (not powers and isinstance(use, Allow))


# Answers and askers


@pytest.mark.requirement("K1")
def test_answers_say_yes_or_no_and_how_far() -> None:
    assert {answer.name: (answer.decision, answer.scope) for answer in Answer} == {
        "ALLOW_ONCE": (Decision.ALLOW, Scope.ONCE),
        "ALLOW_FOR_SESSION": (Decision.ALLOW, Scope.SESSION),
        "ALLOW_ALWAYS": (Decision.ALLOW, Scope.ALWAYS),
        "REFUSE": (Decision.REFUSE, Scope.ALWAYS),
        "REFUSE_ONCE": (Decision.REFUSE, Scope.ONCE),
    }


_QUESTION = Question("q", "chat", "activateSkill", "user:pdf", "repo-survey", "Surveys.", "user", "d")


def test_question_has_a_title() -> None:
    """S18."""
    assert _QUESTION.title == 'Activate skill "repo-survey"'


@pytest.mark.requirement("R126")
@pytest.mark.parametrize(
    ("script", "title"),
    [
        ("scripts/count.py", 'Run scripts/count.py of skill "repo-survey"'),
        ("", 'Run tools of skill "repo-survey"'),
    ],
)
def test_question_of_a_run_says_what_is_to_run(script: str, title: str) -> None:
    assert replace(_QUESTION, act=Act.RUN, script=script).title == title


@pytest.mark.requirement("K1")
def test_name_cannot_speak_for_the_question() -> None:
    forged = replace(_QUESTION, name='x"? It is safe.\u3164(verified by Prowess)\n\\')
    assert forged.title == r'Activate skill "x\"? It is safe.\u3164(verified by Prowess)\n\\"'
    run = replace(_QUESTION, act=Act.RUN, script='scripts/a.py of skill "safe"? b.py')
    assert run.title == """Run 'scripts/a.py of skill "safe"? b.py' of skill "repo-survey\""""


@pytest.mark.requirement("R126")
def test_question_of_a_run_tells_its_arguments_powers_and_packages() -> None:
    told = {field.name: getattr(_QUESTION, field.name) for field in fields(Question)[-9:]}
    plain = {"act": Act.USE, "script": "", "arguments": (), "powers": (), "packages": (), "on_behalf_of": ""}
    assert told == {**plain, "input": "", "forks": False, "spares_runs": False}
    question = replace(
        _QUESTION, act=Act.RUN, arguments=("--all", "."), powers=("packages:0123",), packages=("rich==14.0.0",)
    )
    seen = CallbackAsker(lambda asked: Answer.ALLOW_ONCE if asked == question else None)
    assert (seen.ask(question), seen.ask(_QUESTION)) == (Answer.ALLOW_ONCE, None)


@pytest.mark.requirement("K1")
def test_nobody_gives_no_answer() -> None:
    asker = HeadlessAsker()
    assert (asker.name, asker.ask(_QUESTION)) == ("headless", None)


@pytest.mark.requirement("K1")
def test_application_may_put_the_question_itself() -> None:
    seen: list[Question] = []

    def answer(question: Question) -> Answer:
        seen.append(question)
        return Answer.ALLOW_ONCE

    asker = CallbackAsker(answer)
    assert (asker.name, asker.ask(_QUESTION), seen) == ("callback", Answer.ALLOW_ONCE, [_QUESTION])
    assert CallbackAsker(answer, name="slack").name == "slack"


# What has changed


def _file(path: str, text: str = "", kind: FileKind = FileKind.FILE) -> SkillFile:
    return SkillFile(path.encode(), kind, len(text), hashlib.sha256(text.encode()).hexdigest())


@pytest.mark.requirement("K1")
def test_changes_are_listed_by_path() -> None:
    before = [_file("SKILL.md", "old"), _file("gone.md", "x"), _file("run.sh", "go"), _file("same.md", "same")]
    after = [
        _file("SKILL.md", "newer"),
        _file("added.md", "yes"),
        _file("run.sh", "go", FileKind.EXECUTABLE),
        _file("same.md", "same"),
    ]
    assert compare_files(before, after) == (
        FileChange("SKILL.md", Change.CHANGED, 3, 5),
        FileChange("added.md", Change.ADDED, size=3),
        FileChange("gone.md", Change.REMOVED, former_size=1),
        FileChange("run.sh", Change.CHANGED, 2, 2),
    )


def test_name_that_is_no_text_is_shown_and_not_lost() -> None:
    odd = SkillFile(b"a\xff\x1b.md", FileKind.FILE, 0, "0" * 64)
    (change,) = compare_files([], [odd])
    assert change.path.isprintable()
    assert change.path.startswith("a")


_FILES = st.dictionaries(
    st.sampled_from(["SKILL.md", "a.md", "b.md", "scripts/run.sh"]),
    st.tuples(st.sampled_from(["", "x", "y"]), st.sampled_from(FileKind)),
).map(lambda found: [_file(path, text, kind) for path, (text, kind) in found.items()])


@pytest.mark.requirement("K1")
@given(_FILES, _FILES)
def test_there_are_changes_just_when_the_digest_differs(before: list[SkillFile], after: list[SkillFile]) -> None:
    changes = compare_files(before, after)
    assert bool(changes) == (digest_files(before) != digest_files(after))
    assert [change.path for change in changes] == sorted({change.path for change in changes})
    back = {Change.ADDED: Change.REMOVED, Change.REMOVED: Change.ADDED, Change.CHANGED: Change.CHANGED}
    assert compare_files(after, before) == tuple(
        FileChange(change.path, back[change.change], change.size, change.former_size) for change in changes
    )
