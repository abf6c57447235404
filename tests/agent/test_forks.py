"""Forks: skills that a subagent works, with no more rights than its caller has."""

import time
from pathlib import Path

import anyio
import pytest

from prowess.activation.consent import Answer as Said
from prowess.activation.grants import Act, Decision
from prowess.activation.receipts import AskedBy
from prowess.agent.chat_model import ModelRequest
from prowess.agent.events import (
    Answered,
    Asked,
    CallEnded,
    ConsentAsked,
    Done,
    ForkEnded,
    Happening,
    SkillLoaded,
    Told,
)
from prowess.agent.messages import ToolMessage, UserMessage
from prowess.errors import Refused
from prowess.execution.rules.rights import EVERYTHING, NOTHING, Rights
from prowess.policy import WorkspaceAccess
from prowess.runtime import Runtime
from prowess.runtime.forking import pass_on
from prowess.state.conversations import Outcome
from tests.agent.conftest import OPEN
from tests.agent.conversations import ask, events_of, find, hear, open_chat, told, watch
from tests.agent.forked import CHILD, calling, forks_of, parent_and_child
from tests.agent.scripted_model import USE, Answer, ScriptedModel, Wait, call, say
from tests.runtime.opening import ONLY_MINE
from tests.runtime.people import Person
from tests.runtime.runs import Agreeable
from tests.skills_on_disk import Home, write_skill

NETWORK = '[execution]\nnetwork = "granted"\nworkspace = "write"\n'


@pytest.fixture
def root(root: Path) -> Path:
    write_skill(root, "deploy", description="Deploys.", extra="sandbox: true\n", body="Ship it with care.\n")
    write_skill(root, "plan", description="Plans.", extra="context: fork\n", body="Plan $ARGUMENTS well.\n")
    return root


# What a fork is


@pytest.mark.requirement("R93")
@pytest.mark.parametrize("name", ["deploy", "plan"])
def test_declared_skill_is_worked_by_one_subagent_whose_answer_comes_back(runtime: Runtime, name: str) -> None:
    model = parent_and_child(calling(name), lambda _: say("Shipped."))
    happenings = watch(open_chat(runtime, model), "Go.")
    (begun,) = forks_of(happenings)
    (ended,) = find(happenings, ForkEnded)
    (result,) = find(happenings, CallEnded)
    assert (begun.name, begun.depth, begun.permissions, begun.granted_by) == (name, 1, (), f"{name} Skill")
    assert (ended.outcome, ended.text, ended.steps, ended.use) == (Outcome.ANSWERED, "Shipped.", 1, USE)
    assert (result.state, result.content, result.data["fork"]) == ("done", "Shipped.", begun.fork)
    assert told(happenings).text == "Heard: Shipped."
    assert begun.call == ended.call == result.call


@pytest.mark.requirement("R93")
def test_subagent_gets_the_instructions_and_the_prompt_and_nothing_of_the_conversation(runtime: Runtime) -> None:
    model = parent_and_child(calling("plan"), lambda _: say("Planned."))
    happenings = watch(open_chat(runtime, model, instructions="Be brief."), "A secret word: plum.")
    (fork,) = forks_of(happenings)
    (request,) = [one for one in model.requests if CHILD in one.system]
    (message,) = request.messages
    assert isinstance(message, UserMessage)
    assert message.text == "Ship version 2."
    assert "Plan Ship version 2. well." in message.context
    assert request.system.startswith("Be brief.\n\nYou are a subagent: another agent has you work the skill plan")
    assert "plum" not in repr(request)
    assert [type(event).__name__ for event in events_of(happenings, within=fork.fork)] == [
        "Begun",
        "Told",
        "Asked",
        "TextHeard",
        "TextHeard",
        "Answered",
        "Done",
    ]


def test_fork_leaves_the_conversation_as_it_was(runtime: Runtime) -> None:
    model = parent_and_child(calling("deploy"), lambda _: say("Shipped."))
    chat = open_chat(runtime, model)
    happenings = watch(chat, "Go.")
    assert chat.session.active() == ()
    assert find(happenings, SkillLoaded) == []
    assert [message for message in chat.messages() if "with care" in repr(message)] == []
    again = open_chat(runtime, ScriptedModel())
    assert again.messages() == chat.messages()


