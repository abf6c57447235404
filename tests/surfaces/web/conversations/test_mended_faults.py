"""Faults that a look with fresh eyes has found: what goes wrong in one place, or late, harms nothing else."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from prowess.agent.events import Begun, ConsentAnswered, Done, Failed, Resumed
from prowess.errors import Refused, ToolInputError, WorldError
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.state.conversations import Outcome
from prowess.state.live_turns import LiveTurn
from prowess.state.opening import open_store
from prowess.surfaces.http.options import HttpLimits, HttpOptions
from prowess.surfaces.web.conversations.desk import Desk
from prowess.surfaces.web.conversations.following import follow_blocks, follow_turn
from prowess.surfaces.web.conversations.live_conversation import LiveConversation
from prowess.surfaces.web.scene.environment import make_environment
from prowess.surfaces.web.scene.rendering import BlockRenderer
from tests.agent.conftest import OPEN
from tests.agent.scripted_model import ScriptedModel, Wait, call, calls, say
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home
from tests.surfaces.web.conversations.desks import at_desk, log_of, question_in, shown, until, watched
from tests.surfaces.web.conversations.flaky_store import FlakyStore

pytestmark = pytest.mark.slow


class Named(ScriptedModel):
    """A model with a name of its own."""

    def __init__(self, name: str, *answers: object) -> None:
        super().__init__(*answers)  # type: ignore[arg-type]
        self.name = name


@pytest.fixture
def store(root: Path) -> FlakyStore:
    settings = load_settings()
    return FlakyStore(open_store("", state_file=settings.state_file))


@pytest.fixture
def shaky(store: FlakyStore) -> Iterator[Runtime]:
    """A runtime whose store is away at times."""
    with Runtime(load_settings(), store=store) as runtime:  # type: ignore[arg-type]
        yield runtime


def kinds(one: LiveConversation) -> list[str]:
    return [type(happening.event).__name__ for happening in log_of(one)]


def test_model_that_was_chosen_goes_on_elsewhere(runtime: Runtime, other: Runtime) -> None:
    async def talk() -> None:
        wait = Wait()
        clever, usual = Named("clever", say("by clever")), Named("usual")
        async with at_desk(other, usual, clever) as second, watched(second) as elsewhere:
            async with at_desk(runtime, Named("usual"), Named("clever", [wait])) as desk:
                await desk.say(await desk.conversation("chat"), "Do it.", model="clever")
                await wait.reached.wait()
            await until(lambda: "Done" in kinds(elsewhere) and not elsewhere.is_busy)
            assert (len(clever.requests), len(usual.requests)) == (1, 0)

    anyio.run(talk)


def test_model_that_cannot_be_used_elsewhere_is_replaced_and_the_page_says_so(runtime: Runtime, other: Runtime) -> None:
    async def talk() -> None:
        wait = Wait()
        async with at_desk(other, Named("usual", say("by the usual one"))) as second, watched(second) as elsewhere:
            async with at_desk(runtime, Named("usual"), Named("clever", [wait])) as desk:
                await desk.say(await desk.conversation("chat"), "Do it.", model="clever")
                await wait.reached.wait()
            await until(lambda: "Done" in kinds(elsewhere) and not elsewhere.is_busy)
            assert "by the usual one" in shown(elsewhere)
            assert "clever cannot be used here" in shown(elsewhere)

    anyio.run(talk)


def test_former_holder_that_was_slow_does_not_end_the_turn_of_the_new_one(runtime: Runtime, other: Runtime) -> None:
    slow = HttpOptions(model="scripted", limits=HttpLimits(beat_seconds=1_000.0))
    quick = HttpOptions(model="scripted", limits=HttpLimits(beat_seconds=0.1, silence_seconds=0.5))

    async def talk() -> None:
        late, wait = Wait(), Wait()
        async with at_desk(runtime, ScriptedModel([late]), options=slow) as desk:
            first = await desk.conversation("chat")
            await desk.say(first, "Do it.", model="")
            await late.reached.wait()
            model = ScriptedModel(calls([wait], say("All of it.")))
            async with at_desk(other, model, options=quick) as second, watched(second) as elsewhere:
                await wait.reached.wait()  # The other has taken it over, and asks its model.
                late.go_on.set()
                await until(lambda: not first.is_own)
                assert elsewhere.is_own
                wait.go_on.set()
                await until(lambda: not elsewhere.is_busy)
                events = [happening.event for happening in log_of(elsewhere)]
                assert [sum(isinstance(event, kind) for event in events) for kind in (Begun, Resumed, Done)] == [
                    1,
                    1,
                    1,
                ]
                assert isinstance(events[-1], Done)
                assert events[-1].text == "All of it."

    anyio.run(talk)


def test_conversation_is_not_busy_after_a_read_that_failed(shaky: Runtime, store: FlakyStore) -> None:
    async def talk() -> None:
        async with at_desk(shaky, ScriptedModel(say("one"), say("two"))) as desk, watched(desk) as one:
            await desk.say(one, "hello", model="")
            await until(lambda: not one.is_busy)
            store.failures["events"] = 1
            with pytest.raises(WorldError):
                await desk.say(one, "second", model="")
            await desk.say(one, "third", model="")
            await until(lambda: not one.is_busy)
            assert "two" in shown(one)

    anyio.run(talk)


def test_next_message_can_be_said_as_soon_as_the_stream_of_the_last_has_ended(runtime: Runtime) -> None:
    async def talk() -> None:
        async with at_desk(runtime, ScriptedModel(*[say("x")] * 10)) as desk:
            one = await desk.conversation("chat")
            for number in range(10):
                feed = one.feeds.follow(asyncio.Event())
                turn = await desk.say(one, f"message {number}", model="")
                async for _ in follow_turn(desk, one, feed, turn, show=dict):
                    pass

    anyio.run(talk)


@pytest.mark.parametrize(("age", "outcome"), [(5.0, Outcome.ANSWERED), (100_000.0, Outcome.CANCELLED)])
def test_turn_of_a_dead_server_ends_though_nobody_watches(runtime: Runtime, age: float, outcome: Outcome) -> None:
    options = HttpOptions(model="scripted", limits=HttpLimits(silence_seconds=0.3))

    async def talk() -> None:
        async with at_desk(runtime, ScriptedModel(say("late"), say("new")), options=options) as desk:
            one = await desk.conversation("chat")
            then = time.time() - age
            key = one.key
            dead = LiveTurn(key.user, key.session, "ab" * 16, "old", "scripted", "dead", begun_at=then, beat_at=then)
            assert runtime.store.claim_turn(dead)
            with pytest.raises(Refused):
                await desk.say(one, "new", model="")
            await until(lambda: "Done" in kinds(one) and not one.is_busy)
            assert [one.event.outcome for one in log_of(one) if isinstance(one.event, Done)] == [outcome]
            await desk.say(one, "new", model="")
            await until(lambda: not one.is_busy)

    anyio.run(talk)


def test_turn_that_was_worked_on_for_long_is_gone_on_with(runtime: Runtime, other: Runtime) -> None:
    async def talk() -> None:
        wait = Wait()
        async with at_desk(other, ScriptedModel(say("All of it."))) as second, watched(second) as elsewhere:
            async with at_desk(runtime, ScriptedModel([wait])) as desk:
                one = await desk.conversation("chat")
                await desk.say(one, "Long work.", model="")
                await wait.reached.wait()
                assert one.turns.own is not None
                one.turns.own.live = replace(one.turns.own.live, begun_at=time.time() - 3_000)
            await until(lambda: "Done" in kinds(elsewhere) and not elsewhere.is_busy)
            assert "All of it." in shown(elsewhere)

    anyio.run(talk)


async def _hear_blocks(desk: Desk, one: LiveConversation) -> list[bytes]:
    """Return all that a page hears until it is sent away."""
    return [message async for message in follow_blocks(desk, one, BlockRenderer(make_environment()), "", show=dict)]


def test_page_of_a_deleted_conversation_is_told_to_open_it_anew(runtime: Runtime) -> None:
    async def talk() -> None:
        async with at_desk(runtime, ScriptedModel(say("first"))) as desk:
            one = await desk.conversation("chat")
            await desk.say(one, "hello", model="")
            await until(lambda: not one.is_busy)
            page = asyncio.create_task(_hear_blocks(desk, one))
            await until(lambda: len(one.bells) > 0)
            await desk.forget("chat")
            async with asyncio.timeout(10):
                heard = await page
            assert heard[-1].startswith(b"event: ended")

    anyio.run(talk)


def test_page_at_another_server_is_told_too_and_begins_anew_there(runtime: Runtime, other: Runtime) -> None:
    async def talk() -> None:
        model = ScriptedModel(say("first"), say("again"))
        async with at_desk(runtime, model) as desk, at_desk(other, ScriptedModel()) as second:
            one = await desk.conversation("chat")
            await desk.say(one, "hello", model="")
            await until(lambda: not one.is_busy)
            elsewhere = await second.conversation("chat")
            page = asyncio.create_task(_hear_blocks(second, elsewhere))
            await until(lambda: len(elsewhere.bells) > 0)
            await desk.forget("chat")
            async with asyncio.timeout(10):
                heard = await page
            assert heard[-1].startswith(b"event: ended")
            anew = await second.conversation("chat")
            assert anew is not elsewhere
            assert (anew.title, anew.is_gone, shown(anew)) == ("", False, "")
            again = await desk.conversation("chat")
            await desk.say(again, "once more", model="")
            await until(lambda: not again.is_busy)
            assert "again" in shown(await second.conversation("chat"))

    anyio.run(talk)


def test_page_of_a_conversation_that_is_deleted_elsewhere_during_its_first_answer_is_told(
    runtime: Runtime, other: Runtime
) -> None:
    async def talk() -> None:
        wait = Wait()
        quick = HttpOptions(model="scripted", limits=HttpLimits(beat_seconds=0.1))
        async with (
            at_desk(runtime, ScriptedModel()) as desk,
            at_desk(other, ScriptedModel([wait]), options=quick) as second,
        ):
            working = await second.conversation("chat")
            await second.say(working, "hello", model="")
            await wait.reached.wait()
            page = asyncio.create_task(_hear_blocks(second, working))
            await until(lambda: len(working.bells) > 0)
            await desk.forget("chat")
            async with asyncio.timeout(10):
                heard = await page
            assert heard[-1].startswith(b"event: ended")
            assert (await second.conversation("chat")).title == ""

    anyio.run(talk)


def test_conversation_that_nobody_watched_while_it_was_deleted_elsewhere_begins_anew(
    runtime: Runtime, other: Runtime
) -> None:
    async def talk() -> None:
        async with at_desk(runtime, ScriptedModel(say("x"))) as desk, at_desk(other, ScriptedModel()) as second:
            one = await desk.conversation("chat")
            await desk.say(one, "hello", model="")
            await until(lambda: not one.is_busy)
            elsewhere = await second.conversation("chat")
            assert elsewhere.title == "hello"
            await desk.forget("chat")
            assert (await second.conversation("chat")).title == ""
            assert elsewhere.is_gone

    anyio.run(talk)


def test_conversation_is_left_in_a_thread(runtime: Runtime) -> None:
    async def talk() -> None:
        left: list[threading.Thread] = []
        async with at_desk(runtime, ScriptedModel()) as desk:
            first = await desk.conversation("first")
            first.close = lambda: left.append(threading.current_thread())  # type: ignore[method-assign, assignment]
            for number in range(500):
                await desk.conversation(f"chat-{number}")
            assert len(left) == 1
            assert left[0] is not threading.main_thread()
            assert await desk.conversation("first") is not first

    anyio.run(talk)


@pytest.mark.parametrize("name", ["", " x ", "a\nb", "x" * 201])
def test_conversation_must_have_a_name_that_people_can_read(runtime: Runtime, name: str) -> None:
    async def talk() -> None:
        async with at_desk(runtime, ScriptedModel()) as desk:
            with pytest.raises(ToolInputError) as refused:
                await desk.conversation(name)
            assert refused.value.code == "bad-conversation"

    anyio.run(talk)


def _ask(home: Home) -> ScriptedModel:
    home.write_settings(ONLY_MINE)
    return ScriptedModel(call("activate_skill", "first", name="painting"), say("Painted."))


def test_answer_to_no_question_costs_nothing(home: Home, shaky: Runtime, store: FlakyStore) -> None:
    model = _ask(home)

    async def talk(runtime: Runtime) -> None:
        async with at_desk(runtime, model) as desk, watched(desk) as one:
            await desk.say(one, "paint", model="")
            question = await question_in(one)
            await one.answer("no such question", "refuse")
            before = store.calls["find_question"]
            await asyncio.sleep(1)
            assert store.calls["find_question"] - before < 10
            await one.answer(question.id, "allow-once")
            await until(lambda: not one.is_busy)

    with Runtime(load_settings(), store=store) as runtime:  # type: ignore[arg-type]
        anyio.run(talk, runtime)


def test_store_that_is_away_does_not_answer_for_a_person(home: Home, root: Path, store: FlakyStore) -> None:
    model = _ask(home)

    async def talk(runtime: Runtime) -> None:
        async with at_desk(runtime, model) as desk, watched(desk) as one:
            await desk.say(one, "paint", model="")
            question = await question_in(one)
            store.failures["find_question"] = 3
            await until(lambda: store.failures["find_question"] == 0)
            assert (await one.answer(question.id, "allow-once"))[1]
            await until(lambda: not one.is_busy)
            assert [one.event.answer for one in log_of(one) if isinstance(one.event, ConsentAnswered)] == ["allow-once"]

    with Runtime(load_settings(), store=store) as runtime:  # type: ignore[arg-type]
        anyio.run(talk, runtime)


def test_chips_that_cannot_be_read_end_no_turn(shaky: Runtime, store: FlakyStore) -> None:
    model = ScriptedModel(call("activate_skill", "first", name="painting"), say("Painted."))

    async def talk() -> None:
        async with at_desk(shaky, model) as desk, watched(desk) as one:
            read = one.read_active
            failures = [WorldError("away")]

            def fail_once() -> object:
                if failures:
                    raise failures.pop()
                return read()

            one.read_active = fail_once  # type: ignore[method-assign, assignment]
            await desk.say(one, "paint", model="")
            await until(lambda: not one.is_busy)
            assert [one.event.outcome for one in log_of(one) if isinstance(one.event, Done)] == [Outcome.ANSWERED]

    anyio.run(talk)


def test_turn_that_cannot_begin_shows_the_message_and_why_and_ends_its_stream(
    shaky: Runtime, store: FlakyStore
) -> None:
    async def talk() -> None:
        async with at_desk(shaky, ScriptedModel(say("x"))) as desk:
            one = await desk.conversation("chat")
            feed = one.feeds.follow(asyncio.Event())
            claim = store.real.claim_turn

            def claim_and_fail(turn: LiveTurn) -> bool:
                store.failures["append_events"] = store.failures["last_event"] = 5
                return claim(turn)

            store.claim_turn = claim_and_fail  # type: ignore[attr-defined]
            turn = await desk.say(one, "my words", model="")
            async with asyncio.timeout(20):
                heard = [message async for message in follow_turn(desk, one, feed, turn, show=dict) if message]
            assert any(b"event: error" in message for message in heard)
            assert b"event: done" in heard[-1]
            assert "my words" in shown(one)
            assert not one.is_busy

    anyio.run(talk)


def test_conversation_that_cannot_be_read_keeps_no_other_waiting(runtime: Runtime, other: Runtime) -> None:
    async def talk() -> None:
        async with at_desk(runtime, ScriptedModel(say("x"), say("NEWS"))) as desk:
            first = await desk.conversation("bad")
            await desk.say(first, "hello", model="")
            await until(lambda: not first.is_busy)
            async with (
                at_desk(other, ScriptedModel()) as second,
                watched(second, "bad"),
                watched(second, "good") as good,
            ):
                _add_unknown_event(runtime.settings.state_file)
                one = await desk.conversation("good")
                await desk.say(one, "hi", model="")
                await until(lambda: "NEWS" in shown(good))

    anyio.run(talk)


def _add_unknown_event(path: str) -> None:
    """Write what a newer Prowess may write."""
    with sqlite3.connect(path, timeout=10) as database:
        database.execute(
            "INSERT INTO events SELECT owner, session, number + 1, turn, 'new', '{\"event\":\"new\"}', happened_at,"
            " fork FROM events WHERE session = 'bad' ORDER BY number DESC LIMIT 1"
        )
        database.execute("UPDATE conversations SET last_event = last_event + 1 WHERE id = 'bad'")
    database.close()


def test_answered_question_keeps_its_diff_elsewhere(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)

    def answers() -> list[object]:
        return [call("activate_skill", "first", name="painting"), say("Painted.")]

    async def agree(runtime: Runtime, chat_id: str) -> None:
        async with at_desk(runtime, ScriptedModel(*answers())) as desk, watched(desk, chat_id) as one:  # type: ignore[arg-type]
            await desk.say(one, "paint", model="")
            await one.answer((await question_in(one)).id, "allow-always")
            await until(lambda: not one.is_busy)

    async def look(runtime: Runtime) -> str:
        async with at_desk(runtime, ScriptedModel()) as desk:
            return shown(await desk.conversation("second"))

    with Runtime.open() as runtime, Runtime.open() as other:
        anyio.run(agree, runtime, "first")
        (root / "painting" / "SKILL.md").write_text("---\nname: painting\ndescription: Paints walls.\n---\nUse blue.\n")
        anyio.run(agree, runtime, "second")
        page = anyio.run(look, other)
    assert "Use blue." in page
    assert "Not compared" not in page


def test_conversations_that_are_not_kept_make_room_while_nothing_was_said(home: Home, root: Path) -> None:
    home.write_settings(f'{OPEN}sessions = "task"\n')

    async def talk(runtime: Runtime) -> None:
        async with at_desk(runtime, ScriptedModel(say("x"))) as desk:
            first = await desk.conversation("first")
            await desk.say(first, "hello", model="")
            await until(lambda: not first.is_busy)
            for number in range(600):
                await desk.conversation(f"chat-{number}")
            assert [one.title for one, _ in desk.listed()] == ["hello"]
            assert "hello" in shown(await desk.conversation("first"))

    with Runtime.open() as runtime:
        anyio.run(talk, runtime)


def test_any_number_of_models_can_be_tried(runtime: Runtime) -> None:
    async def talk() -> None:
        models = [Named(f"model-{number}", *([say("x")] * 3)) for number in range(60)]
        async with at_desk(runtime, *models) as desk:
            one = await desk.conversation("chat")
            for model in models:
                await desk.say(one, "hello", model=model.name)
                await until(lambda: not one.is_busy)
            assert sum(model.is_closed for model in models) > 30
            assert not models[-1].is_closed

    anyio.run(talk)


def test_failure_is_of_the_kind_that_it_is(shaky: Runtime, store: FlakyStore) -> None:
    async def talk() -> None:
        async with at_desk(shaky, ScriptedModel(say("x"))) as desk:
            one = await desk.conversation("chat")
            feed = one.feeds.follow(asyncio.Event())
            claim = store.real.claim_turn

            def claim_and_fail(turn: LiveTurn) -> bool:
                store.failures["last_event"] = 1
                return claim(turn)

            store.claim_turn = claim_and_fail  # type: ignore[attr-defined]
            await desk.say(one, "my words", model="")
            await until(lambda: not one.is_busy)
            assert [h.event.kind for h in feed.take() if isinstance(h.event, Failed)] == ["world"]

    anyio.run(talk)
