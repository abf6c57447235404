"""A turn whose process has ended is gone on with by another: one whole answer, nothing lost and nothing doubled."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import pytest

from prowess.activation.consent import Answer as Said
from prowess.activation.consent import Question
from prowess.agent.chat import Chat
from prowess.agent.chat_model import ModelRequest
from prowess.agent.events import (
    Answered,
    Asked,
    Begun,
    CallBegun,
    CallEnded,
    ConsentAnswered,
    ConsentAsked,
    Done,
    Event,
    Failed,
    ForkBegun,
    ForkEnded,
    Happening,
    Resumed,
    TextHeard,
)
from prowess.agent.messages import ToolMessage
from prowess.errors import Refused
from prowess.runtime import Runtime
from prowess.runtime.host_tools import HostTool
from prowess.settings import load_settings
from prowess.state.conversations import Outcome, TokenUse
from tests.agent.conftest import OPEN
from tests.agent.conversations import ask, events_of, find, open_chat, told
from tests.agent.forked import CHILD, calling, parent_and_child
from tests.agent.scripted_model import USE, Answer, ScriptedModel, Wait, call, calls, say
from tests.agent.valid_requests import find_faults
from tests.runtime.opening import ONLY_MINE, start_python
from tests.runtime.people import Person
from tests.skills_on_disk import Home, write_skill

TURN = "turn-1"


class Steady(ScriptedModel):
    """A model that does by the results that it reads what is to be done next: text, three calls, and an answer."""

    def __init__(self) -> None:
        super().__init__(script=self._work)

    def _work(self, request: ModelRequest) -> Answer:
        assert find_faults(request.messages) == []
        done = {message.call for message in request.messages if isinstance(message, ToolMessage)}
        if "paint" not in done:
            activation = call("activate_skill", "paint", name="painting")
            return calls(say("I begin. "), activation, call("note", "note", text="begun"))
        return say("All is done.") if "again" in done else call("note", "again", text="nearly")


def make_note(path: Path) -> HostTool:
    """A tool that leaves a line for each time it is called."""

    def note(arguments: dict[str, Any]) -> str:
        with path.open("a") as file:
            file.write(f"{arguments['text']}\n")
        return "noted"

    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return HostTool("note", "Notes a text.", note, schema)


def resume(chat: Chat, *, turn: str = TURN, message: str = "Work.", **options: Any) -> list[Happening]:
    """Go on with a turn, and return all that happens."""

    async def listen() -> list[Happening]:
        async with aclosing(chat.resume(turn, message, **options)) as happenings:
            return [happening async for happening in happenings]

    return anyio.run(listen)


async def drain(happenings: Any, heard: list[Happening]) -> None:
    async for happening in happenings:
        heard.append(happening)  # noqa: PERF401 - what comes before an error counts too


def copy_log(runtime: Runtime, source: Chat, target: Chat, *, length: int) -> None:
    """Have a conversation begin as another does."""
    first, second = source.session.key, target.session.key
    events = runtime.store.events(user=first.user, session=first.session)[:length]
    assert runtime.store.append_events(user=second.user, session=second.session, events=events)


def assert_whole(runtime: Runtime, chat: Chat, *, turn: str = TURN, text: str = "All is done.") -> None:
    """Assert that the log has one whole turn, as if nothing had happened to it."""
    kept = list(chat.happenings())
    assert [one.number for one in kept] == list(range(1, len(kept) + 1))
    assert {one.turn for one in kept} == {turn}
    events = events_of(kept)
    assert isinstance(events[0], Begun)
    assert [type(event) for event in events].count(Begun) == 1
    assert [type(event) for event in events].count(Asked) == 1
    done = [event for event in events if isinstance(event, Done)]
    assert (done, done[0].text, done[0].outcome) == ([events[-1]], text, Outcome.ANSWERED)
    answers = [event for event in events if isinstance(event, Answered)]
    assert [answer.text for answer in answers if not answer.calls] == [text]
    wanted = [call.id for answer in answers for call in answer.calls]
    assert [event.call for event in events if isinstance(event, CallBegun)] == wanted
    assert [event.call for event in events if isinstance(event, CallEnded)] == wanted
    assert len({*wanted}) == len(wanted)
    for begun, ended in ((Begun, Done), (ForkBegun, ForkEnded), (ConsentAsked, ConsentAnswered)):
        assert len(find(kept, begun)) == len(find(kept, ended))
    assert find_faults(chat.messages()) == []
    (receipt,) = runtime.turns(chat.id)
    assert (receipt.id, receipt.outcome, receipt.is_open) == (turn, Outcome.ANSWERED, False)
    assert (receipt.steps, receipt.calls) == (len(answers), len(wanted))
    assert receipt.use == sum((answer.use for answer in answers), TokenUse())
    assert receipt.at <= kept[0].at


# Killed


DIE = f"""
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
import os, signal
from pathlib import Path
from tests.agent.test_resuming import Steady, begin, make_note, open_chat
left = int(sys.argv[1])
def die(happening):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
with Runtime.open() as runtime:
    tools = [make_note(Path(sys.argv[2]))]
    begin(open_chat(runtime, Steady(), f"killed-{{left}}", watchers=[die], tools=tools))
