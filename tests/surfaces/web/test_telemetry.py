"""What a server counts of conversations, what it logs, and when it traces."""

import io
import json
import logging
from collections.abc import Iterator

import anyio
import pytest
import structlog

from prowess.agent.events import (
    Answered,
    Begun,
    CallBegun,
    CallEnded,
    Compacted,
    ConsentAnswered,
    ConsentAsked,
    Done,
    Event,
    Happening,
)
from prowess.state.conversations import Outcome, TokenUse
from prowess.surfaces.web.telemetry.health import Readiness
from prowess.surfaces.web.telemetry.logs import configure_logs
from prowess.surfaces.web.telemetry.metrics import Metrics
from prowess.surfaces.web.telemetry.traces import open_traces


def _watch(metrics: Metrics, *events: Event, turn: str = "t1", within: str = "") -> None:
    for event in events:
        metrics.watch(Happening(event=event, turn=turn, within=within))


def _lines(metrics: Metrics) -> set[str]:
    return {line for line in metrics.render()[0].decode().splitlines() if not line.startswith("#")}


def test_turns_calls_questions_and_tokens_are_counted() -> None:
    metrics = Metrics()
    _watch(
        metrics,
        Begun(message="Hush.", model="offline"),
        CallBegun(call="c", tool="activate_skill", role="activate"),
        ConsentAsked(call="c", question="q1", title="?", record={}),
        ConsentAsked(call="c", question="q2", title="?", record={}),
        ConsentAnswered(call="c", question="q1", answer="allow-once"),
        CallEnded(call="c", tool="activate_skill", role="activate"),
        CallEnded(call="d", tool="no_such_tool", state="failed"),
        Answered(text="Hush.", use=TokenUse(1, 10, 3, 4)),
        Compacted(summary="", by="model", use=TokenUse(1, 5, 1)),
    )
    assert {
        'prowess_tool_calls_total{role="activate",state="done"} 1.0',
        'prowess_tool_calls_total{role="unknown",state="failed"} 1.0',
        "prowess_questions_asked_total 2.0",
        "prowess_questions_open 1.0",
        'prowess_questions_answered_total{answer="allow-once"} 1.0',
        'prowess_model_tokens_total{kind="input"} 15.0',
        'prowess_model_tokens_total{kind="cached"} 4.0',
        'prowess_model_tokens_total{kind="output"} 4.0',
    } <= _lines(metrics)
    _watch(metrics, Done(text="", outcome=Outcome.ANSWERED), within="fork")
    _watch(metrics, Done(text="", outcome=Outcome.CANCELLED))
    assert {'prowess_turns_total{outcome="cancelled"} 1.0', "prowess_questions_open 0.0"} <= _lines(metrics)
    assert "answered" not in str([line for line in _lines(metrics) if line.startswith("prowess_turns")])
    assert "Hush" not in str(_lines(metrics))


def test_streams_and_skills_are_counted_as_they_are_now() -> None:
    metrics = Metrics()
    metrics.count_skills(lambda: 7)
    with metrics.open_stream():
        assert {"prowess_open_streams 1.0", "prowess_catalog_skills 7.0"} <= _lines(metrics)
    assert "prowess_open_streams 0.0" in _lines(metrics)


@pytest.fixture
def logs() -> Iterator[io.StringIO]:
    """Logs as a server writes them; afterwards, all is as it was."""
    root, own = logging.getLogger(), logging.getLogger("prowess")
    before = list(root.handlers), root.level, own.level
    stream = io.StringIO()
    configure_logs(stream)
    yield stream
    root.handlers[:], root.level, own.level = before
    structlog.reset_defaults()


def test_logs_of_all_libraries_are_lines_of_json(logs: io.StringIO) -> None:
    structlog.get_logger("prowess.web").info("seen", number=3)
    logging.getLogger("prowess").warning("an old %s", "friend")
    logging.getLogger("elsewhere").info("too much")
    structlog.get_logger("prowess.web").error("failed", exc_info=ValueError("no"))
    lines = [json.loads(line) for line in logs.getvalue().splitlines()]
    assert [(line["event"], line["level"], line["logger"]) for line in lines] == [
        ("seen", "info", "prowess.web"),
        ("an old friend", "warning", "prowess"),
        ("failed", "error", "prowess.web"),
    ]
    assert lines[0]["number"] == 3
    assert lines[2]["exception"][0]["exc_value"] == "no"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_nothing_is_traced_unless_somebody_receives_it(environ: dict[str, str]) -> None:
    assert open_traces(environ) is None


def test_readiness_is_looked_at_once_however_many_ask_and_again_after_a_while() -> None:
    looked: list[int] = []
    now = [0.0]

    def check() -> dict[str, bool]:
        looked.append(len(looked))
        return {"store": len(looked) < 2}

    readiness = Readiness(check, clock=lambda: now[0])
    found: list[dict[str, bool]] = []

    async def ask() -> None:
        found.append(await readiness.look())

    async def ask_all() -> None:
        for moment in (0.0, 0.9, 1.0):
            now[0] = moment
            async with anyio.create_task_group() as tasks:
                for _ in range(50):
                    tasks.start_soon(ask)

    anyio.run(ask_all)
    assert found == [{"store": True}] * 100 + [{"store": False}] * 50
    assert len(looked) == 2
