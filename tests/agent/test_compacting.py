"""Compaction in the middle of conversations: what is summed up, what is given again, and what must never be lost."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import anyio
import pytest

from prowess.agent.chat import Chat
from prowess.agent.chat_model import FinishPiece, ModelFailure, ModelRequest, Piece, RetryPiece, TextPiece
from prowess.agent.conversation import Audience
from prowess.agent.cuts import SUMMARISE
from prowess.agent.events import CallEnded, Compacted, Failed, Happening, Noticed, Told
from prowess.agent.messages import ToolMessage, UserMessage
from prowess.runtime import Runtime
from prowess.state.conversations import Outcome, TokenUse
from tests.agent.conftest import OPEN
from tests.agent.conversations import ask, find, hear, open_chat, told, watch
from tests.agent.scripted_model import USE, Answer, Script, ScriptedModel, Wait, call, calls, say
from tests.agent.valid_requests import find_faults
from tests.skills_on_disk import Home, write_skill

LONG = "word " * 300
"""Some 400 tokens."""
BOUNDS = "[turns]\ncompact_tokens = 2000\nkeep_tokens = 450\n"
HEAD = "This conversation was compacted. What was said before, in short:\n\n"
TOO_LONG = ModelFailure("the request is too long", code="model-too-long")


class Summarising(ScriptedModel):
    """A model that can sum up. What it is asked for that is kept apart from its other requests."""

    summarises = True

    def __init__(self, *answers: Answer, script: Script | None = None, summary: Answer | None = None) -> None:
        super().__init__(*answers, script=script)
        self.summary = say("They talked.") if summary is None else summary
        self.summaries: list[ModelRequest] = []

    def _choose(self, request: ModelRequest) -> Answer:
        if request.system != SUMMARISE:
            return super()._choose(request)
        self.summaries.append(self.requests.pop())
        return self.summary


def agree(_request: ModelRequest) -> Answer:
    """Answer anything."""
    return say("Yes.")


def activate(*names: str) -> Script:
    """Return a script that activates skills, one a request, when it is asked to begin, and else agrees."""

    def answer(request: ModelRequest) -> Answer:
        last = request.messages[-1]
        if isinstance(last, UserMessage) and last.text == "Begin.":
            return calls(*(call("activate_skill", f"call-{name}", name=name) for name in names))
        return say("Yes.")

    return answer


def read_all(request: ModelRequest) -> str:
    """Return all that the model reads but for the system prompt."""
    parts: list[str] = []
    for message in request.messages:
        match message:
            case UserMessage():
                parts += [message.context, message.text]
            case ToolMessage():
                parts.append(message.content)
            case _:
                parts.append(message.text)
    return "\n".join(parts)


def talk_until_compacted(chat: Chat, *, message: str = LONG) -> list[Happening]:
    """Say long things until the conversation is compacted; return what happened in that turn."""
    for _ in range(12):
        happenings = watch(chat, message)
        if find(happenings, Compacted):
            return happenings
    pytest.fail("the conversation was not compacted")


def summary_of(model: ScriptedModel) -> UserMessage:
    """Return what the model was sent in the place of what was compacted."""
    first = model.requests[-1].messages[0]
    assert isinstance(first, UserMessage)
    assert first.context.startswith(HEAD)
    return first


@pytest.fixture
def runtime(home: Home, root: Path) -> Iterator[Runtime]:
    """A runtime over three skills in which conversations are kept short."""
    home.write_settings(OPEN + BOUNDS)
    write_skill(root, "baking", description="Bakes bread.", body="Bake with rye.\n")
    write_skill(root, "sewing", description="Sews coats.", body="Sew with silk.\n")
    with Runtime.open() as opened:
        yield opened


# Who sums up


def test_long_conversation_is_summed_up_by_the_model(runtime: Runtime) -> None:
    model = Summarising(script=agree)
    (event,) = find(talk_until_compacted(open_chat(runtime, model)), Compacted)
    assert (event.by, event.summary, event.use) == ("model", "They talked.", USE)
    assert summary_of(model) == UserMessage("", f"{HEAD}They talked.")
    assert model.requests[-1].messages[-1] == UserMessage(LONG)


def test_summariser_gets_no_tools_and_no_instructions_of_skills(runtime: Runtime) -> None:
    model = Summarising(script=activate("painting"))
    chat = open_chat(runtime, model, instructions="Be brief.")
    watch(chat, "Begin.", "/baking the bread")
    talk_until_compacted(chat)
    (request,) = model.summaries
    (message,) = request.messages
    assert (request.system, request.tools) == (SUMMARISE, ())
    assert isinstance(message, UserMessage)
    shown = message.text + message.context
    assert "Paint with red." not in shown
    assert "Bake with rye." not in shown
    assert "[instructions of skill painting]" in shown
    assert "User: the bread" in shown


def test_what_a_summary_has_used_is_in_the_receipt(runtime: Runtime) -> None:
    done = told(talk_until_compacted(open_chat(runtime, Summarising(script=agree))))
    assert (done.steps, done.use) == (1, USE + USE)
    assert runtime.turns("chat")[0].use == USE + USE


def test_conversation_is_truncated_where_no_model_can_sum_it_up(runtime: Runtime) -> None:
    model = ScriptedModel(script=agree)
    (event,) = find(talk_until_compacted(open_chat(runtime, model)), Compacted)
    assert (event.by, event.use) == ("truncation", TokenUse())
    assert f"User: {LONG[:200]} […]\nAssistant: Yes." in summary_of(model).context


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        ([ModelFailure("the provider is down")], "the provider is down"),
        ([TextPiece("Half a"), ModelFailure("it broke off")], "it broke off"),
        ([TextPiece(" \n")], "the model gave no summary"),
    ],
)
def test_failing_summariser_is_told_and_replaced_by_truncation(runtime: Runtime, summary: Answer, why: str) -> None:
    model = Summarising(script=agree, summary=summary)
    happenings = talk_until_compacted(open_chat(runtime, model))
    (event,) = find(happenings, Compacted)
    assert [one.text for one in find(happenings, Noticed)] == [
        f"the conversation was not summed up but truncated: {why}"
    ]
    assert (event.by, told(happenings).outcome) == ("truncation", Outcome.ANSWERED)
    assert "Assistant: Yes." in summary_of(model).context


def test_void_beginning_of_a_summary_is_left_out(runtime: Runtime) -> None:
    model = Summarising(script=agree, summary=[TextPiece("Wro"), RetryPiece("again", 2, 0.0), *say("Right.")])
    (event,) = find(talk_until_compacted(open_chat(runtime, model)), Compacted)
    assert event.summary == "Right."


def test_endless_summary_is_cut_and_says_so(runtime: Runtime) -> None:
    model = Summarising(script=agree, summary=say("and so on " * 10_000))
    (event,) = find(talk_until_compacted(open_chat(runtime, model)), Compacted)
    assert event.summary.startswith("and so on and so on")
    assert event.summary.endswith(" […]")
    assert event.tokens_after < 2000


def test_summary_without_end_is_not_listened_to(runtime: Runtime) -> None:
    model = Summarising(script=agree, summary=[TextPiece("x" * 1_000_000)] * 5)
    happenings = talk_until_compacted(open_chat(runtime, model))
    (event,) = find(happenings, Compacted)
    assert event.by == "truncation"
    assert "has more than 4,000,000 characters" in find(happenings, Noticed)[0].text


@pytest.mark.parametrize(
    ("summary", "requests"),
    [
        ([TextPiece("Wro"), RetryPiece("again", 2, 0.0), *say("Right.")], 3),
        ([ModelFailure("the provider is down")], 2),
        ([RetryPiece("again", 2, 0.0), ModelFailure("the provider is down")], 3),
    ],
)
def test_requests_that_came_to_nothing_are_counted(runtime: Runtime, summary: Answer, requests: int) -> None:
    done = told(talk_until_compacted(open_chat(runtime, Summarising(script=agree, summary=summary))))
    assert done.use.requests == requests


def test_summary_is_summed_up_with_what_came_after_it(runtime: Runtime) -> None:
    model = Summarising(script=agree)
    chat = open_chat(runtime, model)
    talk_until_compacted(chat)
    model.summary = say("They talked more.")
    talk_until_compacted(chat)
    (message,) = model.summaries[-1].messages
    assert isinstance(message, UserMessage)
    assert message.text.count("They talked.") == 1
    assert summary_of(model).context == f"{HEAD}They talked more."


def test_truncation_of_the_truncated_keeps_the_latest_and_counts_what_it_leaves_out(runtime: Runtime) -> None:
    model = ScriptedModel(script=agree)
    chat = open_chat(runtime, model)
    for number in range(40):
        ask(chat, f"Number {number}: {LONG}")
    context = summary_of(model).context
    lines = context.removeprefix(HEAD).split("\n")
    assert context.count("This conversation was compacted") == 1
    kept = [line for line in lines if line.startswith("User: Number ")]
    numbers = [int(line.removeprefix("User: Number ").partition(":")[0]) for line in kept]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert lines[0] == f"[{2 * (numbers[-1] + 1) - len(lines) + 1} earlier messages are left out]"


# Skills


def test_active_skills_are_given_again_the_newest_first(runtime: Runtime) -> None:
    model = Summarising(script=activate("painting", "baking"))
    chat = open_chat(runtime, model)
    watch(chat, "Begin.")
    (event,) = find(talk_until_compacted(chat), Compacted)
    assert (event.skills, event.dropped) == (("baking", "painting"), ())
    context = summary_of(model).context
    assert context.index("Bake with rye.") < context.index("Paint with red.")
    assert context.endswith(
        "Active skills: painting, baking. Their instructions hold; they need not be activated again."
    )


@pytest.mark.requirement("J9")
def test_skills_without_room_are_told_as_active_before(home: Home, root: Path) -> None:
    home.write_settings(f"{OPEN}{BOUNDS}[prompt]\nreattach_tokens = 160\n")
    for name in ("old", "middle", "new"):
        write_skill(root, name, body=f"{name.upper()} is the word. {'Mind it. ' * 30}\n")
    with Runtime.open() as runtime:
        model = Summarising(script=activate("old", "middle", "new"))
        chat = open_chat(runtime, model)
        watch(chat, "Begin.")
        (event,) = find(talk_until_compacted(chat), Compacted)
        assert (event.skills, event.dropped) == (("new",), ("middle", "old"))
        context = summary_of(model).context
        assert context.endswith(
            "Active skills: new. Their instructions hold; they need not be activated again.\n"
            "Active before: old, middle. Activate them again before you go by them."
        )
        assert "OLD is the word" not in read_all(model.requests[-1])
        again = watch(open_chat(runtime, ScriptedModel(call("activate_skill", name="old"), say("a"))), "Go on.")
        assert "OLD is the word" in find(again, CallEnded)[0].content


def test_changed_skill_is_not_given_again(runtime: Runtime, root: Path) -> None:
    model = Summarising(script=activate("painting", "baking"))
    chat = open_chat(runtime, model)
    watch(chat, "Begin.")
    write_skill(root, "painting", description="Paints walls. Use for walls.", body="Paint with blood.\n")
    (event,) = find(talk_until_compacted(chat), Compacted)
    assert (event.skills, event.dropped) == (("baking",), ("painting",))
    assert "Paint with" not in read_all(model.requests[-1])
    assert "Active before: painting." in summary_of(model).context


def test_deactivated_skill_is_not_given_again(runtime: Runtime) -> None:
    model = Summarising(script=activate("painting", "baking"))
    chat = open_chat(runtime, model)
    watch(chat, "Begin.")
    chat.session.deactivate("painting")
    (event,) = find(talk_until_compacted(chat), Compacted)
    assert (event.skills, event.dropped) == (("baking",), ())
    assert "painting" not in read_all(model.requests[-1])


@pytest.mark.parametrize("audience", list(Audience))
@pytest.mark.parametrize("how", ["call", "mention"])
def test_instructions_that_are_kept_are_not_given_twice(runtime: Runtime, how: str, audience: Audience) -> None:
    model = Summarising(script=activate("baking"))
    chat = open_chat(runtime, model, audience=audience)
    ask(chat, LONG, LONG, LONG, "word " * 130, "Begin." if how == "call" else "/baking the bread")
    assert model.summaries == []
    happenings = watch(chat, "word " * 180)
    (event,) = find(happenings, Compacted)
    assert (event.skills, event.dropped, event.kept_messages) == ((), (), 5 if how == "call" else 3)
    assert read_all(model.requests[-1]).count("Bake with rye.") == 1
    assert summary_of(model).context.endswith(
        "Active skills: baking. Their instructions hold; they need not be activated again."
    )


def test_catalog_is_told_anew_with_what_is_new_in_it(runtime: Runtime, root: Path) -> None:
    model = Summarising(script=agree)
    chat = open_chat(runtime, model)
    ask(chat, "Hi.")
    before = model.requests[0].system
    write_skill(root, "carving", description="Carves wood.")
    happenings = talk_until_compacted(chat)
    assert "carving" not in model.requests[-2].system
    (event,) = find(happenings, Told)
    assert model.requests[-1].system == event.system == chat.session.standing_prompt(dialect="openai")
    assert all(name in event.system for name in ("painting", "baking", "sewing", "Carves wood."))
    assert before != event.system
    assert find(talk_until_compacted(chat), Told) == []


def test_skill_of_a_fork_is_given_again_in_it(runtime: Runtime, root: Path) -> None:
    write_skill(root, "deploy", description="Deploys.", extra="sandbox: true\n", body="Ship it with care.\n")
    write_skill(root, "long", files={"long.md": "word " * 250})

    def answer(request: ModelRequest) -> Answer:
        if "You are a subagent" not in request.system:
            is_done = isinstance(request.messages[-1], ToolMessage)
            return say("Done.") if is_done else call("activate_skill", name="deploy", arguments="Ship version 2.")
        assert "Ship it with care." in read_all(request)
        assert "Ship version 2." in read_all(request)
        assert find_faults(request.messages) == []
        count = len([one for one in model.requests if "You are a subagent" in one.system])
        return say("Shipped.") if count > 12 else call("read_skill_resource", f"{count}", name="long", path="long.md")

    model = Summarising(script=answer)
    happenings = watch(open_chat(runtime, model), "Go.")
    assert len(find(happenings, Compacted)) > 1
    assert told(happenings).text == "Done."
    assert find(happenings, CallEnded)[-1].content == "Shipped."


def test_instructions_never_take_more_than_half_of_what_there_is_room_for(home: Home, root: Path) -> None:
    home.write_settings(OPEN + BOUNDS)
    for name in ("old", "new"):
        write_skill(root, name, body=f"{name.upper()} is the word. {'Mind it. ' * 350}\n")
    with Runtime.open() as runtime:
        model = Summarising(script=activate("old", "new"))
        chat = open_chat(runtime, model)
        happenings = watch(chat, "Begin.", "And now?")
        (event,) = find(happenings, Compacted)
        assert event.skills[0] == "new"
        assert chat.session.count_tokens(event.attached) < 1_050  # With the names of active skills.
        assert event.tokens_after < 1_500
        assert told(happenings).outcome is Outcome.ANSWERED


# What is being worked on


def working(count: int, *, path: str = "long.md") -> Script:
    """Return a script that reads a long file this many times before it answers."""
    made: list[ModelRequest] = []

    def answer(request: ModelRequest) -> Answer:
        if request.messages[-1] == UserMessage("Hi."):
            return say("Hello.")
        made.append(request)
        done = len(made) > count
        return say("Done.") if done else call("read_skill_resource", f"{len(made)}", name="long", path=path)

    return answer


@pytest.mark.parametrize("kind", [ScriptedModel, Summarising])
def test_running_request_survives_word_for_word_however_often_its_turn_is_compacted(
    runtime: Runtime, root: Path, kind: type[ScriptedModel]
) -> None:
    write_skill(root, "long", files={"long.md": LONG})
    model = kind(script=working(20))
    wish = f"Count the words: {'and the lines, ' * 100}thank you."
    happenings = watch(open_chat(runtime, model), "Hi.", wish)
    assert len(find(happenings, Compacted)) > 2
    for request in model.requests[1:]:
        assert [one for one in request.messages if isinstance(one, UserMessage)][-1].text == wish
        assert find_faults(request.messages) == []


def test_message_that_was_just_said_is_never_cut_off(runtime: Runtime) -> None:
    model = Summarising(script=agree)
    chat = open_chat(runtime, model)
    ask(chat, LONG, LONG, LONG)
    long = "much " * 650
    (event,) = find(watch(chat, long), Compacted)
    assert event.kept_messages == 1
    assert model.requests[-1].messages == (UserMessage("", f"{HEAD}They talked."), UserMessage(long))


def test_result_that_no_model_has_seen_is_never_cut_off(runtime: Runtime, root: Path) -> None:
    long = "much " * 650
    write_skill(root, "long", files={"long.md": long})
    model = Summarising(say("a"), say("b"), call("read_skill_resource", name="long", path="long.md"), say("Done."))
    chat = open_chat(runtime, model)
    happenings = watch(chat, LONG, LONG, "Read it.")
    (event,) = find(happenings, Compacted)
    assert event.kept_messages == 2
    summary, *_, result = model.requests[-1].messages
    assert summary == UserMessage("Read it.", f"{HEAD}They talked.")
    assert isinstance(result, ToolMessage)
    assert result.content == long


def test_message_that_is_too_long_altogether_is_shortened_and_says_so(runtime: Runtime) -> None:
    model = Summarising(script=agree)
    (event,) = find(watch(open_chat(runtime, model), "much " * 20_000), Compacted)
    summary = summary_of(model)
    assert summary.text.startswith("much much")
    assert summary.text.endswith(" […]")
    assert event.kept_messages == 0


# No loops


def test_each_request_compacts_at_most_once(home: Home, root: Path) -> None:
    home.write_settings(f"{OPEN}[turns]\ncompact_tokens = 1\nkeep_tokens = 1\n")
    with Runtime.open() as runtime:
        model = ScriptedModel(script=working(5))
        happenings = watch(open_chat(runtime, model), "Hi.", LONG)
    assert len(find(happenings, Compacted)) <= len(model.requests) == 7
    assert all(find_faults(request.messages) == [] for request in model.requests)


class Reporting(Summarising):
    """A model whose provider counts many more tokens than we do."""

    counted = 1_900
    counted_each = 300

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        async for piece in super().stream(request):
            yield piece
        if request.system != SUMMARISE:
            yield FinishPiece(TokenUse(1, self.counted + self.counted_each * len(request.messages), 10))


def test_provider_that_counts_more_does_not_have_every_request_compacted(runtime: Runtime) -> None:
    model = Reporting(script=agree)
    happenings = watch(open_chat(runtime, model), *(f"Number {number}." for number in range(40)))
    assert 2 < len(find(happenings, Compacted)) < 14


def test_what_came_after_the_provider_counted_is_added_to_its_number(runtime: Runtime, root: Path) -> None:
    write_skill(root, "long", files={"long.md": "much " * 500})
    model = Reporting(script=working(1))
    model.counted, model.counted_each = 1_500, 0
    happenings = watch(open_chat(runtime, model), "Read it.")
    (event,) = find(happenings, Compacted)
    assert 2_000 < event.tokens_before < 2_500
    assert model.summaries != []


def test_request_that_fails_after_a_compaction_is_no_reason_for_another(runtime: Runtime) -> None:
    fail: list[bool] = []
    model = Reporting(script=lambda _: [ModelFailure("no luck")] if fail else say("Yes."))
    chat = open_chat(runtime, model)
    ask(chat, "One.")
    fail.append(True)
    assert len(find(watch(chat, "Two."), Compacted)) == 1
    assert find(watch(chat, "Three.", "Four."), Compacted) == []


def test_request_that_is_too_long_is_asked_again_once_after_compaction(runtime: Runtime) -> None:
    model = Summarising(say("a"), [TOO_LONG], say("b"), say("c"))
    happenings = watch(open_chat(runtime, model), "Hi.", "And now?", "And then?")
    (event,) = find(happenings, Compacted)
    assert find(happenings, Failed) == []
    assert event.kept_messages == 1
    assert model.requests[2].messages == (UserMessage("", f"{HEAD}They talked."), UserMessage("And now?"))


def test_request_that_stays_too_long_fails_the_turn_and_the_next_message_works(runtime: Runtime) -> None:
    model = Summarising(say("a"), [TOO_LONG], [TOO_LONG], say("b"))
    happenings = watch(open_chat(runtime, model), "Hi.", "And now?", "And then?")
    assert [one.code for one in find(happenings, Failed)] == ["model-too-long"]
    assert len(find(happenings, Compacted)) == 1
    assert told(happenings).text == "b"
    assert [turn.outcome for turn in runtime.turns("chat")] == [Outcome.ANSWERED, Outcome.FAILED, Outcome.ANSWERED]


def test_refused_conversation_becomes_much_shorter_though_it_was_thought_to_fit(home: Home, root: Path) -> None:
    home.write_settings(OPEN)
    limit = 2_500
    refused: list[int] = []

    def answer(request: ModelRequest) -> Answer:
        size = chat.session.count_tokens(request.system + read_all(request))
        if size > limit:
            refused.append(size)
            return [TOO_LONG]
        return say("Yes.")

    with Runtime.open() as runtime:
        model = Summarising(script=answer)
        chat = open_chat(runtime, model)
        happenings = watch(chat, *([LONG] * 20))
    assert find(happenings, Failed) == []
    assert 0 < len(refused) < 8


# What stays


@pytest.mark.parametrize("kind", [ScriptedModel, Summarising])
def test_reload_gives_the_same_messages(runtime: Runtime, kind: type[ScriptedModel]) -> None:
    model = kind(script=activate("painting", "baking"))
    chat = open_chat(runtime, model)
    watch(chat, "Begin.")
    talk_until_compacted(chat)
    talk_until_compacted(chat)
    with Runtime.open() as other:
        again = open_chat(other, kind(script=agree))
        assert again.messages() == chat.messages()
        ask(again, "And now?")
        said = again.messages()
    ask(chat, "And then?")
    assert model.requests[-1].messages == (*said, UserMessage("And then?"))


def test_half_characters_in_a_summary_are_the_same_after_a_reload(runtime: Runtime) -> None:
    model = Summarising(script=agree, summary=say("They talked \ud83d."))
    chat = open_chat(runtime, model)
    talk_until_compacted(chat)
    assert open_chat(runtime, ScriptedModel()).messages() == chat.messages()
    assert summary_of(model).context == f"{HEAD}They talked \ufffd."


def test_numbers_of_a_compaction_are_those_of_the_conversation(runtime: Runtime) -> None:
    model = Summarising(script=agree)
    chat = open_chat(runtime, model)
    (event,) = find(talk_until_compacted(chat), Compacted)
    count = chat.session.count_tokens
    before, after = model.requests[-2], model.requests[-1]
    said = count("Yes.") + count(LONG)  # The answer, and the message that made the conversation too long.
    assert event.tokens_before == count(before.system) + _measure(chat, before) + said
    assert event.tokens_after == count(after.system) + _measure(chat, after)
    assert event.tokens_after < 2000 < event.tokens_before
    assert event.kept_messages == len(after.messages) - 1


def _measure(chat: Chat, request: ModelRequest) -> int:
    count = chat.session.count_tokens
    return sum(
        count(message.content) if isinstance(message, ToolMessage) else count(message.text) + count(_context(message))
        for message in request.messages
    )


def _context(message: object) -> str:
    return message.context if isinstance(message, UserMessage) else ""


def test_cancelled_summary_leaves_the_conversation_as_it_was(runtime: Runtime) -> None:
    wait = Wait()
    model = Summarising(script=agree, summary=[*say("They "), wait])
    chat = open_chat(runtime, model)
    ask(chat, *([LONG] * 4))

    async def cancel() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(hear, chat, LONG)
            await wait.reached.wait()
            assert chat.cancel()

    anyio.run(cancel)
    assert [message.text for message in chat.messages() if isinstance(message, UserMessage)] == [LONG] * 5
    model.summary = say("They talked.")
    assert len(find(watch(chat, "And now?"), Compacted)) == 1
    assert find_faults(model.requests[-1].messages) == []