"""


def begin(chat: Chat, *, turn: str = TURN, message: str = "Work.") -> list[Happening]:
    """Say something in a turn of this id, and return all that happens."""

    async def listen() -> list[Happening]:
        return [happening async for happening in chat.stream(message, turn_id=turn)]

    return anyio.run(listen)


@pytest.mark.slow
@pytest.mark.requirement("K6")
def test_turn_is_resumed_after_a_kill_at_any_event(runtime: Runtime, tmp_path: Path) -> None:
    total = len(begin(open_chat(runtime, Steady(), "whole", tools=[make_note(tmp_path / "whole")])))
    states: list[str] = []
    for number in range(1, total + 1):
        notes = tmp_path / f"{number}"
        process = start_python(DIE, str(number), str(notes))
        assert process.communicate() == ("", "")
        assert process.returncode == -signal.SIGKILL
        chat = open_chat(runtime, Steady(), f"killed-{number}", tools=[make_note(notes)])
        happenings = resume(chat)
        assert told(happenings).text == "All is done."
        assert_whole(runtime, chat)
        assert notes.read_text() == "begun\nnearly\n"
        states += [event.state for event in find(chat.happenings(), CallEnded)]
    assert {*states} == {"done", "cancelled"}
    assert states.count("cancelled") < total


@pytest.mark.parametrize("skill", ["painting", "deploy"])
def test_turn_is_resumed_after_any_event_of_its_log(runtime: Runtime, root: Path, tmp_path: Path, skill: str) -> None:
    write_skill(root, "deploy", description="Deploys.", extra="sandbox: true\n", body="Ship it with care.\n")

    def make_model() -> ScriptedModel:
        return Steady() if skill == "painting" else parent_and_child(calling("deploy"), lambda _: say("Shipped."))

    options: dict[str, Any] = {"tools": [make_note(tmp_path / "notes")]}
    whole = open_chat(runtime, make_model(), "whole", **options)
    begin(whole)
    for length in range(len(whole.happenings())):
        model = make_model()
        chat = open_chat(runtime, model, f"cut-{length}", **options)
        copy_log(runtime, whole, chat, length=length)
        happenings = resume(chat)
        assert [type(event) for event in events_of(happenings)[:2]].count(Resumed) == 1
        assert_whole(runtime, chat, text=told(happenings).text)
        again = open_chat(runtime, ScriptedModel(), chat.id, **options)
        assert again.messages() == chat.messages()
        assert resume(again) == [chat.happenings()[-1]]


# Cases


def cut_at(runtime: Runtime, source: Chat, kind: type[Event], chat: Chat) -> None:
    """Have a conversation begin as another does, up to the first event of a kind."""
    kinds = [type(one.event) for one in source.happenings()]
    copy_log(runtime, source, chat, length=kinds.index(kind) + 1)


@pytest.fixture
def whole(runtime: Runtime, tmp_path: Path) -> Chat:
    """A conversation with one whole turn."""
    chat = open_chat(runtime, Steady(), "whole", tools=[make_note(tmp_path / "whole")])
    begin(chat)
    return chat


def test_turn_of_an_unknown_id_begins_with_the_message(runtime: Runtime) -> None:
    chat = open_chat(runtime, ScriptedModel(say("Hello.")))
    happenings = resume(chat, message="Hi.", by="the second")
    assert find(happenings, Begun) == [Begun(message="Hi.", model="scripted")]
    assert [event.by for event in find(happenings, Resumed)] == ["the second"]
    assert_whole(runtime, chat, text="Hello.")


def test_turn_that_is_done_only_tells_its_end(runtime: Runtime, whole: Chat) -> None:
    before = list(whole.happenings())
    heard: list[Happening] = []
    chat = open_chat(runtime, ScriptedModel(), whole.id, watchers=[heard.append])
    assert resume(chat) == [before[-1]]
    assert (list(chat.happenings()), heard) == (before, [])


def test_call_that_was_under_way_is_told_as_broken_off(runtime: Runtime, whole: Chat, tmp_path: Path) -> None:
    model = Steady()
    chat = open_chat(runtime, model, "cut", tools=[make_note(tmp_path / "notes")])
    cut_at(runtime, whole, CallBegun, chat)
    happenings = resume(chat)
    broken, note, again = find(happenings, CallEnded)
    assert (broken.call, broken.tool, broken.role, broken.state) == ("paint", "activate_skill", "activate", "cancelled")
    assert broken.content == (
        "The process that carried out this call ended before the call was done. What it did until then may stand. Call "
        "it again if that is needed."
    )
    assert (note.state, again.state) == ("done", "done")
    result = model.requests[0].messages[2]
    assert isinstance(result, ToolMessage)
    assert (result.content, result.is_error) == (broken.content, True)
    assert_whole(runtime, chat)


def test_skill_that_a_broken_off_call_has_switched_on_gives_its_instructions_when_called_again(
    runtime: Runtime, whole: Chat
) -> None:
    model = ScriptedModel(call("activate_skill", "once-more", name="painting"), say("Painted."))
    chat = open_chat(runtime, model, "cut", tools=[make_note(Path("/dev/null"))])
    chat.session.activate("painting")
    cut_at(runtime, whole, CallBegun, chat)
    happenings = resume(chat)
    assert "Paint with red." in find(happenings, CallEnded)[-1].content
    assert repr(chat.messages()).count("Paint with red.") == 1


def test_answer_whose_end_is_missing_gets_it_without_the_model(runtime: Runtime, whole: Chat) -> None:
    chat = open_chat(runtime, ScriptedModel(), "cut")
    copy_log(runtime, whole, chat, length=len(whole.happenings()) - 1)
    assert [type(one.event) for one in resume(chat)] == [Resumed, Done]
    assert_whole(runtime, chat)


def test_error_whose_end_is_missing_gets_it(runtime: Runtime) -> None:
    failing = open_chat(runtime, ScriptedModel([Refused("no", code="no")]), "failing")
    begin(failing)
    chat = open_chat(runtime, ScriptedModel(), "cut")
    copy_log(runtime, failing, chat, length=len(failing.happenings()) - 1)
    assert told(resume(chat)).outcome is Outcome.FAILED
    assert [receipt.outcome for receipt in runtime.turns("cut")] == [Outcome.FAILED]


def test_bound_of_steps_counts_what_was_answered_before(home: Home, root: Path, tmp_path: Path) -> None:
    home.write_settings(f"{OPEN}[turns]\nmax_steps = 2\n")
    with Runtime.open() as runtime:
        tools = [make_note(tmp_path / "notes")]
        first = open_chat(runtime, Steady(), "whole", tools=tools)
        assert told(begin(first)).outcome is Outcome.STOPPED
        model = Steady()
        chat = open_chat(runtime, model, "cut", tools=tools)
        cut_at(runtime, first, CallEnded, chat)
        assert told(resume(chat)).outcome is Outcome.STOPPED
        assert len(model.requests) == 1


def test_turn_that_was_overtaken_by_another_message_is_not_answered(runtime: Runtime, whole: Chat) -> None:
    model = ScriptedModel(say("Here."))
    chat = open_chat(runtime, model, "cut", tools=[make_note(Path("/dev/null"))])
    cut_at(runtime, whole, CallBegun, chat)
    ask(chat, "And now?")
    before = chat.messages()
    happenings = resume(chat)
    assert [event.code for event in find(happenings, Failed)] == ["turn-overtaken"]
    assert (told(happenings).outcome, len(model.requests)) == (Outcome.FAILED, 1)
    assert chat.messages() == before
    assert resume(chat) == happenings[-1:]


def test_model_without_tools_gets_the_instructions_of_the_message_again(runtime: Runtime) -> None:
    def make_model() -> ScriptedModel:
        model = ScriptedModel(say("Painted."))
        model.calls_tools = False
        return model

    first, second = make_model(), make_model()
    source = open_chat(runtime, first, "whole")
    begin(source, message="/painting Paint my wall.")
    chat = open_chat(runtime, second, "cut")
    cut_at(runtime, source, Asked, chat)
    resume(chat)
    assert second.requests == first.requests
    assert "Paint with red." in second.requests[0].system


def test_delegation_is_done_anew(runtime: Runtime, root: Path) -> None:
    write_skill(root, "deploy", description="Deploys.", body="Ship it with care.\n")

    async def lead(chat: Chat) -> None:
        await drain(chat.stream("Ship.", delegate_to="deploy", turn_id=TURN), [])

    source = open_chat(runtime, ScriptedModel(say("Shipped.")), "whole")
    anyio.run(lead, source)
    for kind in (Begun, Asked, ForkBegun, ForkEnded):
        chat = open_chat(runtime, ScriptedModel(say("Shipped again.")), f"cut-{kind.__name__}")
        cut_at(runtime, source, kind, chat)
        assert told(resume(chat, message="Ship.", delegate_to="deploy")).text == "Shipped again."
        events = events_of(chat.happenings())
        assert [type(event) for event in events].count(Asked) == 1
        assert len(find(chat.happenings(), ForkBegun)) == len(find(chat.happenings(), ForkEnded))
        assert find_faults(chat.messages()) == []


def test_resumed_turn_can_be_cancelled(runtime: Runtime, whole: Chat) -> None:
    def cancel(happening: Happening) -> None:
        if isinstance(happening.event, Resumed):
            chat.cancel()

    chat = open_chat(runtime, ScriptedModel(), "cut", watchers=[cancel])
    cut_at(runtime, whole, CallBegun, chat)
    assert told(resume(chat)).outcome is Outcome.CANCELLED
    assert [event.state for event in find(chat.happenings(), CallEnded)] == ["cancelled"]


# Two processes


@pytest.fixture
def other(runtime: Runtime) -> Iterator[Runtime]:
    """Another process on the same state."""
    with Runtime.open() as opened:
        yield opened


def overtake(slow: Chat, wait: Wait, act: Callable[[], None], *, resumes: bool = False) -> list[Happening]:
    """Have something done while a turn waits, and return all that happens in the turn."""
    heard: list[Happening] = []

    async def lead() -> None:
        async with anyio.create_task_group() as group:
            stream = slow.resume(TURN, "Work.") if resumes else slow.stream("Work.", turn_id=TURN)
            group.start_soon(drain, stream, heard)
            await wait.reached.wait()
            await anyio.to_thread.run_sync(act)
            wait.go_on.set()

    anyio.run(lead)
    return heard


@pytest.mark.parametrize("late", [say("Late."), call("note", "late", text="late")])
def test_former_holder_that_was_only_slow_writes_nothing(
    runtime: Runtime, other: Runtime, tmp_path: Path, late: Answer
) -> None:
    wait = Wait()
    notes = make_note(tmp_path / "notes")
    slow = open_chat(runtime, ScriptedModel([*say("Slow. "), wait, *late]), tools=[notes])
    quick = open_chat(other, Steady(), tools=[notes])
    heard = overtake(slow, wait, lambda: assert_resumed(other, quick))
    assert [event.code for event in find(heard, Failed)] == ["conversation-moved"]
    assert told(heard).outcome is Outcome.FAILED
    assert (tmp_path / "notes").read_text() == "begun\nnearly\n"
    assert_whole(other, quick)
    assert slow.messages() == quick.messages()


def assert_resumed(runtime: Runtime, chat: Chat) -> None:
    """Assert that a turn is resumed in this process, to its end."""
    assert told(resume(chat)).text == "All is done."
    assert_whole(runtime, chat)


def test_turn_is_resumed_twice(runtime: Runtime, other: Runtime, tmp_path: Path) -> None:
    waits = [Wait(), Wait()]
    tools = [make_note(tmp_path / "notes")]
    first = open_chat(runtime, ScriptedModel([*say("First. "), waits[0]]), tools=tools)
    with Runtime.open() as third:
        second = open_chat(other, ScriptedModel(call("note", "own", text="own"), [waits[1], *say("2")]), tools=tools)
        last = open_chat(third, ScriptedModel(say("All is done.")), tools=tools)
        ends: list[list[Happening]] = []

        def resume_second() -> None:
            ends.append(overtake(second, waits[1], lambda: assert_resumed(third, last), resumes=True))

        ends.append(overtake(first, waits[0], resume_second))
        assert [[event.code for event in find(heard, Failed)] for heard in ends] == [["conversation-moved"]] * 2
        assert len(find(last.happenings(), Resumed)) == 2
        assert_whole(third, last)


def test_of_two_that_resume_at_once_one_has_the_turn(runtime: Runtime, other: Runtime, whole: Chat) -> None:
    """Whichever way they meet: the one that is too late is refused, or finds that the turn was taken from it."""
    late: list[str] = []
    for number in range(20):
        chats = [
            open_chat(one, Steady(), f"race-{number}", tools=[make_note(Path("/dev/null"))]) for one in (runtime, other)
        ]
        cut_at(runtime, whole, CallBegun, chats[0])
        heard: list[list[Happening]] = [[], []]
        refused: list[str] = []

        async def lead(chat: Chat, told: list[Happening], refused: list[str] = refused) -> None:
            try:
                await drain(chat.resume(TURN, "Work."), told)
            except Refused as error:
                refused.append(error.code)
                assert told == []

        async def race(heard: list[list[Happening]] = heard, chats: list[Chat] = chats) -> None:
            async with anyio.create_task_group() as group:
                for chat, told in zip(chats, heard, strict=True):
                    group.start_soon(lead, chat, told)

        anyio.run(race)
        lost = [event.code for told in heard for event in find(told, Failed)]
        assert {*refused, *lost} <= {"conversation-moved"}
        assert len([one for told in heard for one in told if one.number and isinstance(one.event, Done)]) >= 1
        assert_whole(runtime, chats[0])
        assert len(find(chats[0].happenings(), Resumed)) + len(refused) <= 2
        late += [*refused, *lost]
    assert late


def test_whoever_is_too_late_to_resume_is_refused_before_anything_happens(other: Runtime, whole: Chat) -> None:
    chat = open_chat(other, Steady(), "cut", tools=[make_note(Path("/dev/null"))])
    cut_at(other, whole, CallBegun, chat)
    hurry: list[threading.Thread] = []

    def tick() -> float:
        while hurry:  # The other is quicker between the reading of the log, and the first write.
            thread = hurry.pop()
            thread.start()
            thread.join()
        return time.time()

    heard: list[Happening] = []
    with Runtime(load_settings(), clock=tick) as runtime:
        slow = open_chat(runtime, ScriptedModel(), "cut", watchers=[heard.append])
        hurry.append(threading.Thread(target=resume, args=[chat]))
        with pytest.raises(Refused) as caught:
            resume(slow)
        assert (caught.value.code, heard, hurry) == ("conversation-moved", [], [])
        assert slow.messages() == chat.messages()
    assert_whole(other, chat)


# Forks and questions under way


def test_fork_that_was_under_way_is_ended_with_all_in_it(runtime: Runtime, other: Runtime, root: Path) -> None:
    write_skill(root, "deploy", description="Deploys.", extra="sandbox: true\n", body="Ship it with care.\n")
    wait = Wait()

    def work(request: ModelRequest) -> Answer:
        searched = isinstance(request.messages[-1], ToolMessage)
        return [wait] if searched else call("search_skills", "search", query="walls")

    slow = open_chat(runtime, parent_and_child(calling("deploy"), work))
    quick = open_chat(other, parent_and_child(calling("deploy"), work))

    def take_over() -> None:
        happenings = resume(quick)
        kinds = [(type(one.event).__name__, bool(one.within)) for one in happenings[:4]]
        assert kinds == [("Resumed", False), ("Done", True), ("ForkEnded", False), ("CallEnded", False)]
        (joined,) = find(happenings, ForkEnded)
        assert (joined.outcome, joined.use, joined.steps) == (Outcome.CANCELLED, USE, 1)
        assert told(happenings).use == USE + USE + USE
        slow.cancel()

    overtake(slow, wait, take_over)
    assert_whole(other, quick, text=told(list(quick.happenings())).text)


class Absent(Person):
    """Is asked, and says nothing until the turn was taken over."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self._act = act

    def ask(self, question: Question) -> Said | None:
        self.questions.append(question)
        self._act()
        return None


