"""What happens in a conversation, as it stands on the screen, letter by letter.

The files are in `golden/chat`. When one is meant to change, write them anew by
`PROWESS_REWRITE_GOLDEN=1 python -m pytest tests/surfaces/chat/test_screen.py` and read the difference.
"""

import io
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

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
    OutputHeard,
    Resumed,
    Retried,
    SkillLoaded,
    TextHeard,
    ThinkingHeard,
    Told,
)
from prowess.agent.messages import ToolCall
from prowess.state.conversations import Outcome, TokenUse
from prowess.surfaces.cli.chat.screen import Detail, Screen
from prowess.surfaces.cli.chat.terminal_stream import TerminalStream

_GOLDEN = Path(__file__).parents[2] / "golden" / "chat"
_REWRITE = os.environ.get("PROWESS_REWRITE_GOLDEN") == "1"
_USE = TokenUse(requests=2, input_tokens=12_345, output_tokens=678, cached_tokens=9_000, cost_usd=0.0123)
_HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202egone"


def _loaded(name: str) -> SkillLoaded:
    return SkillLoaded(
        name=name, skill=f"core:{name}", digest="0", receipt="r", asked_by="model", text=f"⚡ Skill loaded: {name}"
    )


_ANSWER: list[Event] = [
    Begun(message="Survey this.", model="offline"),
    Told(system="You are …"),
    Asked(text="Survey this."),
    ThinkingHeard(text="Let me"),
    ThinkingHeard(text=" see."),
    TextHeard(text="I look at "),
    TextHeard(text="the skill first."),
    Answered(text="I look at the skill first.", calls=(ToolCall("c1", "activate_skill", "{}"),)),
    CallBegun(call="c1", tool="activate_skill", role="activate", arguments={"name": "repo-survey"}),
    CallEnded(call="c1", tool="activate_skill", summary="Skill repo-survey activated", seconds=0.04),
    _loaded("repo-survey"),
    CallBegun(
        call="c2",
        tool="run_skill_script",
        role="run",
        arguments={"arguments": ["--top", "two words"], "script": "scripts/survey.py", "name": "repo-survey"},
    ),
    ConsentAsked(call="c2", question="q1", title="Run it", record={}),
    ConsentAnswered(call="c2", question="q1", answer="allow-once"),
    OutputHeard(call="c2", stream="stdout", text="one\ntw"),
    OutputHeard(call="c2", stream="stdout", text="o\nthr"),
    OutputHeard(call="c2", stream="stderr", text="careful\n"),
    OutputHeard(call="c2", stream="stdout", text="10%\r"),
    OutputHeard(call="c2", stream="stdout", text="20%\r\ndone"),
    CallEnded(call="c2", tool="run_skill_script", summary="Ran scripts/survey.py", seconds=1.26),
    TextHeard(text="# It is\n\n- a *repository*\n"),
    Answered(text="# It is\n\n- a *repository*\n"),
    Done(text="# It is\n\n- a *repository*\n", use=_USE, steps=2, seconds=3.14),
]
_STATES: list[Event] = [
    Begun(message="Do it.", model="offline"),
    *(
        event
        for number, (state, summary) in enumerate(
            [
                ("done", 'Found 3 skills for "forms"'),
                ("failed", "no such file"),
                ("refused", "the user refused skill 'x'"),
                ("cancelled", "it was stopped"),
                ("done", ""),
            ]
        )
        for event in (
            CallBegun(call=f"c{number}", tool="search_skills", arguments={"query": "forms", "limit": 3}),
            CallEnded(call=f"c{number}", tool="search_skills", state=state, summary=summary, seconds=number),
        )
    ),
    CallBegun(call="p", tool="run_python", arguments={"code": "for name in names:\n    skill(name)\n"}),
    CallBegun(call="n", tool="nothing"),
    CallBegun(
        call="o", tool="other", arguments={"list": [1, 2], "text": "é", "name": 3, "path": "", "query": "x" * 300}
    ),
    Noticed(text="the model gave an empty answer"),
    Compacted(
        summary="…", by="model", skills=("b", "a"), dropped=("c",), tokens_before=90_000, tokens_after=12_000, use=_USE
    ),
    Compacted(summary="…", by="truncation", tokens_before=100, tokens_after=10),
    Done(text="", outcome=Outcome.STOPPED, use=TokenUse(requests=1, input_tokens=5), seconds=0.5),
]
_FAILING: list[Event] = [
    Begun(message="Hello.", model="openai:x"),
    TextHeard(text="I begin"),
    Retried(reason="status 500", attempt=2, seconds=2.0),
    Retried(reason="status 500", attempt=3, seconds=4.5),
    Failed(
        code="model-failed", message="the provider failed 3 times: status 500", hint="try again later", kind="world"
    ),
    Done(text="", outcome=Outcome.FAILED, seconds=7.0),
]
_FORKING: list[tuple[Event, str]] = [
    (Begun(message="Deploy.", model="offline"), ""),
    (CallBegun(call="c1", tool="activate_skill", arguments={"name": "deploy", "run_in": "fork"}), ""),
    (
        ForkBegun(
            call="c1",
            fork="f1",
            skill="core:deploy",
            name="deploy",
            digest="0",
            permissions=("@network", "@read:/work"),
            granted_by="deploy Skill",
        ),
        "",
    ),
    (Begun(message="Deploy.", model="offline"), "f1"),
    (TextHeard(text="words of the subagent"), "f1"),
    (Answered(text="words of the subagent"), "f1"),
    (CallBegun(call="i1", tool="run_skill_script", arguments={"name": "deploy", "script": "scripts/go.sh"}), "f1"),
    (OutputHeard(call="i1", stream="stdout", text="going\n"), "f1"),
    (CallEnded(call="i1", tool="run_skill_script", summary="Ran scripts/go.sh", seconds=0.2), "f1"),
    (
        ForkBegun(
            call="i2", fork="f2", skill="core:check", name="check", digest="0", granted_by="check Skill", depth=2
        ),
        "f1",
    ),
    (Noticed(text="something to know"), "f2"),
    (Failed(code="model-failed", message="the provider is gone"), "f2"),
    (Done(text="", outcome=Outcome.FAILED), "f2"),
    (ForkEnded(call="i2", fork="f2", outcome=Outcome.FAILED, steps=1, seconds=0.1), "f1"),
    (Done(text="Deployed."), "f1"),
    (ForkEnded(call="c1", fork="f1", outcome=Outcome.ANSWERED, text="Deployed.", use=_USE, steps=2, seconds=1.0), ""),
    (CallEnded(call="c1", tool="activate_skill", summary="Skill deploy answered", seconds=1.1), ""),
    (TextHeard(text="It is deployed."), ""),
    (Answered(text="It is deployed."), ""),
    (Done(text="It is deployed.", use=_USE, seconds=1.2), ""),
]
_HOSTILE_EVENTS: list[Event] = [
    Begun(message="x", model="offline"),
    CallBegun(call="c1", tool=f"tool{_HOSTILE}", arguments={"name": _HOSTILE, f"key{_HOSTILE}": _HOSTILE}),
    OutputHeard(call="c1", stream="stdout", text=f"out{_HOSTILE}\n  ✓ looks like ours\n"),
    CallEnded(call="c1", tool="t", summary=f"done{_HOSTILE}\n✓ forged", seconds=0),
    _loaded(_HOSTILE),
    Noticed(text=f"note\n✓ forged{_HOSTILE}"),
    TextHeard(text="an answer \x1b"),
    TextHeard(text=f"[31m{_HOSTILE}\r"),
    TextHeard(text="\nnext\r\x9b1m 👩‍💻"),
    Answered(text="…"),
    Failed(code="x", message=_HOSTILE, hint=_HOSTILE),
    Done(text="…", outcome=Outcome.FAILED),
]


