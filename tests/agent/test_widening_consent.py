"""What people have agreed to, or refused, is tried on in forks for which it was not meant (K1, K2, R94, R95)."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from prowess.activation.consent import Answer as Said
from prowess.activation.consent import Change, Confirmation, FileChange
from prowess.activation.grants import Act, Decision
from prowess.agent.chat import Chat
from prowess.agent.events import ForkBegun, ForkEnded, Happening
from prowess.runtime import Runtime
from prowess.runtime.host_tools import HostTool
from prowess.runtime.tool_results import ToolResult
from prowess.state.conversations import Outcome
from tests.agent.conversations import find, hear, open_chat, told, watch
from tests.agent.forked import Part, calling, cast, ends, forks_of, trying
from tests.agent.scripted_model import Answer, Wait, call, say
from tests.runtime.opening import ONLY_MINE
from tests.runtime.people import Person
from tests.skills_on_disk import Home, write_skill

pytestmark = [pytest.mark.requirement("K1", "K2", "R94")]

_HOST = '[execution]\nnetwork = "granted"\nworkspace = "write"\n'
_PAINT = call("activate_skill", name="painting")
_SHIP = call("activate_skill", name="deploy", arguments="Ship.")


@pytest.fixture
def root(home: Home, root: Path) -> Path:
    """Skills that nobody has agreed to yet."""
    home.write_settings(f"{ONLY_MINE}{_HOST}")
    write_skill(root, "deploy", description="Deploys.", extra="sandbox: true\n", files={"scripts/a.sh": "echo a"})
    write_skill(root, "plan", description="Plans.", extra="sandbox: true\n")
    return root


@pytest.fixture
def runtime(root: Path) -> Iterator[Runtime]:
    with Runtime.open() as opened:
        yield opened


def _shipped(_: object) -> Answer:
    return say("Shipped.")


def _fail(_: object) -> Answer:
    return [ValueError("a bug")]


def _names(person: Person) -> list[tuple[str, str]]:
    """Whom a person was asked about, and on whose behalf."""
    return [(question.name, question.on_behalf_of) for question in person.questions]


# Consent to one fork


def test_consent_to_one_fork_is_none_to_the_next(runtime: Runtime) -> None:
    person = Person(Said.ALLOW_ONCE, Said.REFUSE_ONCE)
    happenings = watch(open_chat(runtime, cast(trying(_SHIP, _SHIP), deploy=_shipped), asker=person), "Go.")
    assert _names(person) == [("deploy", ""), ("deploy", "")]
    assert [state for state, _ in ends(happenings)] == ["done", "refused"]
    assert (len(forks_of(happenings)), runtime.grants()) == (1, ())


def test_consent_to_a_fork_is_none_to_the_skill_in_the_conversation(runtime: Runtime) -> None:
    person = Person(Said.ALLOW_ONCE, Said.REFUSE_ONCE)
    apart = call("activate_skill", name="painting", run_in="fork", arguments="Paint.")
    chat = open_chat(runtime, cast(trying(apart, _PAINT), painting=_shipped), asker=person)
    assert [state for state, _ in ends(watch(chat, "Go."))] == ["done", "refused"]
    assert (person.count, chat.session.active()) == (2, ())


def test_consent_to_a_fork_is_none_to_a_fork_of_another_conversation_at_the_same_time(runtime: Runtime) -> None:
    person = Person(Said.ALLOW_ONCE, Said.REFUSE_ONCE)
    wait = Wait()
    first = open_chat(runtime, cast(calling("deploy"), deploy=lambda _: [wait, *say("Shipped.")]), "1", asker=person)
    second = open_chat(runtime, cast(calling("deploy"), deploy=_shipped), "2", asker=person)
    found: dict[str, list[Happening]] = {}

    async def listen(chat: Chat) -> None:
        found[chat.id] = await hear(chat, "Go.")

    async def talk() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(listen, first)
            await wait.reached.wait()
            await listen(second)
            wait.go_on.set()

    anyio.run(talk)
    assert [state for state, _ in ends(found["1"])] == ["done"]
    assert [state for state, _ in ends(found["2"])] == ["refused"]


def test_confirmation_of_the_skill_is_none_of_a_fork_nor_the_other_way_round(runtime: Runtime) -> None:
    """It comes with a call and is for that call (R126), which is made here by the application, within a turn."""
    here: dict[str, object] = {"name": "painting", "arguments": "Paint."}
    apart: dict[str, object] = {**here, "run_in": "fork"}
    results: list[ToolResult] = []

    def confirm(_: object) -> str:
        for asked, called in ((here, apart), (apart, here), (apart, apart)):
            question = chat.session.question("activate_skill", asked)
            assert question is not None
            answer = Confirmation(question.id, Said.ALLOW_ONCE)
            results.append(chat.session.call("activate_skill", called, confirmation=answer))
        return "done"

    model = cast(trying(call("confirm")), painting=lambda _: say("Painted."))
    chat = open_chat(runtime, model, asker=Person(), tools=[HostTool("confirm", "Confirm.", confirm)])
    watch(chat, "Go.")
    codes = [result.data.get("error", {}).get("code") for result in results]
    assert (codes, results[-1].content) == (["confirmation-mismatch", "confirmation-mismatch", None], "Painted.")
    assert chat.session.active() == ()


# What is agreed to in a fork


def test_consent_for_the_session_of_a_fork_ends_with_it(runtime: Runtime) -> None:
    runtime.decide("deploy", Decision.ALLOW)
    person = Person(Said.ALLOW_FOR_SESSION, Said.REFUSE_ONCE, Said.REFUSE_ONCE)
    model = cast(trying(_SHIP, _PAINT, _SHIP), deploy=trying(_PAINT))
    happenings = watch(open_chat(runtime, model, asker=person), "Go.")
    assert _names(person) == [("painting", "deploy Skill"), ("painting", ""), ("painting", "deploy Skill")]
    assert [state for state, _ in ends(happenings, skill="deploy")] == ["done", "refused"]
    assert [state for state, _ in ends(happenings)] == ["done", "refused", "done"]
    assert [(grant.name, grant.session) for grant in runtime.grants()] == [("deploy", "")]


@pytest.mark.requirement("R95")
def test_consent_for_ever_in_a_fork_is_to_the_very_files(runtime: Runtime, root: Path) -> None:
    runtime.decide("deploy", Decision.ALLOW)
    person = Person(Said.ALLOW_ALWAYS, Said.REFUSE_ONCE)

    def change() -> Answer:
        write_skill(root, "painting", description="Paints walls.", body="Paint with poison.\n")
        return _SHIP

    model = cast(trying(_SHIP, change, _PAINT), deploy=trying(_PAINT))
    happenings = watch(open_chat(runtime, model, asker=person), "Go.")
    assert [state for state, _ in ends(happenings)] == ["done", "done", "refused"]
    assert [(grant.name, grant.given_by) for grant in runtime.grants() if grant.name == "painting"] == [
        ("painting", "person, for deploy Skill")
    ]
    assert _names(person) == [("painting", "deploy Skill"), ("painting", "")]


def test_grants_of_a_fork_are_gone_however_it_ends(runtime: Runtime) -> None:
    def explode(happening: Happening) -> None:
        if isinstance(happening.event, ForkBegun):
            raise ZeroDivisionError

    for watchers, child in (((), _shipped), ((), _fail), ((explode,), _shipped)):
        person = Person(Said.ALLOW_ONCE)
        chat = open_chat(runtime, cast(calling("deploy"), deploy=child), None, asker=person, watchers=watchers)
        with suppress(ValueError, ZeroDivisionError):
            watch(chat, "Go.")
        assert len(forks_of(list(chat.happenings()))) == person.count == 1
        assert (runtime.grants(), runtime.sessions()) == ((), ())


def test_question_in_a_fork_says_what_has_changed_since_it_began(runtime: Runtime, root: Path) -> None:
    read = call("read_skill_resource", name="deploy", path="scripts/a.sh")

    def change() -> Answer:
        (root / "deploy" / "scripts" / "a.sh").write_text("echo evil")
        return read

    person = Person(Said.ALLOW_ONCE, Said.REFUSE_ONCE)
    happenings = watch(open_chat(runtime, cast(trying(_SHIP), deploy=trying(change, read)), asker=person), "Go.")
    assert [state for state, _ in ends(happenings, skill="deploy")] == ["done", "refused"]
    first, second = person.questions
    assert (first.changes, second.former_digest) == ((), first.digest)
    assert second.changes == (FileChange("scripts/a.sh", Change.CHANGED, 6, 9),)


# What the caller was allowed


def test_consent_of_the_conversation_to_other_skills_does_not_hold_in_a_fork(runtime: Runtime) -> None:
    runtime.decide("deploy", Decision.ALLOW)
    runtime.decide("painting", Decision.ALLOW, session_id="chat")
    person = Person(Said.REFUSE_ONCE)
    model = cast(trying(_PAINT, _SHIP), deploy=trying(_PAINT))
    happenings = watch(open_chat(runtime, model, asker=person), "Go.")
    assert _names(person) == [("painting", "deploy Skill")]
    assert [state for state, _ in ends(happenings)] == ["done", "done"]
    assert [state for state, _ in ends(happenings, skill="deploy")] == ["refused"]


def test_consent_of_a_fork_does_not_hold_in_a_fork_of_it(runtime: Runtime) -> None:
    person = Person(Said.ALLOW_ONCE, Said.ALLOW_ONCE, Said.REFUSE_ONCE)
    attempt = call("read_skill_resource", name="deploy", path="SKILL.md")
    model = cast(trying(_SHIP), deploy=calling("plan"), plan=trying(attempt))
    happenings = watch(open_chat(runtime, model, asker=person), "Go.")
    assert _names(person) == [("deploy", ""), ("plan", "deploy Skill"), ("deploy", "plan Skill")]
    assert [state for state, _ in ends(happenings, skill="plan")] == ["refused"]


def test_powers_beyond_the_rights_of_a_fork_are_not_handed_over(runtime: Runtime, root: Path) -> None:
    folder = os.path.realpath(os.getcwd())
    powers = ("network", "packages:0123456789abcdef", "secret:TOKEN", f"workspace:write:{folder}")
    write_skill(root, "reader", extra='sandbox: true\npermissions: ["@workspace", "@network"]\n')
    found: dict[str, tuple[str, ...]] = {}

    def look(name: str) -> Part:
        def answer(_: object) -> Answer:
            (runs,) = [one for one in runtime.grants() if one.session.startswith("fork-") and one.act is Act.RUN]
            found[name] = runs.powers
            assert (runs.name, runs.given_by) == (name, f"{name} Skill")
            return say("Looked.")

        return answer

    for name in ("deploy", "reader"):
        runtime.decide(name, Decision.ALLOW)
        runtime.decide(name, Decision.ALLOW, session_id="chat", act=Act.RUN, powers=powers)
        watch(open_chat(runtime, cast(calling(name), **{name: look(name)})), "Go.")
    assert found == {"deploy": ("packages:0123456789abcdef", "secret:TOKEN"), "reader": powers}


# What the caller was refused


@pytest.mark.parametrize("act", [Act.USE, Act.RUN])
def test_refusal_in_the_conversation_holds_in_its_forks(runtime: Runtime, root: Path, act: Act) -> None:
    """Even of what is allowed everywhere else, and in forks of forks."""
    write_skill(root, "painting", files={"scripts/a.sh": "echo a"})
    for name in ("deploy", "plan", "painting"):
        runtime.decide(name, Decision.ALLOW)
    runtime.decide("painting", Decision.ALLOW, act=Act.RUN)
    runtime.decide("painting", Decision.REFUSE, session_id="chat", act=act)
    attempt = call("run_skill_script", name="painting", script="scripts/a.sh")
    deeper = call("activate_skill", name="plan", arguments="x")
    model = cast(trying(attempt, _SHIP), deploy=trying(attempt, deeper), plan=trying(attempt))
    happenings = watch(open_chat(runtime, model, asker=Person()), "Go.")
    assert ends(happenings)[0] == ("refused", "the user refused to run scripts/a.sh of skill 'painting'")
    assert ends(happenings, skill="deploy")[0] == ends(happenings, skill="plan")[0] == ends(happenings)[0]
    assert runtime.runs() == ()


def test_refusal_to_run_a_skill_holds_in_the_fork_that_works_it(runtime: Runtime) -> None:
    runtime.decide("deploy", Decision.ALLOW)
    runtime.decide("deploy", Decision.ALLOW, act=Act.RUN)
    runtime.decide("deploy", Decision.REFUSE, session_id="chat", act=Act.RUN)
    attempt = call("run_skill_script", name="deploy", script="scripts/a.sh")
    happenings = watch(open_chat(runtime, cast(trying(_SHIP), deploy=trying(attempt)), asker=Person()), "Go.")
    assert [state for state, _ in ends(happenings, skill="deploy")] == ["refused"]


def test_refusal_given_while_a_fork_works_wins(runtime: Runtime) -> None:
    def refuse() -> Answer:
        runtime.decide("deploy", Decision.REFUSE)
        return call("read_skill_resource", name="deploy", path="scripts/a.sh")

    attempts = (call("read_skill_resource", name="deploy", path="scripts/a.sh"), refuse, _SHIP)
    model = cast(trying(_SHIP, _SHIP), deploy=trying(*attempts))
    happenings = watch(open_chat(runtime, model, asker=Person(Said.ALLOW_ONCE)), "Go.")
    assert [state for state, _ in ends(happenings, skill="deploy")] == ["done", "refused", "refused"]
    assert [state for state, _ in ends(happenings)] == ["done", "refused"]


# Other files than those agreed to


def _rewrite(root: Path, permissions: str = "[]", *, body: str = "Evil.\n", extra: str = "sandbox: true\n") -> None:
    write_skill(root, "deploy", description="Deploys.", extra=f"{extra}permissions: {permissions}\n", body=body)


@pytest.mark.parametrize("looking", ["watched", "again"])
def test_permissions_are_those_of_the_files_agreed_to(runtime: Runtime, root: Path, looking: str) -> None:
    """Between the answer of the model and its call, the skill comes to ask for more."""
    runtime.decide("deploy", Decision.ALLOW)

    def widen() -> Answer:
        _rewrite(root, '["@network", "@workspace"]')
        if looking == "again":
            runtime.rescan()
        return _SHIP

    happenings = watch(open_chat(runtime, cast(trying(widen), deploy=_shipped), asker=Person()), "Go.")
    assert [(fork.permissions, fork.digest) for fork in forks_of(happenings)] == [((), runtime.grants()[0].digest)]


def test_skill_leaves_its_fork_only_by_files_that_were_agreed_to(runtime: Runtime, root: Path) -> None:
    runtime.decide("deploy", Decision.ALLOW)

    def leave() -> Answer:
        _rewrite(root, extra="")
        runtime.rescan()
        return _SHIP

    chat = open_chat(runtime, cast(trying(leave, _SHIP), deploy=_shipped), asker=Person(Said.REFUSE_ONCE))
    happenings = watch(chat, "Go.")
    assert [state for state, _ in ends(happenings)] == ["done", "refused"]
    assert (len(forks_of(happenings)), chat.session.active()) == (1, ())


@pytest.mark.parametrize("consent", ["ask", "never"])
@pytest.mark.parametrize("swap", ["changed", "swapped"])
def test_skill_that_changes_after_consent_and_before_its_fork_is_not_worked(
    home: Home, root: Path, consent: str, swap: str
) -> None:
    home.write_settings(f'{ONLY_MINE}[activation]\nconsent = "{consent}"\n')

    def change(happening: Happening) -> None:
        if isinstance(happening.event, ForkBegun):
            if swap == "swapped":
                (root / "deploy").rename(home.path / "former")
            _rewrite(root, '["@network"]')
            runtime.rescan()
            runtime.sync()

    with Runtime.open() as runtime:
        runtime.decide("deploy", Decision.ALLOW)
        model = cast(calling("deploy"), deploy=_shipped)
        happenings = watch(open_chat(runtime, model, watchers=[change]), "Go.")
        assert [fork.outcome for fork in find(happenings, ForkEnded)] == [Outcome.FAILED]
        assert "the subagent of skill 'deploy' failed" in told(happenings).text
        assert [request for request in model.requests if "Evil" in json.dumps(str(request.messages))] == []


def test_skill_put_in_the_place_of_another_is_asked_about(runtime: Runtime, root: Path, home: Home) -> None:
    """It has the id, the name and the folder of the one that was agreed to, and other files."""
    runtime.decide("deploy", Decision.ALLOW)
    write_skill(home.path, "evil", text=(root / "deploy" / "SKILL.md").read_text() + "Evil.\n")
    person = Person(Said.REFUSE_ONCE)

    def swap() -> Answer:
        (root / "deploy").rename(home.path / "former")
        (home.path / "evil").rename(root / "deploy")
        return _SHIP

    model = cast(trying(_SHIP, swap, _SHIP), deploy=_shipped)
    happenings = watch(open_chat(runtime, model, asker=person), "Go.")
    assert [state for state, _ in ends(happenings)] == ["done", "done", "refused"]
    first, second = forks_of(happenings)  # The second is of the copy that was made before the swap.
    assert first.digest == second.digest == runtime.grants()[0].digest
    assert [(one.digest == first.digest, one.former_digest) for one in person.questions] == [(False, first.digest)]


def test_delegation_by_a_person_works_the_files_of_this_moment(runtime: Runtime, root: Path) -> None:
    seen: list[str] = []
    model = cast(calling("deploy"), deploy=lambda request: (seen.append(str(request.messages)), say("Shipped."))[1])
    chat = open_chat(runtime, model, asker=Person(Said.ALLOW_ONCE, Said.ALLOW_ONCE))
    anyio.run(chat.delegate, "deploy", "Ship.")
    _rewrite(root, body="Ship it twice.\n")
    anyio.run(chat.delegate, "deploy", "Ship.")
    assert ["Ship it twice." in text for text in seen] == [False, True]


def test_person_is_asked_nothing_more_when_a_message_is_cancelled(runtime: Runtime) -> None:
    runtime.decide("deploy", Decision.ALLOW)
    wait = Wait()
    model = cast(lambda _: say("never"), deploy=lambda _: [wait], plan=_shipped)
    person = Person()
    chat = open_chat(runtime, model, asker=person)

    async def talk() -> list[Happening]:
        found: list[Happening] = []
        async with anyio.create_task_group() as group:

            async def listen() -> None:
                found.extend(await hear(chat, "/deploy /plan Go."))

            group.start_soon(listen)
            await wait.reached.wait()
            chat.cancel()
        return found

    happenings = anyio.run(talk)
    assert (told(happenings).outcome, person.count, len(forks_of(happenings))) == (Outcome.CANCELLED, 0, 1)