def test_fork_has_a_receipt_of_its_own_with_its_parent(runtime: Runtime) -> None:
    model = parent_and_child(calling("deploy"), lambda _: say("Shipped."))
    happenings = watch(open_chat(runtime, model), "Go.")
    (fork,) = forks_of(happenings)
    (parent,) = runtime.turns("chat")
    (child,) = runtime.turns(fork.fork)
    assert (child.parent, child.skill, child.name, child.digest) == (parent.id, fork.skill, "deploy", fork.digest)
    assert (child.outcome, child.steps, child.use, child.granted_by) == (Outcome.ANSWERED, 1, USE, "deploy Skill")
    assert parent.use == USE + USE
    assert told(happenings).use == USE + USE + USE
    (receipt,) = runtime.receipts(fork.fork)
    assert (receipt.name, receipt.asked_by, receipt.is_open) == ("deploy", AskedBy.MODEL, False)


@pytest.mark.requirement("R93")
def test_skill_that_needs_a_subagent_needs_a_prompt(runtime: Runtime) -> None:
    model = parent_and_child(calling("deploy", prompt=" "), lambda _: say("never"))
    happenings = watch(open_chat(runtime, model), "Go.")
    (result,) = find(happenings, CallEnded)
    assert (result.state, result.content.split("\n")[0]) == (
        "failed",
        "skill 'deploy' is worked by a subagent, which needs a prompt",
    )
    assert forks_of(happenings) == []


def test_any_skill_can_be_delegated(runtime: Runtime) -> None:
    model = parent_and_child(calling("painting", run_in="fork"), lambda _: say("Painted."))
    happenings = watch(open_chat(runtime, model), "Go.")
    assert [fork.name for fork in forks_of(happenings)] == ["painting"]
    assert told(happenings).text == "Heard: Painted."


@pytest.mark.parametrize(("run_in", "forked"), [("fork", ["painting"]), ("here", [])])
def test_settings_say_where_skills_are_worked(home: Home, root: Path, run_in: str, forked: list[str]) -> None:
    home.write_settings(f'{OPEN}[turns]\nrun_in = "{run_in}"\n')
    with Runtime.open() as runtime:
        model = parent_and_child(calling("painting"), lambda _: say("Painted."))
        happenings = watch(open_chat(runtime, model), "Go.")
        assert [fork.name for fork in forks_of(happenings)] == forked
        properties = model.requests[0].tools[0].schema["properties"]
        assert ("run_in" in properties) == bool(forked)


def test_mentioned_skill_is_worked_before_the_model_is_asked(runtime: Runtime) -> None:
    model = parent_and_child(lambda _: say("So it is."), lambda _: say("Shipped </skill_answer>."))
    happenings = watch(open_chat(runtime, model), "/deploy version 2")
    (asked,) = [event for event in events_of(happenings) if isinstance(event, Asked)]
    assert [fork.name for fork in forks_of(happenings)] == ["deploy"]
    assert asked.text == "version 2"
    assert asked.context == '<skill_answer name="deploy">\nShipped &lt;/skill_answer>.\n</skill_answer>'
    assert told(happenings).text == "So it is."


def test_mention_without_a_word_more_asks_for_a_prompt(runtime: Runtime) -> None:
    happenings = watch(open_chat(runtime, ScriptedModel()), "/deploy")
    assert (
        told(happenings).text == "deploy is not active: skill 'deploy' is worked by a subagent, which needs a prompt."
    )


def test_program_can_delegate(runtime: Runtime) -> None:
    model = parent_and_child(lambda _: say("never"), lambda _: say("Shipped."))
    chat = open_chat(runtime, model)
    with pytest.raises(Refused) as caught:
        runtime.session("plain").delegate("deploy", "Ship.")
    assert caught.value.code == "no-forks"
    answer = anyio.run(chat.delegate, "deploy", "Ship.")
    assert (answer.text, answer.outcome) == ("Shipped.", Outcome.ANSWERED)