def _play(
    events: Sequence[Event | tuple[Event, str]],
    *,
    detail: Detail = Detail.FULL,
    width: int = 100,
    coloured: bool = False,
) -> str:
    """Return what stands on a terminal of this width after these events."""
    paper = io.StringIO()
    stream = TerminalStream(paper, coloured=coloured, find_width=lambda: width)
    screen = Screen(stream, stream, detail=detail, attempts=3)
    for one in events:
        event, within = one if isinstance(one, tuple) else (one, "")
        screen.show(Happening(event=event, turn="t", within=within))
    return paper.getvalue()


def _check(name: str, text: str) -> None:
    file = _GOLDEN / f"{name}.txt"
    if _REWRITE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "events"),
    [
        ("answer", _ANSWER),
        ("states", _STATES),
        ("failing", _FAILING),
        ("forking", _FORKING),
        ("hostile", _HOSTILE_EVENTS),
    ],
)
def test_events_stand_on_the_screen_as_in_the_golden_file(
    name: str, events: Sequence[Event | tuple[Event, str]]
) -> None:
    _check(name, _play(events))


def test_narrow_screen_cuts_rows_and_nothing_else() -> None:
    _check("narrow", _play([*_STATES, *_FAILING], width=24))


def test_colours_are_around_what_they_colour() -> None:
    _check("coloured", _play(_ANSWER, coloured=True))


