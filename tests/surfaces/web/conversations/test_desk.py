"""Conversations at a desk: turns that outlive those who watch, and the processes that work on them."""

import asyncio
from pathlib import Path

import anyio
import pytest

from prowess.agent.events import Answered, Begun, Done, Resumed
from prowess.errors import Refused, SettingsError
from prowess.runtime import Runtime
from prowess.state.conversations import Outcome
from prowess.surfaces.http.options import HttpLimits, HttpOptions
from prowess.surfaces.web.conversations.desk import Desk
from tests.agent.conftest import OPEN
from tests.agent.scripted_model import ScriptedModel, Wait, call, calls, say
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.web.conversations.desks import at_desk, log_of, question_in, shown, until, watched

pytestmark = pytest.mark.slow

_NOT_KEPT = f'{OPEN}sessions = "task"\n'


def test_message_is_answered_while_nobody_watches(runtime: Runtime) -> None:
    async def talk() -> None:
        async with at_desk(runtime, ScriptedModel(say("It is done."))) as desk:
            one = await desk.conversation("chat")
            turn = await desk.say(one, "Do it.", model="")
            await until(lambda: not one.is_busy)
            assert [h.turn for h in log_of(one) if isinstance(h.event, Done)] == [turn]
            assert "It is done." in shown(one)

    anyio.run(talk)


def test_conversation_is_listed_as_soon_as_its_first_message_is_taken(runtime: Runtime, other: Runtime) -> None:
    def rows(desk: Desk, query: str = "") -> list[tuple[str, str, bool]]:
        return [(one.id, one.title, is_busy) for one, is_busy in desk.listed(query)]

    async def talk() -> None:
        async with at_desk(runtime, ScriptedModel(say("Painted."))) as desk, at_desk(other, ScriptedModel()) as second:
            one = await desk.conversation("chat")
            await desk.say(one, "Paint the FENCE.", model="")
            assert log_of(one) == []  # The turn has had no chance to begin.
            for where in (desk, second):
                assert rows(where) == rows(where, " fence ") == [("chat", "Paint the FENCE.", True)]
                assert rows(where, "hedge") == []
            await until(lambda: not one.is_busy)
            assert rows(desk) == rows(desk, "fence") == [("chat", "Paint the FENCE.", False)]

    anyio.run(talk)


def test_second_message_is_refused_while_one_is_answered_here_or_elsewhere(runtime: Runtime, other: Runtime) -> None:
    async def talk() -> None:
        wait = Wait()
        async with at_desk(runtime, ScriptedModel([wait])) as desk, at_desk(other, ScriptedModel()) as second:
            one = await desk.conversation("chat")
            await desk.say(one, "Do it.", model="")
            await wait.reached.wait()
            for where in (desk, second):
                with pytest.raises(Refused) as refused:
                    await where.say(await where.conversation("chat"), "And this.", model="")
                assert refused.value.code == "chat-busy"
            wait.go_on.set()
            await until(lambda: not one.is_busy)

    anyio.run(talk)


def test_unfinished_answer_is_shown_elsewhere_and_can_be_stopped_there(runtime: Runtime, other: Runtime) -> None:
    async def talk() -> None:
        wait = Wait()
        model = ScriptedModel(calls(say("Half of it"), [wait]))
        async with at_desk(runtime, model) as desk, at_desk(other, ScriptedModel()) as second:
            one = await desk.conversation("chat")
            await desk.say(one, "Do it.", model="")
            await wait.reached.wait()
            async with watched(second) as elsewhere:
                await until(lambda: "Half of it" in shown(elsewhere))
                assert elsewhere.is_busy
                assert await elsewhere.turns.cancel()
                await until(lambda: not elsewhere.is_busy)
            (done,) = [h.event for h in log_of(one) if isinstance(h.event, Done)]
            assert done.outcome is Outcome.CANCELLED

    anyio.run(talk)


def test_turn_that_a_stopped_process_lets_go_is_gone_on_with_elsewhere(runtime: Runtime, other: Runtime) -> None:
    async def talk() -> None:
        wait = Wait()
        async with at_desk(other, ScriptedModel(say("All of it."))) as second, watched(second) as elsewhere:
            async with at_desk(runtime, ScriptedModel(calls(say("Half of it"), [wait]))) as desk:
                await desk.say(await desk.conversation("chat"), "Do it.", model="")
                await wait.reached.wait()
            await until(lambda: len([h for h in log_of(elsewhere) if isinstance(h.event, Done)]) == 1)
            await until(lambda: not elsewhere.is_busy)
            kinds = [type(h.event) for h in log_of(elsewhere)]
            assert [kinds.count(kind) for kind in (Begun, Resumed, Answered, Done)] == [1, 1, 1, 1]
            page = shown(elsewhere)
            assert ("All of it." in page, "Half of it" in page, page.count("Do it.")) == (True, False, 1)

    anyio.run(talk)