# Rights


@pytest.mark.requirement("R94")
def test_declared_permissions_are_granted_and_no_others(home: Home, root: Path) -> None:
    home.write_settings(f"{OPEN}{NETWORK}")
    write_skill(root, "fetch", description="Fetches.", extra='sandbox: true\npermissions: ["@network", "@read:/srv"]\n')
    with Runtime.open() as runtime:
        model = parent_and_child(calling("fetch"), lambda _: say("Fetched."))
        happenings = watch(open_chat(runtime, model), "Go.")
        _, rights = pass_on(runtime.catalog().get("fetch"), runtime.rights)
    (fork,) = forks_of(happenings)
    assert (fork.permissions, fork.granted_by) == (("@network", "@read:/srv"), "fetch Skill")
    assert rights == Rights(
        network=True,
        events=False,
        workspace=WorkspaceAccess.NONE,
        read_dirs=("/srv",),
        write_dirs=(),
        tools=(("*",),),
    )


@pytest.mark.requirement("R94")
@pytest.mark.parametrize("tag", ["@network", "@events", "@workspace", "@write:/etc", "@read:/etc"])
def test_permission_that_the_caller_lacks_is_refused_with_the_reason(runtime: Runtime, root: Path, tag: str) -> None:
    write_skill(root, "wide", description="Wants much.", extra=f'sandbox: true\npermissions: ["{tag}"]\n')
    model = parent_and_child(calling("wide"), lambda _: say("never"))
    happenings = watch(open_chat(runtime, model, rights=Rights(tools=())), "Go.")
    (result,) = find(happenings, CallEnded)
    assert (result.state, result.summary) == ("refused", f"Cannot attach permission '{tag}' - you don't have it.")
    assert forks_of(happenings) == []


@pytest.mark.requirement("R94")
def test_malformed_permission_is_told(runtime: Runtime, root: Path) -> None:
    write_skill(root, "odd", description="Odd.", extra='sandbox: true\npermissions: ["read:/tmp"]\n')
    model = parent_and_child(calling("odd"), lambda _: say("never"))
    (result,) = find(watch(open_chat(runtime, model), "Go."), CallEnded)
    assert result.content.startswith(
        "Permission must be @network, @events, @workspace, @read:<path>, or @write:<path>."
    )


@pytest.mark.requirement("R95")
def test_grants_of_a_fork_are_attributed_to_its_skill(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)
    grants: list[tuple[str, str, Act, Decision]] = []

    def child(request: ModelRequest) -> Answer:
        (fork,) = [one for one in runtime.grants() if one.session.startswith("fork-")]
        grants.append((fork.name, fork.given_by, fork.act, fork.decision))
        return say("Shipped.")

    with Runtime.open() as runtime:
        person = Person(Said.ALLOW_ONCE)
        happenings = watch(open_chat(runtime, parent_and_child(calling("deploy"), child), asker=person), "Go.")
        assert grants == [("deploy", "deploy Skill", Act.USE, Decision.ALLOW)]
        assert person.count == 1
        assert told(happenings).text == "Heard: Shipped."
        assert runtime.grants() == ()


@pytest.mark.requirement("R95")
def test_question_of_a_fork_says_on_whose_behalf_it_is(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)
    write_skill(root, "other", description="Another.")

    def child(request: ModelRequest) -> Answer:
        is_done = isinstance(request.messages[-1], ToolMessage)
        return say("Shipped.") if is_done else call("activate_skill", name="other")

    with Runtime.open() as runtime:
        person = Person(Said.ALLOW_ONCE, Said.ALLOW_ALWAYS)
        happenings = watch(open_chat(runtime, parent_and_child(calling("deploy"), child), asker=person), "Go.")
        assert [(one.name, one.on_behalf_of) for one in person.questions] == [
            ("deploy", ""),
            ("other", "deploy Skill"),
        ]
        assert [grant.given_by for grant in runtime.grants()] == ["person, for deploy Skill"]
    asked = [one for one in happenings if isinstance(one.event, ConsentAsked)]
    assert [bool(one.within) for one in asked] == [False, True]


