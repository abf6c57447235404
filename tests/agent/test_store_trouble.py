"""A store that fails in the middle of a turn: a clear error, nothing doubled, and the next message works again."""

import gc
import os
import subprocess
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from prowess.agent.chat import Chat
from prowess.agent.events import CallEnded, Done, Failed, Happening, TextHeard
from prowess.agent.messages import Message, ToolMessage
from prowess.errors import WorldError
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.state.conversations import Outcome
from prowess.state.postgres_database import PostgresDatabase
from prowess.state.sql_store import SqlStore
from tests.agent.conversations import ask, find, hear, open_chat, told, watch
from tests.agent.scripted_model import Answer, ScriptedModel, Wait, call, say
from tests.agent.valid_requests import find_faults
from tests.copies.owned import small_disk
from tests.postgres import Cluster
from tests.skills_on_disk import Home
from tests.state.lossy_proxy import Loss, lossy_proxy

pytestmark = pytest.mark.slow

LONG = "word " * 40_000
"""More than what is left of a full disk."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where state is kept, and how to make it fail."""

    open: Callable[[], Runtime]
    break_down: Callable[[], None]
    mend: Callable[[], None]
    code: str


@pytest.fixture(params=["full disk", "server away"])
def place(request: pytest.FixtureRequest, home: Home, root: Path) -> Iterator[Place]:
    """A store that can be made to fail."""
    if request.param == "full disk":
        yield from _on_a_small_disk(home)
    else:
        cluster: Cluster = request.getfixturevalue("postgres")
        yield from _on_a_server(cluster)


def _on_a_small_disk(home: Home) -> Generator[Place]:
    settings = (home.prowess / "prowess.toml").read_text()
    os.rename(home.prowess, home.path / "before")
    with small_disk(home.prowess, size="64m"):
        home.write_settings(settings)

        def fill() -> None:
            status = os.statvfs(home.prowess)
            used = (status.f_blocks - status.f_bfree) * status.f_frsize
            remount(used)

        def remount(size: int) -> None:
            subprocess.run(["mount", "-o", f"remount,size={size}", str(home.prowess)], check=True)

        yield Place(Runtime.open, fill, lambda: remount(64 << 20), "state-unusable")


def _on_a_server(cluster: Cluster) -> Generator[Place]:
    url = cluster.make_database()

    def open_impatient() -> Runtime:
        return Runtime(load_settings(), store=SqlStore(PostgresDatabase(url, patience_seconds=0.5)))

    is_away = False

    def leave() -> None:
        nonlocal is_away
        cluster.stop()
        is_away = True

    def come_back() -> None:
        nonlocal is_away
        if is_away:
            cluster.start()
        is_away = False

    try:
        yield Place(open_impatient, leave, come_back, "state-unreachable")
    finally:
        come_back()


def texts_of(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages if not isinstance(message, ToolMessage)]


def assert_whole(open_again: Callable[[], Runtime], chat: Chat) -> list[Happening]:
    """Assert that another process sees what this one does, without gaps and doubles; return what is kept."""
    messages = chat.messages()
    with open_again() as other:
        again = open_chat(other, ScriptedModel())
        assert again.messages() == messages
        happenings = list(again.happenings())
    assert [one.number for one in happenings] == list(range(1, len(happenings) + 1))
    assert find_faults(messages) == []
    return happenings


async def fail_to_say(chat: Chat, message: str) -> tuple[str, list[Happening]]:
    """Say something that cannot be kept; return the code of the error and what happened.

    What cannot even begin is raised; after that, the error is told, once, and the turn has failed.
    """
    found: list[Happening] = []
    try:
        found += await hear(chat, message)
    except WorldError as error:
        return error.code, []
    (failed,) = find(found, Failed)
    assert told(found).outcome is Outcome.FAILED
    return failed.code, found


def during(wait: Wait, act: Callable[[], None], work: Callable[[], Coroutine[None, None, None]]) -> None:
    """Do the work, and something else when the model waits."""

    async def lead() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await wait.reached.wait()
            await anyio.to_thread.run_sync(act)
            wait.go_on.set()

    anyio.run(lead)


# In the middle of a turn


