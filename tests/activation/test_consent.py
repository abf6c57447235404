"""Consent, as far as it is decided without asking anybody."""

import hashlib
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
)
from prowess.activation.grants import Decision, Grant, Scope
from prowess.catalog.switches import SwitchKey
from prowess.policy import Consent
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