def test_question_that_was_under_way_is_asked_again(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)
    activation = call("activate_skill", "paint", name="painting")
    with Runtime.open() as runtime, Runtime.open() as other:
        person = Person(Said.ALLOW_ONCE)
        model = ScriptedModel(call("activate_skill", "once-more", name="painting"), say("All is done."))
        quick = open_chat(other, model, asker=person)
        absent = Absent(lambda: assert_resumed(other, quick))
        heard = begin(open_chat(runtime, ScriptedModel(activation), asker=absent))
        assert [event.code for event in find(heard, Failed)] == ["conversation-moved"]
        answers = [event.answer for event in find(quick.happenings(), ConsentAnswered)]
        assert (answers, person.count, absent.count) == (["nobody", "allow-once"], 1, 1)
        assert [event.state for event in find(quick.happenings(), CallEnded)] == ["cancelled", "done"]


def test_question_of_a_message_is_asked_again(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)
    with Runtime.open() as runtime, Runtime.open() as other:
        quick = open_chat(other, ScriptedModel(say("All is done.")), asker=Person(Said.ALLOW_ONCE))
        absent = Absent(lambda: assert_resumed(other, quick))
        begin(open_chat(runtime, ScriptedModel(), asker=absent), message="/painting Paint my wall.")
        assert [event.text for event in find(quick.happenings(), Asked)] == ["Paint my wall."]
        assert repr(quick.messages()).count("Paint with red.") == 1