def test_conversation_shows_the_same_after_it_was_left(runtime: Runtime, other: Runtime) -> None:
    async def talk() -> None:
        model = ScriptedModel(call("activate_skill", "first", name="painting"), say("Painted."))
        async with at_desk(runtime, model) as desk, at_desk(other, ScriptedModel()) as second:
            one = await desk.conversation("chat")
            await desk.say(one, "Paint.", model="")
            await until(lambda: not one.is_busy)
            again = await second.conversation("chat")
            assert shown(again) == shown(one)
            assert [skill.name for skill in again.active] == ["painting"]

    anyio.run(talk)


def test_skill_is_switched_off_by_hand(runtime: Runtime) -> None:
    async def talk() -> None:
        model = ScriptedModel(call("activate_skill", "first", name="painting"), say("Painted."))
        async with at_desk(runtime, model) as desk:
            one = await desk.conversation("chat")
            await desk.say(one, "Paint.", model="")
            await until(lambda: not one.is_busy)
            assert await one.deactivate("painting") is not None
            assert one.active == ()

    anyio.run(talk)


@pytest.mark.requirement("K1", "R126")
def test_question_is_answered_once_by_whoever_is_first_on_any_process(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)

    async def talk(runtime: Runtime, other: Runtime) -> None:
        model = ScriptedModel(call("activate_skill", "first", name="painting"), say("Painted."))
        async with at_desk(runtime, model) as desk, at_desk(other, ScriptedModel()) as second, watched(second) as there:
            one = await desk.conversation("chat")
            await desk.say(one, "Paint.", model="")
            question = await question_in(there)
            tries = [conversation.answer(question.id, "allow-once") for conversation in (one, there) for _ in range(8)]
            answered = await asyncio.gather(*tries)
            assert sum(mine for _, mine in answered) == 1
            assert {settled.answer for settled, _ in answered if settled} == {"allow-once"}
            await until(lambda: not one.is_busy)
            assert await there.open_questions() == ()
            assert [skill.name for skill in one.active] == ["painting"]
            assert await there.answer("no-such-question", "allow-once") == (None, False)

    with Runtime.open() as runtime, Runtime.open() as other:
        anyio.run(talk, runtime, other)


def test_question_that_nobody_answers_in_time_is_a_no(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)

    async def talk(runtime: Runtime) -> None:
        model = ScriptedModel(call("activate_skill", "first", name="painting"), say("Without."))
        options = HttpOptions(model=model.name, limits=HttpLimits(question_seconds=0.3))
        async with at_desk(runtime, model, options=options) as desk:
            one = await desk.conversation("chat")
            await desk.say(one, "Paint.", model="")
            await until(lambda: not one.is_busy)
            assert one.active == ()
            assert "nobody" in shown(one)

    with Runtime.open() as runtime:
        anyio.run(talk, runtime)


def test_stop_ends_a_turn_that_waits_for_an_answer(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)

    async def talk(runtime: Runtime) -> None:
        async with at_desk(runtime, ScriptedModel(call("activate_skill", "first", name="painting"))) as desk:
            one = await desk.conversation("chat")
            await desk.say(one, "Paint.", model="")
            await question_in(one)
            assert await one.turns.cancel()
            await until(lambda: not one.is_busy)
            assert await one.open_questions() == ()

    with Runtime.open() as runtime:
        anyio.run(talk, runtime)


def test_deleted_conversation_is_gone_with_what_was_under_way(runtime: Runtime) -> None:
    async def talk() -> None:
        wait = Wait()
        async with at_desk(runtime, ScriptedModel([wait])) as desk:
            one = await desk.conversation("chat")
            await desk.say(one, "Do it.", model="")
            await wait.reached.wait()
            assert await desk.forget("chat")
            assert desk.listed() == []
            assert log_of(await desk.conversation("chat")) == []
            assert not await desk.forget("never")

    anyio.run(talk)


def test_conversation_that_is_not_kept_is_renamed_while_it_lasts(home: Home, root: Path) -> None:
    home.write_settings(_NOT_KEPT)

    async def talk(runtime: Runtime) -> None:
        async with at_desk(runtime, ScriptedModel(say("Done."), say("Again."))) as desk:
            one = await desk.conversation("chat")
            assert not await desk.rename("chat", "Nothing was said in it")
            for message, title, shown_title in (("Do it.", "Walls\nof it", "Walls"), ("And again.", "", "Do it.")):
                await desk.say(one, message, model="")
                await until(lambda: not one.is_busy)
                assert await desk.rename("chat", title)
                assert [listed.title for listed, _ in desk.listed()] == [one.title] == [shown_title]
            assert not await desk.rename("never", "x")

    with Runtime.open() as runtime:
        anyio.run(talk, runtime)


