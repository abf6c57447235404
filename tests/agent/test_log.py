"""The log of a conversation that others write as well: what is told here gives way to what stands there."""

from pathlib import Path

import anyio
import pytest

from prowess.agent.chat import TurnAnswer
from prowess.agent.chat_model import TextPiece
from prowess.agent.events import Begun, CallEnded, Done, Event, Failed, Happening, TextHeard, Told
from prowess.agent.messages import UserMessage
from prowess.errors import WorldError
from prowess.runtime import Runtime
from prowess.state.conversations import LoggedEvent, Outcome
from tests.agent.conversations import ask, find, open_chat, told, watch
from tests.agent.scripted_model import ScriptedModel, Wait, call, calls, say
from tests.agent.valid_requests import find_faults


def _code(answer: TurnAnswer) -> str:
    assert answer.outcome is Outcome.FAILED
    assert answer.error is not None
    return answer.error.code


def test_whoever_was_too_late_goes_on_from_what_the_other_has_said(root: Path) -> None:
    with Runtime.open() as first, Runtime.open() as second:
        wait = Wait()
        late = ScriptedModel([*call("activate_skill", name="painting")], [wait, *say("here")], say("again"))
        here = open_chat(first, late)
        there = open_chat(second, ScriptedModel(say("there")))
        heard: list[Happening] = []

        async def listen() -> None:
            async for happening in here.stream("1"):
                heard.append(happening)  # noqa: PERF401 - what comes before the error counts too

        async def talk() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(listen)
                await wait.reached.wait()
                await there.say("2")
                wait.go_on.set()

        anyio.run(talk)
        assert [event.code for event in find(heard, Failed)] == ["conversation-moved"]
        assert told(heard).outcome is Outcome.FAILED
        assert [turn.is_open for turn in first.turns("chat")] == [False, False]
        assert here.messages() == there.messages()
        ask(here, "3")
        assert late.requests[-1].messages == there.messages()[:-1]
        assert late.requests[-1].system == late.requests[0].system
        numbers = [happening.number for happening in there.happenings()]
        assert numbers == list(range(1, len(numbers) + 1))


def test_call_is_not_made_by_whoever_is_too_late(root: Path) -> None:
    with Runtime.open() as first, Runtime.open() as second:
        wait = Wait()
        here = open_chat(first, ScriptedModel([wait, *call("activate_skill", name="painting")]))
        there = open_chat(second, ScriptedModel(say("there")))

        async def lose() -> None:
            assert _code(await here.say("1")) == "conversation-moved"

        async def talk() -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(lose)
                await wait.reached.wait()
                await there.say("2")
                wait.go_on.set()

        anyio.run(talk)
        assert here.session.active() == ()


def test_conversation_that_was_forgotten_begins_anew(runtime: Runtime) -> None:
    model = ScriptedModel(script=lambda _: say("Yes."))
    chat = open_chat(runtime, model)
    ask(chat, "One.")
    assert runtime.store.forget_conversation(user=chat.session.key.user, session="chat")
    happenings = watch(chat, "Two.")
    assert len(find(happenings, Told)) == 1
    assert model.requests[-1].messages == (UserMessage("Two."),)
    assert model.requests[-1].system == model.requests[0].system
    assert [one.number for one in chat.happenings()] == list(range(1, len(chat.happenings()) + 1))


def test_what_was_said_in_a_task_can_be_forgotten_and_what_is_kept_cannot(runtime: Runtime) -> None:
    for chat_id, left in ((None, 0), ("chat", 2)):
        model = ScriptedModel(script=lambda _: say("Yes."))
        chat = open_chat(runtime, model, chat_id)
        ask(chat, "One.")
        chat.forget()
        assert (len(chat.messages()), bool(chat.happenings())) == (left, bool(left))
        ask(chat, "Two.")
        assert model.requests[-1].messages[left:] == (UserMessage("Two."),)
        assert model.requests[-1].system == model.requests[0].system


def test_conversation_that_is_forgotten_in_the_middle_of_a_turn_begins_anew_after_it(runtime: Runtime) -> None:
    wait = Wait()
    model = ScriptedModel([wait, *say("Yes.")], say("Well."))
    chat = open_chat(runtime, model)

    async def lose() -> None:
        assert _code(await chat.say("One.")) == "conversation-moved"

    async def talk() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(lose)
            await wait.reached.wait()
            runtime.store.forget_conversation(user=chat.session.key.user, session="chat")
            wait.go_on.set()
        assert (await chat.say("Two.")).text == "Well."

    anyio.run(talk)
    assert model.requests[-1].messages == (UserMessage("Two."),)


def test_what_is_told_can_be_read_while_the_turn_goes_on(runtime: Runtime) -> None:
    wait = Wait()
    chat = open_chat(runtime, ScriptedModel([*say("One. "), wait, *say("Two.")]))
    seen: list[tuple[object, ...]] = []

    async def talk() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(chat.say, "Hi.")
            await wait.reached.wait()
            seen.append(chat.messages())
            kinds = [type(one.event).__name__ for one in chat.happenings()]
            assert kinds == ["Begun", "Told", "Asked"]
            wait.go_on.set()

    anyio.run(talk)
    assert seen == [(UserMessage("Hi."),)]