def test_scripts_get_the_answer_apart_from_the_rest() -> None:
    text, side = io.StringIO(), io.StringIO()
    screen = Screen(TerminalStream(text), TerminalStream(side), detail=Detail.SHORT, attempts=3)
    for event in _ANSWER:
        screen.show(Happening(event=event, turn="t"))
    assert text.getvalue() == "# It is\n\n- a *repository*\n\n"
    _check("short", side.getvalue())


def test_answer_that_a_program_reads_is_as_the_model_gave_it() -> None:
    text = io.StringIO()
    screen = Screen(TerminalStream(text), TerminalStream(io.StringIO()), detail=Detail.SHORT, attempts=3)
    said = f"a\r\n{_HOSTILE}"
    for event in (TextHeard(text=said), Answered(text=said), Done(text=said)):
        screen.show(Happening(event=event, turn="t"))
    assert text.getvalue() == f"{said}\n"


def test_what_broke_off_is_no_answer_for_a_program() -> None:
    text = io.StringIO()
    screen = Screen(TerminalStream(text), TerminalStream(io.StringIO()), detail=Detail.SHORT, attempts=3)
    again = [TextHeard(text="It is four."), Answered(text="It is four."), Done(text="It is four.")]
    for event in (TextHeard(text="It is fi"), Retried(reason="it broke off", attempt=2, seconds=0), *again):
        screen.show(Happening(event=event, turn="t"))
    assert text.getvalue() == "It is four.\n"


def test_answer_that_another_process_goes_on_with_begins_anew() -> None:
    events = [TextHeard(text="It is fi"), Resumed(id="1"), TextHeard(text="It is four."), Answered(text="It is four.")]
    assert _play(events, detail=Detail.SHORT) == (
        "It is fi\n· another process goes on with this answer; what was heard of it does not count\nIt is four.\n"
    )


def test_answer_that_did_not_come_in_pieces_is_shown_whole() -> None:
    events = [Begun(message="/x", model="offline"), Answered(text="x is active."), Done(text="x is active.")]
    assert _play(events, detail=Detail.SHORT) == "x is active.\n"


def test_no_escape_sequence_reaches_the_terminal() -> None:
    shown = _play([*_HOSTILE_EVENTS, *_ANSWER])
    assert [char for char in shown if not char.isprintable() and char not in "\n\u200d"] == []


def test_live_output_ends_at_a_bound_and_says_so() -> None:
    events: list[Event] = [OutputHeard(call="c1", stream="stdout", text=f"{number}\n") for number in range(20_000)]
    shown = _play([*events, OutputHeard(call="c2", stream="stdout", text="another call\n")])
    assert len(shown) < 200_000
    assert shown.endswith("  │ … more of it is not shown\n  │ another call\n")


def test_cancelled_turn_says_so_to_scripts_too() -> None:
    events = [Begun(message="x", model="offline"), Done(text="", outcome=Outcome.CANCELLED, seconds=1)]
    assert _play(events, detail=Detail.SHORT) == "■ cancelled · 0 tokens in, 0 out · 1.0 s\n"