def test_conversation_that_is_not_kept_makes_room_when_nobody_has_watched_it_for_longest(
    home: Home, root: Path
) -> None:
    home.write_settings(_NOT_KEPT)

    async def talk(runtime: Runtime) -> None:
        async with at_desk(runtime, ScriptedModel(say("Done."), say("Done."))) as desk, watched(desk, "first") as first:
            for chat_id in ("first", "second"):
                one = await desk.conversation(chat_id)
                await desk.say(one, "Do it.", model="")
                await until(lambda one=one: not one.is_busy)
            second = await desk.conversation("second")
            for number in range(498):
                (await desk.conversation(f"later-{number}")).title = "Something was said."
            await desk.conversation("new")
            assert (first.is_gone, second.is_gone) == (False, True)
            listed = [one.id for one, _ in desk.listed(limit=1_000)]
            assert ("first" in listed, "second" in listed, "later-0" in listed) == (True, False, True)

    with Runtime.open() as runtime:
        anyio.run(talk, runtime)


def test_conversations_that_are_not_kept_are_listed_by_their_last_message(home: Home, root: Path) -> None:
    home.write_settings(_NOT_KEPT)

    async def talk(runtime: Runtime) -> None:
        async with at_desk(runtime, ScriptedModel(*(say("Done.") for _ in range(4)))) as desk:
            for chat_id in ("first", "second", "third", "first"):
                one = await desk.conversation(chat_id)
                await desk.say(one, "Do it.", model="")
                await until(lambda one=one: not one.is_busy)
            assert [one.id for one, _ in desk.listed()] == ["first", "third", "second"]
            assert [one.id for one, _ in desk.listed("do", limit=2)] == ["first", "third"]
            records = [one for one, _ in desk.listed()]
            assert all(one.created_at <= one.used_at for one in records)
            assert records == [one for one, _ in desk.listed()]

    with Runtime.open() as runtime:
        anyio.run(talk, runtime)


def test_only_so_many_messages_are_answered_at_once(runtime: Runtime) -> None:
    async def talk() -> None:
        wait = Wait()
        model = ScriptedModel([wait])
        options = HttpOptions(model=model.name, limits=HttpLimits(turns=1))
        async with at_desk(runtime, model, options=options) as desk:
            one = await desk.conversation("first")
            await desk.say(one, "Do it.", model="")
            with pytest.raises(Refused) as refused:
                await desk.say(await desk.conversation("second"), "Do it.", model="")
            assert refused.value.code == "too-many-turns"
            wait.go_on.set()
            await until(lambda: not one.is_busy)

    anyio.run(talk)


def test_skill_that_appears_on_disk_is_announced(runtime: Runtime, root: Path) -> None:
    async def talk() -> None:
        async with at_desk(runtime, ScriptedModel()) as desk:
            with desk.bells.hung(asyncio.Event()):
                await until(lambda: desk.revisions.catalog > 0)
                before = desk.revisions.catalog
                write_skill(root, "glazing", description="Glazes windows.")
                await until(lambda: desk.revisions.catalog > before)

    anyio.run(talk)


class WithoutTools(ScriptedModel):
    """A model that cannot call tools."""

    calls_tools = False


@pytest.mark.requirement("R127", "R66")
def test_model_without_tools_has_no_skills_and_the_page_says_so(runtime: Runtime) -> None:
    async def talk() -> None:
        model = WithoutTools(say("No skills here."), say("With red."))
        async with at_desk(runtime, model) as desk:
            one = await desk.conversation("chat")
            for message in ("Paint.", "/painting Paint."):
                await desk.say(one, message, model="")
                await until(lambda: not one.is_busy)
            assert "cannot call tools" in shown(one)
            assert [bool(request.tools) for request in model.requests] == [False, False]
            assert ["Paint with red." in request.system for request in model.requests] == [False, True]

    anyio.run(talk)


def test_model_that_cannot_be_used_keeps_nobody_from_reading(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    async def talk() -> None:
        desk = Desk(runtime, HttpOptions(model="openai:none"))
        await desk.open()
        try:
            one = await desk.conversation("chat")
            with pytest.raises(SettingsError):
                await desk.say(one, "Do it.", model="")
            assert not one.is_busy
            await desk.say(one, "/painting", model="offline")
            await until(lambda: not one.is_busy)
            assert "painting" in shown(one)
        finally:
            await desk.close()

    anyio.run(talk)
