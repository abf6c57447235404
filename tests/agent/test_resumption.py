"""What is decided of a turn that was left, from its events alone."""

from collections.abc import Sequence

from prowess.agent.events import (
    Answered,
    Asked,
    Begun,
    CallBegun,
    CallEnded,
    Compacted,
    ConsentAnswered,
    ConsentAsked,
    Done,
    Event,
    Failed,
    ForkBegun,
    ForkEnded,
    Happening,
    Noticed,
    Resumed,
)
from prowess.agent.messages import ToolCall
from prowess.agent.resumption import Closing, Resumption, Standing, decide_resumption
from prowess.state.conversations import Outcome, TokenUse

BEGUN = Begun(message="Work.", model="m")
ASKED = Asked(text="Work.", system="Besides.")
USE = TokenUse(requests=1, input_tokens=10)


def happen(*events: Event | tuple[str, Event], turn: str = "t", start: int = 1) -> list[Happening]:
    """Return events as they stand in a log; those of a fork with its id."""
    placed = [event if isinstance(event, tuple) else ("", event) for event in events]
    return [
        Happening(event=event, turn=turn, number=number, within=within, at=float(number))
        for number, (within, event) in enumerate(placed, start)
    ]


def decide(*events: Event | tuple[str, Event]) -> Resumption:
    return decide_resumption(happen(*events), "t")


def wants(*calls: str, text: str = "") -> Answered:
    return Answered(text=text, calls=tuple(ToolCall(call, "Tool", "{}") for call in calls), use=USE)


def begins(call: str) -> CallBegun:
    return CallBegun(call=call, tool="tool", role="run")


def ends(call: str) -> CallEnded:
    return CallEnded(call=call, tool="tool")


def forks(fork: str, call: str = "") -> ForkBegun:
    return ForkBegun(call=call, fork=fork, skill="s", name="s", digest="0")


def asks(question: str, call: str = "") -> ConsentAsked:
    return ConsentAsked(call=call, question=question, title="?", record={})


def show(closings: Sequence[Closing]) -> list[tuple[str, str]]:
    """Return where and what the closings are."""
    return [(one.within, type(one.event).__name__) for one in closings]


def test_turn_that_nobody_has_told_of_is_unknown() -> None:
    other = happen(BEGUN, ASKED, turn="other")
    assert decide_resumption(other, "t") == Resumption(Standing.UNKNOWN)


def test_message_is_taken_anew_until_the_model_has_it() -> None:
    assert decide(BEGUN, Noticed(text="…")) == Resumption(Standing.BEGUN, message="Work.", begun_at=1.0)


def test_model_is_asked_when_it_has_the_message_or_all_results() -> None:
    assert decide(BEGUN, ASKED) == Resumption(Standing.ASKED, message="Work.", begun_at=1.0, system="Besides.")
    found = decide(BEGUN, ASKED, wants("a", text="Well."), begins("a"), ends("a"), Resumed(id="1"))
    assert (found.standing, found.closings, found.unbegun) == (Standing.ASKED, (), ())
    assert (found.text, found.steps, found.calls, found.use) == ("Well.", 1, 1, USE)


def test_calls_that_have_begun_are_broken_off_and_others_are_made() -> None:
    found = decide(BEGUN, ASKED, wants("a", "b", "c", "d"), begins("a"), ends("a"), begins("b"))
    (closing,) = found.closings
    assert isinstance(closing.event, CallEnded)
    assert (closing.event.call, closing.event.tool, closing.event.role) == ("b", "Tool", "run")
    assert (closing.event.state, closing.within) == ("cancelled", "")
    assert [call.id for call in found.unbegun] == ["c", "d"]


def test_calls_of_former_answers_are_not_made_again() -> None:
    assert decide(BEGUN, ASKED, wants("a"), begins("a"), ends("a"), wants("b")).unbegun == wants("b").calls


def test_end_is_missing_after_an_answer_or_an_error() -> None:
    answered = decide(BEGUN, ASKED, wants(text="Yes."))
    assert (answered.standing, answered.outcome, answered.text) == (Standing.ANSWERED, Outcome.ANSWERED, "Yes.")
    failed = decide(BEGUN, ASKED, wants("a", text="Well."), begins("a"), ends("a"), Failed(code="x", message="x"))
    assert (failed.standing, failed.outcome, failed.text) == (Standing.ANSWERED, Outcome.FAILED, "Well.")


def test_end_that_is_there_is_found_and_nothing_is_closed() -> None:
    log = happen(BEGUN, ASKED, wants("a"), begins("a"), Done(text="", outcome=Outcome.CANCELLED))
    found = decide_resumption(log, "t")
    assert (found.standing, found.done, found.closings) == (Standing.DONE, log[-1], ())


def test_forks_end_from_the_inside_before_their_calls() -> None:
    found = decide(
        BEGUN,
        ASKED,
        wants("a"),
        begins("a"),
        forks("f", "a"),
        ("f", BEGUN),
        ("f", ASKED),
        ("f", wants("a")),
        ("f", begins("a")),
        ("f", asks("q", "a")),
        ("f", forks("g", "a")),
        ("g", BEGUN),
        ("g", wants("b")),
    )
    assert show(found.closings) == [
        ("f", "ConsentAnswered"),
        ("g", "Done"),
        ("f", "ForkEnded"),
        ("f", "CallEnded"),
        ("f", "Done"),
        ("", "ForkEnded"),
        ("", "CallEnded"),
    ]
    inner, outer = (one.event for one in found.closings if isinstance(one.event, ForkEnded))
    assert inner == ForkEnded(call="a", fork="g", outcome=Outcome.CANCELLED, use=USE, steps=1)
    assert outer == ForkEnded(call="a", fork="f", outcome=Outcome.CANCELLED, use=USE + USE, steps=1)
    assert (found.use, found.forked_use, found.forks, found.calls) == (USE, USE + USE, 2, 1)


def test_fork_of_a_message_ends_before_that_is_taken_anew() -> None:
    found = decide(BEGUN, forks("f"), ("f", BEGUN), ("f", Done(text="Shipped.")))
    assert (found.standing, show(found.closings)) == (Standing.BEGUN, [("", "ForkEnded")])


def test_question_is_closed_as_often_as_it_was_asked() -> None:
    answered = ConsentAnswered(call="", question="q", answer="nobody")
    found = decide(BEGUN, asks("q"), answered, Resumed(id="1"), asks("q"))
    assert found.closings == (Closing(answered, asked=asks("q")),)
    assert found.consents == ((asks("q"), "nobody"),)


def test_use_of_summaries_and_of_ended_forks_counts() -> None:
    joined = ForkEnded(call="a", fork="f", outcome=Outcome.ANSWERED, use=USE)
    found = decide(BEGUN, ASKED, wants("a"), Compacted(summary="", by="model", use=USE), joined)
    assert (found.use, found.forked_use, found.steps) == (USE + USE, USE, 1)


def test_answer_that_no_model_gave_is_no_step() -> None:
    assert decide(BEGUN, ASKED, Answered(text="painting is active.")).steps == 0


def test_another_message_overtakes_a_turn_for_good() -> None:
    log = [*happen(BEGUN, ASKED), *happen(BEGUN, turn="other", start=3), *happen(Resumed(id="1"), start=4)]
    assert decide_resumption(log, "t").standing is Standing.OVERTAKEN
    assert decide_resumption(log, "other").standing is Standing.BEGUN