def test_refused_skill_is_not_forked(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)
    with Runtime.open() as runtime:
        model = parent_and_child(calling("deploy"), lambda _: say("never"))
        happenings = watch(open_chat(runtime, model, asker=Person(Said.REFUSE_ONCE)), "Go.")
    (result,) = find(happenings, CallEnded)
    assert (result.state, forks_of(happenings)) == ("refused", [])


def test_subagent_works_the_files_that_were_agreed_to(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)

    class Changing(Agreeable):
        def ask(self, question: object) -> Said | None:
            (root / "deploy" / "SKILL.md").write_text("---\nname: deploy\ndescription: D.\nsandbox: true\n---\nEvil.\n")
            return super().ask(question)

    with Runtime.open() as runtime:
        model = parent_and_child(calling("deploy"), lambda request: say(repr(request.messages)))
        happenings = watch(open_chat(runtime, model, asker=Changing()), "Go.")
    (result,) = find(happenings, CallEnded)
    assert "Ship it with care." in result.content
    assert "Evil" not in result.content


def test_rights_are_never_wider_than_the_callers(root: Path, runtime: Runtime) -> None:
    tags = '["@network", "@events", "@workspace", "@read:/", "@write:/"]'
    write_skill(root, "wide", description="Wants all.", extra=f"sandbox: true\npermissions: {tags}\n")
    skill = runtime.catalog().get("wide")
    _, rights = pass_on(skill, EVERYTHING)
    assert rights == EVERYTHING
    with pytest.raises(Refused):
        pass_on(skill, NOTHING)


# Bounds


def test_skill_cannot_fork_itself(runtime: Runtime) -> None:
    def child(request: ModelRequest) -> Answer:
        last = request.messages[-1]
        return (
            say(last.content)
            if isinstance(last, ToolMessage)
            else call("activate_skill", name="deploy", run_in="fork", arguments="Again.")
        )

    happenings = watch(open_chat(runtime, parent_and_child(calling("deploy"), child)), "Go.")
    assert len(forks_of(happenings)) == 1
    assert "skill 'deploy' is being worked by this very subagent" in told(happenings).text


def test_two_skills_cannot_fork_each_other_for_ever(runtime: Runtime) -> None:
    def child(request: ModelRequest) -> Answer:
        last = request.messages[-1]
        if isinstance(last, ToolMessage):
            return say(last.content)
        return call("activate_skill", name="plan" if "skill deploy" in request.system else "deploy", arguments="Go on.")

    happenings = watch(open_chat(runtime, parent_and_child(calling("deploy"), child)), "Go.")
    assert [(fork.name, fork.depth) for fork in forks_of(happenings)] == [("deploy", 1), ("plan", 2)]
    assert "is being worked by this very subagent" in told(happenings).text


def test_forks_go_no_deeper_than_the_settings_say(home: Home, root: Path) -> None:
    home.write_settings(f"{OPEN}[turns]\nfork_depth = 1\n")

    def child(request: ModelRequest) -> Answer:
        last = request.messages[-1]
        return (
            say(last.content) if isinstance(last, ToolMessage) else call("activate_skill", name="plan", arguments="x")
        )

    with Runtime.open() as runtime:
        happenings = watch(open_chat(runtime, parent_and_child(calling("deploy"), child)), "Go.")
    assert len(forks_of(happenings)) == 1
    assert "subagents may go 1 deep, and skill 'plan' would be one more" in told(happenings).text


def test_forks_of_a_turn_are_counted_together(home: Home, root: Path) -> None:
    home.write_settings(f"{OPEN}[turns]\nmax_forks = 2\n")

    def parent(request: ModelRequest) -> Answer:
        results = [one for one in request.messages if isinstance(one, ToolMessage)]
        if len(results) == 3:
            return say(results[-1].content)
        return call("activate_skill", f"call-{len(results)}", name="deploy", arguments="Go.")

    with Runtime.open() as runtime:
        chat = open_chat(runtime, parent_and_child(parent, lambda _: say("ok")))
        happenings = watch(chat, "Go.")
        assert len(forks_of(happenings)) == 2
        assert told(happenings).text.startswith("this turn has had its 2 subagents")


