"""What the events of a conversation add up to for a model."""

from hypothesis import given
from hypothesis import strategies as st

from prowess.agent.events import (
    Answered,
    Asked,
    Begun,
    CallBegun,
    CallEnded,
    Compacted,
    Done,
    Event,
    TextHeard,
    Told,
    parse_event,
    render_event,
)
from prowess.agent.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from prowess.agent.transcript import Transcript

LOST = "The call was ended before it gave a result. What it has done until then may stand."


def take(*events: Event) -> Transcript:
    transcript = Transcript(len)
    for event in events:
        transcript.take(event)
    return transcript


def asked(text: str = "hello") -> Asked:
    return Asked(text=text)


def answered(text: str = "", *calls: str) -> Answered:
    return Answered(text=text, calls=tuple(ToolCall(one, "tool", "{}") for one in calls))


def ended(call: str, content: str = "done", **options: str) -> CallEnded:
    return CallEnded(call=call, tool="tool", content=content, **options)  # type: ignore[arg-type]


def test_messages_stand_in_the_order_of_their_events() -> None:
    transcript = take(
        Told(system="Be kind."), asked("hi"), answered("", "1"), ended("1", "found"), answered("There."), asked("more")
    )
    assert transcript.system == "Be kind."
    assert transcript.messages == (
        UserMessage("hi"),
        AssistantMessage("", (ToolCall("1", "tool", "{}"),)),
        ToolMessage("1", "tool", "found"),
        AssistantMessage("There."),
        UserMessage("more"),
    )


def test_what_is_only_for_those_who_watch_changes_nothing() -> None:
    watched = (Begun(message="hi", model="m"), TextHeard(text="a"), CallBegun(call="1", tool="tool"), Done(text="a"))
    assert take(asked(), *watched, answered("a")).messages == take(asked(), answered("a")).messages


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    transcript = take(asked(), answered("", "1", "2"), ended("1"))
    assert transcript.messages[-1] == ToolMessage("2", "tool", LOST, is_error=True)
    transcript.take(asked("again"))
    assert transcript.messages[-2:] == (ToolMessage("2", "tool", LOST, is_error=True), UserMessage("again"))


def test_a_result_that_nobody_asked_for_is_left_out() -> None:
    assert take(asked(), ended("9"), answered("a")).messages == (UserMessage("hello"), AssistantMessage("a"))


def test_a_failed_call_is_an_error_for_the_model() -> None:
    transcript = take(asked(), answered("", "1"), ended("1", "no", state="refused"))
    assert transcript.messages[-1] == ToolMessage("1", "tool", "no", is_error=True)


def test_instructions_are_found_again_by_their_receipts() -> None:
    mentioned = Asked(text="hello", receipts=("r1",))
    transcript = take(mentioned, answered("", "1"), ended("1", receipt="r2"), answered("x"), asked())
    assert [entry.receipts for entry in transcript.entries] == [("r1",), (), ("r2",), (), ()]


def test_compaction_leaves_a_summary_and_the_last_messages() -> None:
    compacted = Compacted(summary="They met.", by="model", attached="<skill_content/>", kept_messages=1)
    transcript = take(asked("hi"), answered("yes"), asked("and"), compacted, answered("so"))
    summary, kept, new = transcript.messages
    assert isinstance(summary, UserMessage)
    assert (summary.text, kept, new) == ("", UserMessage("and"), AssistantMessage("so"))
    assert summary.context.endswith("They met.\n\n<skill_content/>")


def test_compaction_of_everything_leaves_the_summary_alone() -> None:
    transcript = take(asked("hi"), answered("yes"), Compacted(summary="They met.", by="model"))
    assert len(transcript.messages) == 1


def test_its_length_is_that_of_all_that_a_model_reads() -> None:
    transcript = take(Told(system="12345"), Asked(text="123", context="12"), answered("1234"))
    assert transcript.tokens == 5 + 5 + 4


texts = st.text(max_size=20)
call_ids = st.sampled_from(["1", "2", "3"])
events = st.one_of(
    st.builds(Told, system=texts),
    st.builds(Asked, text=texts, context=texts),
    st.builds(
        Answered,
        text=texts,
        calls=st.lists(call_ids, unique=True, max_size=3).map(lambda ids: answered("", *ids).calls),
    ),
    st.builds(CallEnded, call=call_ids, tool=st.just("tool"), content=texts, state=st.sampled_from(["done", "failed"])),
    st.builds(Compacted, summary=texts, by=st.just("model"), kept_messages=st.just(0)),
)


@given(st.lists(events, max_size=30))
def test_every_call_has_exactly_one_result_right_after_it(stream: list[Event]) -> None:
    waiting: list[str] = []
    for message in take(*stream).messages:
        match message:
            case AssistantMessage(calls=calls):
                assert not waiting
                waiting = [call.id for call in calls]
            case ToolMessage(call=call):
                waiting.remove(call)
            case UserMessage():
                assert not waiting
    assert not waiting


@given(st.lists(events, max_size=30))
def test_a_reload_gives_the_same_conversation(stream: list[Event]) -> None:
    first, again = take(*stream), take(*(parse_event(render_event(event)) for event in stream))
    assert (again.system, again.messages, again.tokens) == (first.system, first.messages, first.tokens)
