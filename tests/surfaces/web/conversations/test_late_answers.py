"""Answers that a person gives while the process that has asked is dead, and nobody has noticed yet."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from prowess.agent.events import CallEnded, ConsentAnswered, ConsentAsked, Event, Resumed
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.state.opening import open_store
from prowess.surfaces.http.options import HttpLimits, HttpOptions
from prowess.surfaces.web.conversations.live_conversation import LiveConversation
from tests.agent.scripted_model import Answer, ScriptedModel, call, say
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home
from tests.surfaces.web.conversations.desks import at_desk, log_of, question_in, until, watched
from tests.surfaces.web.conversations.flaky_store import FlakyStore

pytestmark = pytest.mark.slow

ACTIVATION = call("activate_skill", "paint", name="painting")
AGAIN = call("activate_skill", "once-more", name="painting")
OF_THE_HOLDER = ("find_question", "answer_question", "beat_turn", "append_events", "last_event")
"""What a process asks of the store while it waits for an answer; one that is dead asks nothing."""


@pytest.fixture
def dying(home: Home, root: Path) -> FlakyStore:
    """The store as the first process sees it."""
    home.write_settings(ONLY_MINE)
    return FlakyStore(open_store("", state_file=load_settings().state_file))


def events_of(one: LiveConversation, kind: type[Event]) -> Sequence[Event]:
    return [happening.event for happening in log_of(one) if isinstance(happening.event, kind)]


def answers_of(one: LiveConversation) -> list[str]:
    return [happening.event.answer for happening in log_of(one) if isinstance(happening.event, ConsentAnswered)]


def states_of(one: LiveConversation) -> list[str]:
    return [happening.event.state for happening in log_of(one) if isinstance(happening.event, CallEnded)]


@asynccontextmanager
async def after_death(
    dying: FlakyStore, answer: str, *answers: Answer, message: str = "Paint."
) -> AsyncGenerator[LiveConversation]:
    """Return a conversation as another process holds it, where a question was answered after its process died."""
    asking = ScriptedModel(*((ACTIVATION,) if message == "Paint." else ()))
    limits = HttpLimits(silence_seconds=1.0)
    with Runtime(load_settings(), store=dying) as runtime, Runtime.open() as other:  # type: ignore[arg-type]
        second = at_desk(other, ScriptedModel(*answers), options=HttpOptions(model="scripted", limits=limits))
        async with at_desk(runtime, asking) as desk, second as there, watched(there) as one:
            await desk.say(await desk.conversation("chat"), message, model="")
            question = await question_in(one)
            dying.failures |= dict.fromkeys(OF_THE_HOLDER, 1_000_000)
            if answer:
                assert (await one.answer(question.id, answer))[1]
            await until(lambda: bool(events_of(one, Resumed)))
            yield one
            dying.failures.clear()


@pytest.mark.requirement("R126")
@pytest.mark.parametrize(
    ("answer", "state", "kept"),
    [
        ("allow-once", "done", []),
        ("allow-for-session", "done", [("allow", "chat")]),
        ("allow-always", "done", [("allow", "")]),
        ("refuse", "refused", [("refuse", "")]),
        ("refuse-once", "refused", []),
    ],
)
def test_answer_counts_though_the_process_that_asked_is_dead(
    dying: FlakyStore, answer: str, state: str, kept: list[tuple[str, str]]
) -> None:
    async def talk() -> None:
        async with after_death(dying, answer, AGAIN, say("All is done.")) as one:
            await until(lambda: not one.is_busy)
            assert (answers_of(one), len(events_of(one, ConsentAsked))) == ([answer], 1)
            assert states_of(one) == ["cancelled", state]
            grants = one.runtime.grants()
            assert [(grant.decision.value, grant.session) for grant in grants] == kept
            assert {(grant.name, grant.given_by) for grant in grants} <= {("painting", "web")}

    anyio.run(talk)


def test_answer_to_what_a_message_calls_for_counts_too(dying: FlakyStore) -> None:
    async def talk() -> None:
        async with after_death(dying, "allow-once", say("Painted."), message="/painting Paint the wall.") as one:
            await until(lambda: not one.is_busy)
            assert (answers_of(one), len(events_of(one, ConsentAsked))) == (["allow-once"], 1)
            assert [skill.name for skill in one.active] == ["painting"]

    anyio.run(talk)


def test_decision_is_kept_though_the_model_does_not_try_again(dying: FlakyStore) -> None:
    async def talk() -> None:
        async with after_death(dying, "allow-always", say("Never mind.")) as one:
            await until(lambda: not one.is_busy)
            assert [grant.name for grant in one.runtime.grants()] == ["painting"]

    anyio.run(talk)


def test_one_answer_allows_one_call_that_is_the_very_same(dying: FlakyStore) -> None:
    other = call("activate_skill", "other", name="painting", arguments="the fence")

    async def talk() -> None:
        async with after_death(dying, "allow-once", other, say("All is done.")) as one:
            question = await question_in(one)
            assert (await one.answer(question.id, "refuse-once"))[1]
            await until(lambda: not one.is_busy)
            assert answers_of(one) == ["allow-once", "refuse-once"]

    anyio.run(talk)


def test_question_that_had_no_answer_can_get_none_after_it_is_asked_again(dying: FlakyStore) -> None:
    async def talk() -> None:
        async with after_death(dying, "", AGAIN, say("All is done.")) as one:
            await until(lambda: len(events_of(one, ConsentAsked)) > 1)
            question = await question_in(one)  # The new one alone.
            first = next(event for event in events_of(one, ConsentAsked) if isinstance(event, ConsentAsked))
            settled, is_mine = await one.answer(first.question, "allow-always")
            assert (settled.answer if settled else "", is_mine) == ("nobody", False)
            assert (await one.answer(question.id, "allow-once"))[1]
            await until(lambda: not one.is_busy)
            assert answers_of(one) == ["nobody", "allow-once"]

    anyio.run(talk)