@pytest.mark.slow
def test_fork_is_ended_after_its_time(home: Home, root: Path) -> None:
    home.write_settings(f"{OPEN}[turns]\nfork_seconds = 1\n")
    with Runtime.open() as runtime:
        model = parent_and_child(calling("deploy"), lambda _: [Wait()])
        happenings = watch(open_chat(runtime, model), "Go.")
        (ended,) = find(happenings, ForkEnded)
        assert ended.outcome is Outcome.CANCELLED
        assert told(happenings).text.startswith("Heard: the subagent of skill 'deploy' was ended after 1 seconds")
        assert told(happenings).outcome is Outcome.ANSWERED
        (child,) = runtime.turns(ended.fork)
        assert child.outcome is Outcome.CANCELLED


@pytest.mark.slow
def test_clock_of_a_fork_stands_still_while_a_person_thinks(home: Home, root: Path) -> None:
    home.write_settings(f"{ONLY_MINE}[turns]\nfork_seconds = 1\n")
    write_skill(root, "other", description="Another.")

    class Slow(Agreeable):
        def ask(self, question: object) -> Said | None:
            if self.questions:
                time.sleep(1.5)
            return super().ask(question)

    def child(request: ModelRequest) -> Answer:
        is_done = isinstance(request.messages[-1], ToolMessage)
        return say("Shipped.") if is_done else call("activate_skill", name="other")

    with Runtime.open() as runtime:
        person = Slow()
        happenings = watch(open_chat(runtime, parent_and_child(calling("deploy"), child), asker=person), "Go.")
    assert [question.name for question in person.questions] == ["deploy", "other"]
    assert told(happenings).text == "Heard: Shipped."


def test_failing_fork_is_told_to_its_parent(runtime: Runtime) -> None:
    from prowess.agent.chat_model import ModelFailure

    model = parent_and_child(calling("deploy"), lambda _: [ModelFailure("the provider is down")])
    happenings = watch(open_chat(runtime, model), "Go.")
    assert told(happenings).text.startswith("Heard: the subagent of skill 'deploy' failed: the provider is down")


def test_cancelled_parent_cancels_its_forks(runtime: Runtime) -> None:
    wait = Wait()
    chat = open_chat(runtime, parent_and_child(calling("deploy"), lambda _: [wait]))

    async def talk() -> list[Happening]:
        found: list[Happening] = []
        async with anyio.create_task_group() as group:

            async def listen() -> None:
                found.extend(await hear(chat, "Go."))

            group.start_soon(listen)
            await wait.reached.wait()
            chat.cancel()
        return found

    happenings = anyio.run(talk)
    (ended,) = find(happenings, ForkEnded)
    (result,) = find(happenings, CallEnded)
    assert ended.outcome is Outcome.CANCELLED
    assert result.state == "cancelled"
    assert [event.outcome for event in find(happenings, Done)] == [Outcome.CANCELLED, Outcome.CANCELLED]
    assert [turn.outcome for turn in runtime.turns(ended.fork)] == [Outcome.CANCELLED]
    assert runtime.sessions() == ()
    again = ScriptedModel(say("Well."))
    assert [answer.text for answer in ask(open_chat(runtime, again), "And now?")] == ["Well."]


def test_reload_shows_the_events_of_forks_again(runtime: Runtime) -> None:
    model = parent_and_child(calling("deploy"), lambda _: say("Shipped."))
    happenings = watch(open_chat(runtime, model), "Go.")
    again = open_chat(runtime, ScriptedModel()).happenings()
    assert list(again) == [one for one in happenings if one.number is not None]
    (fork,) = forks_of(happenings)
    assert [type(event) for event in events_of(again, within=fork.fork)][1:4] == [Told, Asked, Answered]
