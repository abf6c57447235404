"""Consent to runs (K1): who is asked before a script runs, about what, and how far the answer reaches."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from prowess.activation.consent import Answer, Change, Confirmation, FileChange, Question
from prowess.activation.grants import Act, Decision, Grant
from prowess.catalog.switches import SwitchKey
from prowess.errors import Refused
from prowess.runtime import Runtime, Session
from prowess.runtime.run_results import RunRequest
from tests.runtime.opening import ONLY_MINE
from tests.runtime.people import Person, try_activate
from tests.runtime.runs import open_agreed, refusal, try_run, write_scripts
from tests.skills_on_disk import Home

pytestmark = pytest.mark.requirement("K1")

_RUN = "scripts/run.py"
_TOOL = "run_skill_script"
_CALL: dict[str, object] = {"name": "alpha", "script": _RUN, "arguments": ["a", "b c"], "input": {"n": 1}}


@pytest.fixture(autouse=True)
def alpha(root: Path) -> Path:
    """The skill that every test here is about."""
    return write_scripts(root, "alpha", {"run.py": "print('hi')", "other.py": "print('other')"})


def _with_network(home: Home) -> None:
    home.write_settings(ONLY_MINE + '[execution]\nnetwork = "granted"\n')


def _codes(session: Session, times: int) -> list[str]:
    return [try_run(session, "alpha", _RUN) for _ in range(times)]


# The question


def test_question_says_what_is_to_run_and_with_what(runtime: Runtime) -> None:
    session = runtime.session("chat")
    question = session.question(_TOOL, _CALL)
    skill = runtime.catalog().get("alpha")
    assert question is not None
    assert question == Question(
        question.id,
        "chat",
        _TOOL,
        "agents:alpha",
        "alpha",
        skill.description,
        "agents",
        runtime.digest(skill),
        runtime.files(skill).files,
        act=Act.RUN,
        script=_RUN,
        arguments=("a", "b c"),
        input='{"n": 1}',
    )
    assert question.title == 'Run scripts/run.py of skill "alpha"'


def test_person_sees_the_input_before_the_script_gets_it(runtime: Runtime) -> None:
    person = Person(Answer.REFUSE_ONCE, Answer.REFUSE_ONCE)
    session = runtime.session("chat", asker=person)
    session.call(_TOOL, {**_CALL, "input": {"send": "é"}})
    session.call(_TOOL, {"name": "alpha", "script": _RUN})
    assert [question.input for question in person.questions] == ['{"send": "é"}', ""]


def test_question_names_the_powers(home: Home) -> None:
    (home.project / "own").mkdir()
    home.write_settings(ONLY_MINE + '[execution]\nnetwork = "granted"\nworkspace = "read"\n')
    person = Person(Answer.REFUSE_ONCE)
    with Runtime.open() as runtime:
        code = try_run(runtime.session(asker=person), "alpha", _RUN, request=RunRequest(network=True))
    assert (code, person.questions[0].powers) == ("refused", ("network", f"workspace:read:{os.getcwd()}"))


@pytest.mark.parametrize("script", ["scripts/nothing.py", "../x", "SKILL.md"])
def test_nobody_is_asked_about_a_hopeless_run(runtime: Runtime, script: str) -> None:
    assert runtime.session("chat").question(_TOOL, {"name": "alpha", "script": script}) is None
    assert runtime.session("chat", asker=Person()).call(_TOOL, {"name": "alpha", "script": script}).is_error


# Who is asked


def test_core_skill_asks_before_it_runs(home: Home) -> None:
    home.write_settings("")
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        assert try_activate(session, "scheduling") == "trusted"
        assert try_run(session, "scheduling", "scripts/next_dates.py") == "consent-needed"


def test_skill_of_a_folder_that_was_named_asks_before_it_runs(home: Home) -> None:
    write_scripts(home.project / "mine", "beta", {"run.py": "print('hi')"})
    with Runtime.open(skills=[home.project / "mine"]) as runtime:
        person = Person(Answer.ALLOW_ONCE)
        session = runtime.session("chat", asker=person)
        assert try_activate(session, "beta") == "trusted"
        assert (try_run(session, "beta", _RUN), person.count) == ("once", 1)


def test_headless_run_is_refused_with_the_way_to_allow_it(home: Home) -> None:
    _with_network(home)
    with Runtime.open() as runtime:
        request = RunRequest(network=True)
        error = refusal(lambda: runtime.session().run("alpha", _RUN, request=request), Refused)
        assert (error.code, error.message) == (
            "consent-needed",
            "running scripts/run.py of skill 'alpha' needs the user's consent, and nobody is there to give it",
        )
        assert error.hint == "`prowess grants --allow alpha --run --power network` gives it, or --yes for one call"
        called = runtime.session().call(_TOOL, {"name": "alpha", "script": _RUN})
        assert (called.is_error, called.data["error"]["code"]) == (True, "consent-needed")
        assert "prowess grants" not in called.content  # It is the user who decides, not the model.
        assert runtime.runs() == ()


def test_activation_is_no_consent_to_run_nor_the_other_way_round(runtime: Runtime) -> None:
    session = runtime.session("chat", asker=Person(Answer.ALLOW_ALWAYS, None))
    assert (try_activate(session, "alpha"), try_run(session, "alpha", _RUN)) == ("always", "consent-needed")
    runtime.revoke("alpha")
    session = runtime.session("other", asker=Person(Answer.ALLOW_ALWAYS, None))
    assert (try_run(session, "alpha", _RUN), try_activate(session, "alpha")) == ("always", "consent-needed")


# How far an answer reaches


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer.ALLOW_ONCE, ["once", "consent-needed", "consent-needed", "consent-needed"]),
        (Answer.ALLOW_FOR_SESSION, ["session", "session", "consent-needed", "session"]),
        (Answer.ALLOW_ALWAYS, ["always", "always", "always", "always"]),
        (Answer.REFUSE, ["refused", "refused", "refused", "refused"]),
        (Answer.REFUSE_ONCE, ["refused", "consent-needed", "consent-needed", "consent-needed"]),
    ],
)
def test_answer_reaches_just_as_far_as_it_says(runtime: Runtime, answer: Answer, expected: list[str]) -> None:
    seen = [try_run(runtime.session("chat", asker=Person(answer)), "alpha", _RUN)]
    seen += [try_run(runtime.session(name), "alpha", "scripts/other.py") for name in ("chat", "other")]
    with Runtime.open() as later:
        seen.append(try_run(later.session("chat"), "alpha", _RUN))
    assert seen == expected


@pytest.mark.requirement("J9")
def test_refused_run_leaves_the_skill_active(runtime: Runtime) -> None:
    session = runtime.session("chat", asker=Person(Answer.ALLOW_ALWAYS, Answer.REFUSE))
    assert [try_activate(session, "alpha"), *_codes(session, 2)] == ["always", "refused", "refused"]
    assert (try_activate(session, "alpha"), len(session.active())) == ("active", 1)
    assert session.read("alpha", _RUN).content == "print('hi')"


def test_refused_skill_neither_runs_nor_says_what_it_holds(runtime: Runtime) -> None:
    runtime.decide("alpha", Decision.ALLOW, act=Act.RUN)
    runtime.decide("alpha", Decision.REFUSE)
    session = runtime.session("chat", asker=Person())
    for script in (_RUN, "scripts/nothing.py", "SKILL.md"):
        called = session.call(_TOOL, {"name": "alpha", "script": script})
        assert (called.is_error, called.data["error"]["code"]) == (True, "refused")
        assert "other.py" not in called.content + json.dumps(called.data)
        assert session.question(_TOOL, {"name": "alpha", "script": script}) is None
    assert runtime.runs() == ()


def test_refusal_to_run_sticks_until_it_is_revoked(runtime: Runtime) -> None:
    person = Person(Answer.REFUSE, Answer.ALLOW_ALWAYS)
    assert _codes(runtime.session("chat", asker=person), 3) == ["refused"] * 3
    assert person.count == 1
    assert runtime.revoke("alpha") == 1
    assert try_run(runtime.session("chat", asker=person), "alpha", _RUN) == "always"


def test_changed_script_is_another_digest_and_asks_again(runtime: Runtime, alpha: Path) -> None:
    person = Person(Answer.ALLOW_ALWAYS, Answer.ALLOW_ALWAYS)
    session = runtime.session("chat", asker=person)
    assert _codes(session, 2) == ["always", "always"]
    (alpha / "scripts" / "run.py").write_text("print('changed')")
    result = session.run("alpha", _RUN)
    assert (result.stdout, person.count) == ("changed\n", 2)
    assert person.questions[1].changes == (FileChange(_RUN, Change.CHANGED, 11, 16),)
    assert person.questions[1].former_digest == person.questions[0].digest != person.questions[1].digest


def test_what_is_changed_while_a_person_thinks_does_not_run(runtime: Runtime, alpha: Path) -> None:
    script = alpha / "scripts" / "run.py"
    person = Person(Answer.ALLOW_ONCE, before=lambda: script.write_text("print('evil')"))
    result = runtime.session(asker=person).run("alpha", _RUN)
    assert (result.stdout, result.receipt.digest) == ("hi\n", person.questions[0].digest)


# Powers


def test_grant_with_fewer_powers_asks_again_for_more(home: Home) -> None:
    _with_network(home)
    with Runtime.open() as runtime:
        person = Person(Answer.ALLOW_ALWAYS, Answer.ALLOW_ALWAYS)
        session = runtime.session("chat", asker=person)
        more = RunRequest(network=True)
        seen = [try_run(session, "alpha", _RUN, request=request) for request in (None, None, more, more, None)]
        assert (seen, [question.powers for question in person.questions]) == (["always"] * 5, [(), ("network",)])
        (grant,) = runtime.grants()
        assert (grant.act, grant.powers) == (Act.RUN, ("network",))


def test_grant_given_before_covers_just_its_powers(home: Home) -> None:
    _with_network(home)
    with Runtime.open() as runtime:
        runtime.decide("alpha", Decision.ALLOW, act=Act.RUN, powers=["secret:OTHER"])
        assert try_run(runtime.session(), "alpha", _RUN) == "always"
        assert try_run(runtime.session(), "alpha", _RUN, request=RunRequest(network=True)) == "consent-needed"
        runtime.decide("alpha", Decision.ALLOW, act=Act.RUN, powers=["network"])
        assert try_run(runtime.session(), "alpha", _RUN, request=RunRequest(network=True)) == "always"


@pytest.mark.parametrize("policy", ["with-activation", "never"])
def test_no_policy_spares_the_question_of_powers(home: Home, policy: str) -> None:
    home.write_settings(f'{ONLY_MINE}[execution]\nnetwork = "granted"\nconsent = "{policy}"\n')
    with Runtime.open() as runtime:
        session = runtime.session("chat", asker=Person(Answer.ALLOW_ALWAYS, None))
        session.activate("alpha")
        assert try_run(session, "alpha", _RUN, request=RunRequest(network=True)) == "consent-needed"


@pytest.mark.parametrize(("policy", "reason"), [("with-activation", "active"), ("never", "not-asked")])
def test_policy_may_spare_the_question_once_the_skill_is_agreed_to(home: Home, policy: str, reason: str) -> None:
    home.write_settings(f'{ONLY_MINE}[execution]\nconsent = "{policy}"\n')
    with Runtime.open() as runtime:
        assert try_run(runtime.session("chat"), "alpha", _RUN) == "consent-needed"
        person = Person(Answer.ALLOW_ONCE)
        session = runtime.session("chat", asker=person)
        session.activate("alpha")
        assert person.questions[0].spares_runs  # So that whoever agrees knows.
        assert try_run(session, "alpha", _RUN) == reason
        runtime.decide("alpha", Decision.REFUSE, act=Act.RUN)
        assert try_run(session, "alpha", _RUN) == "refused"


# An answer to one call


@pytest.mark.requirement("R126")
def test_confirmation_lets_its_one_call_pass_once(runtime: Runtime) -> None:
    session = runtime.session("chat")
    question = session.question(_TOOL, _CALL)
    assert question is not None
    confirmation = Confirmation(question.id, Answer.ALLOW_ONCE)
    assert session.call(_TOOL, _CALL, confirmation=confirmation).data["stdout"] == "hi\n"
    again = session.call(_TOOL, _CALL, confirmation=confirmation)
    assert (again.is_error, again.data["error"]["code"]) == (True, "confirmation-mismatch")


@pytest.mark.slow
@pytest.mark.requirement("R126")
@pytest.mark.parametrize(
    "change",
    [
        {"script": "scripts/other.py"},
        {"arguments": ["a b", "c"]},
        {"arguments": ["a", "b c", ""]},
        {"arguments": []},
        {"input": {"n": 2}},
        {"input": {}},
        {"name": "beta"},
    ],
)
def test_confirmation_is_for_no_other_call(runtime: Runtime, root: Path, change: dict[str, object]) -> None:
    write_scripts(root, "beta", {"run.py": "print('hi')"})
    session = runtime.session("chat")
    question = session.question(_TOOL, _CALL)
    assert question is not None
    confirmation = Confirmation(question.id, Answer.ALLOW_ALWAYS)
    called = session.call(_TOOL, {**_CALL, **change}, confirmation=confirmation)
    assert (called.is_error, called.data["error"]["code"]) == (True, "confirmation-mismatch")
    assert (runtime.runs(), runtime.grants()) == ((), ())


@pytest.mark.requirement("R126")
def test_confirmation_is_for_no_other_files_session_or_tool(runtime: Runtime, alpha: Path) -> None:
    session = runtime.session("chat")
    asked = [session.question(_TOOL, _CALL) for _ in range(3)]
    given = [Confirmation(question.id, Answer.ALLOW_ONCE) for question in asked if question is not None]
    results = [
        runtime.session("other").call(_TOOL, _CALL, confirmation=given[0]),
        session.call("activate_skill", {"name": "alpha"}, confirmation=given[1]),
    ]
    (alpha / "scripts" / "run.py").write_text("print('changed')")
    results.append(session.call(_TOOL, _CALL, confirmation=given[2]))
    assert [result.data["error"]["code"] for result in results] == ["confirmation-mismatch"] * 3


@pytest.mark.requirement("R126")
def test_confirmation_that_refuses_is_remembered(runtime: Runtime) -> None:
    session = runtime.session("chat")
    question = session.question(_TOOL, _CALL)
    assert question is not None
    called = session.call(_TOOL, _CALL, confirmation=Confirmation(question.id, Answer.REFUSE))
    assert (called.is_error, called.data["error"]["code"]) == (True, "refused")
    (grant,) = runtime.grants()
    assert (grant.act, grant.decision) == (Act.RUN, Decision.REFUSE)


def test_refused_run_finds_nothing_out_about_packages(root: Path, runtime: Runtime, home: Home) -> None:
    script = "# /// script\n# dependencies = ['nothing-of-the-kind']\n# ///\nprint('hi')\n"
    write_scripts(root, "beta", {"run.py": script})
    runtime.decide("beta", Decision.REFUSE, act=Act.RUN)
    assert try_run(open_agreed(runtime), "beta", _RUN) == "refused"
    assert not (home.prowess / "cache" / "locks-1").exists()


@pytest.mark.requirement("R126", "K1")
def test_no_that_comes_with_a_run_counts_though_a_yes_came_between(runtime: Runtime) -> None:
    session = runtime.session("chat")
    question = session.question(_TOOL, _CALL)
    assert question is not None
    runtime.decide("alpha", Decision.ALLOW, act=Act.RUN)
    called = session.call(_TOOL, _CALL, confirmation=Confirmation(question.id, Answer.REFUSE))
    assert (called.is_error, called.data["error"]["code"]) == (True, "refused")
    assert "to run scripts/" in called.content


def test_leave_to_write_the_workspace_is_leave_to_read_it() -> None:
    grant = Grant(
        "me", SwitchKey("a:b", ""), "b", "0" * 64, Decision.ALLOW, act=Act.RUN, powers=("workspace:write:/a",)
    )
    assert grant.covers(["workspace:read:/a"])
    assert not grant.covers(["workspace:read:/b"])
    assert not replace(grant, powers=("workspace:read:/a",)).covers(["workspace:write:/a"])