def test_answer_that_cannot_be_kept_is_an_error_and_is_kept_with_the_next(place: Place) -> None:
    wait = Wait()
    answer: Answer = [wait, *say(f"Answer two. {LONG}")]
    model = ScriptedModel(say("Answer one."), answer, say("Answer three."))
    seen: list[tuple[str, list[Happening]]] = []
    with place.open() as runtime:
        chat = open_chat(runtime, model)
        ask(chat, "One.")

        async def work() -> None:
            seen.append(await fail_to_say(chat, "Two."))

        during(wait, place.break_down, work)
        assert [code for code, _ in seen] == [place.code]
        place.mend()
        assert [answer.text for answer in ask(chat, "Three.")] == ["Answer three."]
        kept = assert_whole(place.open, chat)
        assert texts_of(chat.messages())[::2] == ["One.", "Two.", "Three."]
        assert [event.outcome for event in find(kept, Done)] == [Outcome.ANSWERED] * 3
        assert [(turn.outcome, turn.steps) for turn in runtime.turns("chat")] == [(Outcome.ANSWERED, 1)] * 3


def test_call_is_not_made_if_it_cannot_be_written_down_before(place: Place) -> None:
    wait = Wait()
    answer: Answer = [*say(LONG), wait, *call("activate_skill", name="painting")]
    model = ScriptedModel(say("Answer one."), answer, say("Answer three."))
    seen: list[tuple[str, list[Happening]]] = []
    with place.open() as runtime:
        chat = open_chat(runtime, model)
        ask(chat, "One.")

        async def work() -> None:
            seen.append(await fail_to_say(chat, "Two."))

        during(wait, place.break_down, work)
        ((code, happenings),) = seen
        assert code == place.code
        assert find(happenings, CallEnded) == []
        place.mend()
        assert chat.session.active() == ()
        ask(chat, "Three.")
        kept = assert_whole(place.open, chat)
        (result,) = [message for message in chat.messages() if isinstance(message, ToolMessage)]
        assert result.is_error
        assert [event.outcome for event in find(kept, Done)] == [Outcome.ANSWERED, Outcome.FAILED, Outcome.ANSWERED]


def test_message_to_a_store_that_fails_is_refused_until_it_works_again(place: Place) -> None:
    model = ScriptedModel(script=lambda _: say("Yes."))
    with place.open() as runtime:
        chat = open_chat(runtime, model)
        ask(chat, "One.")
        place.break_down()
        for _ in range(2):
            code, _ = anyio.run(fail_to_say, chat, f"Two. {LONG}")
            assert code == place.code
        place.mend()
        ask(chat, "Three.")
        kept = assert_whole(place.open, chat)
        assert texts_of(chat.messages())[0] == "One."
        assert texts_of(chat.messages())[-2:] == ["Three.", "Yes."]
        turns = {happening.turn for happening in kept}
        receipts = runtime.turns("chat")
        assert {turn.id for turn in receipts} >= turns
        assert [turn for turn in receipts if turn.is_open] == []


def test_what_was_not_kept_gives_way_to_what_others_have_said_meanwhile(place: Place) -> None:
    wait = Wait()
    model = ScriptedModel(say("Answer one."), [wait, *say(f"Answer two. {LONG}")], say("Answer three."))
    with place.open() as runtime:
        chat = open_chat(runtime, model)
        ask(chat, "One.")

        async def work() -> None:
            await fail_to_say(chat, "Two.")

        during(wait, place.break_down, work)
        place.mend()
        with place.open() as other:
            ask(open_chat(other, ScriptedModel(say("Answer elsewhere."))), "Elsewhere.")
        ask(chat, "Three.")
        assert_whole(place.open, chat)
        # The message itself was written before the model was asked.
        assert texts_of(chat.messages()) == [
            *("One.", "Answer one.", "Two."),
            *("Elsewhere.", "Answer elsewhere."),
            *("Three.", "Answer three."),
        ]
        assert texts_of(model.requests[-1].messages) == texts_of(chat.messages())[:-1]