def test_who_said_no_before_is_not_asked_again(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE)
    wait = Wait()
    with Runtime.open() as runtime, Runtime.open() as other:
        person = Person(Said.REFUSE_ONCE)
        activation = call("activate_skill", "paint", name="painting")
        slow = open_chat(runtime, ScriptedModel(activation, [wait, *say("Late.")]), asker=person)
        again = call("activate_skill", "once-more", name="painting")
        quick = open_chat(other, ScriptedModel(again, say("All is done.")), asker=Person())
        overtake(slow, wait, lambda: assert_resumed(other, quick))
        assert [event.state for event in find(quick.happenings(), CallEnded)] == ["refused", "refused"]


def test_text_that_was_heard_of_the_unfinished_answer_is_not_kept(runtime: Runtime, other: Runtime) -> None:
    wait = Wait()
    slow = open_chat(runtime, ScriptedModel([*say("Half of "), wait, *say("it.")]))
    quick = open_chat(other, ScriptedModel(say("All is done.")))
    heard = overtake(slow, wait, lambda: assert_resumed(other, quick))
    assert "".join(event.text for event in find(heard, TextHeard)) == "Half of it."
    assert "Half of" not in repr(quick.happenings())
    assert CHILD not in repr(quick.messages())


# Left to others


def test_abandoned_turn_is_kept_without_an_end_and_gone_on_with_elsewhere(
    runtime: Runtime, other: Runtime, tmp_path: Path
) -> None:
    wait = Wait()
    model = ScriptedModel(call("note", "first", text="begun"), calls(say("Half of it"), [wait]))
    chat = open_chat(runtime, model, tools=[make_note(tmp_path / "notes")])
    heard: list[Happening] = []

    async def abandon() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(drain, chat.stream("Work.", turn_id=TURN), heard)
            await wait.reached.wait()
            await anyio.to_thread.run_sync(chat.abandon)

    anyio.run(abandon)
    kept = events_of(chat.happenings())
    assert not [event for event in kept if isinstance(event, Done)]
    assert [turn.outcome for turn in runtime.turns("chat")] == [None]
    second = open_chat(other, ScriptedModel(say("All is done.")), tools=[make_note(tmp_path / "notes")])
    resume(second)
    assert_whole(runtime, second)
    assert [turn.outcome for turn in runtime.turns("chat")] == [Outcome.ANSWERED]
    assert (tmp_path / "notes").read_text() == "begun\n"