def test_event_that_nobody_can_read_is_told_and_never_left_out(runtime: Runtime) -> None:
    model = ScriptedModel(script=lambda _: say("Yes."))
    chat = open_chat(runtime, model)
    ask(chat, "One.")
    key = chat.session.key
    last = runtime.store.last_event(user=key.user, session=key.session)
    event = LoggedEvent(last + 1, "turn", "dream", '{"event":"dream"}', 1.0)
    assert runtime.store.append_events(user=key.user, session=key.session, events=[event])
    for _ in range(2):
        with pytest.raises(WorldError) as caught:
            ask(chat, "Two.")
        assert caught.value.code == "log-unreadable"
    assert len(model.requests) == 1


@pytest.mark.parametrize("kind", [TextHeard, Done, Begun])
def test_watcher_that_fails_is_told_of_and_leaves_the_conversation_whole(
    runtime: Runtime, kind: type[Event], caplog: pytest.LogCaptureFixture
) -> None:
    def stumble(happening: Happening) -> None:
        if isinstance(happening.event, kind):
            raise ZeroDivisionError

    model = ScriptedModel(script=lambda _: say("Yes."))
    heard: list[Happening] = []
    (answer,) = ask(open_chat(runtime, model, watchers=[stumble, heard.append]), "One.")
    assert (answer.text, told(heard).text) == ("Yes.", "Yes.")
    assert "a watcher of conversation events failed" in caplog.text
    assert [turn.is_open for turn in runtime.turns("chat")] == [False]
    chat = open_chat(runtime, model)
    ask(chat, "Two.")
    kinds = [type(one.event) for one in chat.happenings()]
    assert (kinds.count(Begun), kinds.count(Done)) == (2, 2)
    assert find_faults(chat.messages()) == []


def test_model_that_stumbles_is_raised_and_leaves_the_conversation_whole(runtime: Runtime) -> None:
    chat = open_chat(runtime, ScriptedModel([TextPiece("Half"), ZeroDivisionError()], say("Yes.")))
    with pytest.raises(ZeroDivisionError):
        ask(chat, "One.")
    assert [turn.outcome for turn in runtime.turns("chat")] == [Outcome.FAILED]
    assert [answer.text for answer in ask(chat, "Two.")] == ["Yes."]
    assert chat.messages()[:2] == (UserMessage("One."), UserMessage("Two."))


# Skills that are active, and whose instructions the log does not hold


def test_skill_that_was_switched_on_elsewhere_comes_with_the_next_message(runtime: Runtime) -> None:
    runtime.session("chat").activate("painting")
    model = ScriptedModel(script=lambda _: say("Yes."))
    chat = open_chat(runtime, model)
    ask(chat, "One.", "Two.")
    first, second = (request.messages[-1] for request in model.requests)
    assert isinstance(first, UserMessage)
    assert isinstance(second, UserMessage)
    assert first.context.count("Paint with red.") == 1
    assert first.context.endswith("Active skills: painting. Their instructions hold; they need not be activated again.")
    assert second.context == ""
    with Runtime.open() as other:
        again = ScriptedModel(say("Yes."))
        ask(open_chat(other, again), "Three.")
    assert repr(again.requests[-1].messages).count("Paint with red.") == 1


def test_skill_that_a_model_without_tools_had_is_told_as_active_before(runtime: Runtime) -> None:
    without = ScriptedModel(say("a"))
    without.calls_tools = False
    chat = open_chat(runtime, without)
    ask(chat, "/painting the wall")
    model = ScriptedModel(say("b"), say("c"))
    chat.use_model(model)
    ask(chat, "And now?", "And then?")
    before = "Active before: painting. Activate them again before you go by them."
    assert model.requests[-1].messages[2] == UserMessage("And now?", before)
    assert model.requests[-1].messages[-1] == UserMessage("And then?")


def test_skill_of_a_turn_that_was_too_late_comes_with_the_next_message(root: Path) -> None:
    with Runtime.open() as first, Runtime.open() as second:
        both = calls(call("activate_skill", name="painting"), call("search_skills", query="walls"))
        late = ScriptedModel(both, say("again"))
        is_told: list[bool] = []

        def continue_elsewhere(happening: Happening) -> None:
            if isinstance(happening.event, CallEnded) and not is_told:
                key = here.session.key
                last = second.store.last_event(user=key.user, session=key.session)
                event = LoggedEvent(last + 1, "turn", "notice", '{"event":"notice","text":"Here I am."}', 1.0)
                is_told.append(second.store.append_events(user=key.user, session=key.session, events=[event]))

        here = open_chat(first, late, watchers=[continue_elsewhere])
        (answer,) = ask(here, "1")
        assert _code(answer) == "conversation-moved"
        assert is_told == [True]
        assert [receipt.name for receipt in here.session.active()] == ["painting"]
        ask(here, "2")
        assert repr(late.requests[-1].messages).count("Paint with red.") == 1