def test_new_process_goes_on_without_what_was_not_kept(place: Place) -> None:
    wait = Wait()
    with place.open() as runtime:
        chat = open_chat(runtime, ScriptedModel(say("Answer one."), [wait, *say(LONG)]))
        ask(chat, "One.")

        async def work() -> None:
            await fail_to_say(chat, "Two.")

        during(wait, place.break_down, work)
        place.mend()
    with place.open() as other:
        again = open_chat(other, ScriptedModel(say("Answer three.")))
        ask(again, "Three.")
        assert_whole(place.open, again)
        assert texts_of(again.messages()) == ["One.", "Answer one.", "Two.", "Three.", "Answer three."]
        assert [turn.outcome for turn in other.turns("chat")] == [Outcome.ANSWERED, None, Outcome.ANSWERED]


# Those who are not concerned


def test_others_go_on_while_a_turn_waits_for_its_store(place: Place) -> None:
    wait = Wait()
    ticks: list[int] = []

    async def lead() -> None:
        async with anyio.create_task_group() as group:

            async def say_it() -> None:
                await fail_to_say(chat, "One.")
                group.cancel_scope.cancel()

            group.start_soon(say_it)
            await wait.reached.wait()
            await anyio.to_thread.run_sync(place.break_down)
            wait.go_on.set()
            while True:
                await anyio.sleep(0.05)
                ticks.append(len(ticks))

    with place.open() as runtime:
        chat = open_chat(runtime, ScriptedModel([wait, *say(LONG)]))
        anyio.run(lead)
        place.mend()
    if place.code == "state-unreachable":  # It waits; a disk says at once that it is full.
        assert len(ticks) > 5


def test_whoever_leaves_a_turn_that_cannot_be_kept_leaves_no_noise(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    wait = Wait()

    async def leave() -> None:
        async with aclosing(chat.stream("One.")) as happenings, anyio.create_task_group() as group:

            async def break_down() -> None:
                await wait.reached.wait()
                await anyio.to_thread.run_sync(place.break_down)
                wait.go_on.set()

            group.start_soon(break_down)
            async for happening in happenings:
                if isinstance(happening.event, TextHeard) and wait.go_on.is_set():
                    break

    with place.open() as runtime:
        chat = open_chat(runtime, ScriptedModel([wait, *say(LONG), *say("more"), Wait()]))
        anyio.run(leave)
        gc.collect()
        assert [record.message for record in caplog.records if record.name == "asyncio"] == []
        place.mend()
        ask(open_chat(runtime, ScriptedModel(say("Well."))), "Two.")
        assert_whole(place.open, open_chat(runtime, ScriptedModel()))


# PostgreSQL


def open_on(url: str) -> Runtime:
    return Runtime(load_settings(), store=SqlStore(PostgresDatabase(url)))


def test_server_that_comes_back_soon_is_not_noticed(postgres: Cluster, root: Path) -> None:
    url = postgres.make_database()
    with open_on(url) as runtime:
        wait = Wait()
        chat = open_chat(runtime, ScriptedModel([wait, *call("activate_skill", name="painting")], say("Painted.")))
        seen: list[Happening] = []

        async def work() -> None:
            seen.extend(await hear(chat, "Paint."))

        def restart() -> None:
            with postgres.stopped():
                pass

        during(wait, restart, work)
        assert find(seen, Failed) == []
        assert find(seen, Done)[0].text == "Painted."
        assert [turn.outcome for turn in runtime.turns("chat")] == [Outcome.ANSWERED]
        assert_whole(lambda: open_on(url), chat)


@pytest.mark.parametrize("loss", list(Loss))
def test_lost_commits_double_nothing(postgres: Cluster, root: Path, loss: Loss) -> None:
    url = postgres.make_database()
    with lossy_proxy(url) as proxy, open_on(proxy.url) as runtime:

        def answer(_request: object) -> Answer:
            proxy.lose([loss])
            number = len(model.requests)
            return say("Yes.") if number % 3 == 0 else call("search_skills", f"{number}", query="walls")

        model = ScriptedModel(script=answer)
        chat = open_chat(runtime, model)
        happenings = watch(chat, "One.", "Two.", "Three.")
        assert len(find(happenings, CallEnded)) == 6
        proxy.expect_all_lost()
        kept = [one for one in happenings if one.number is not None]
        with open_on(url) as other:
            assert list(open_chat(other, ScriptedModel()).happenings()) == kept
            assert [(turn.outcome, turn.steps, turn.calls) for turn in other.turns("chat")] == [
                (Outcome.ANSWERED, 3, 2)
            ] * 3
