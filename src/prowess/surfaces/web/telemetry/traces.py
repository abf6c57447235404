"""Traces of requests, turns and calls, sent to where OpenTelemetry's variables say; without them, nothing is loaded."""

import threading
from collections.abc import Mapping
from typing import Any

import structlog
from starlette.types import Scope

from prowess.agent.events import Begun, CallBegun, CallEnded, Done, ForkBegun, ForkEnded, Happening
from prowess.version import __version__

__all__ = ["RequestSpan", "Traces", "open_traces"]

_LOG = structlog.get_logger("prowess.web")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_MAX_OPEN = 10_000
"""Spans of conversations; those of turns that another process goes on with never end here."""


def open_traces(environ: Mapping[str, str]) -> "Traces | None":
    """Return what traces, if the environment names a receiver and the extra `telemetry` is installed."""
    is_off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true" or environ.get("OTEL_TRACES_EXPORTER") == "none"
    if is_off or not any(environ.get(name) for name in _ENDPOINTS):
        return None
    try:
        return Traces()
    except ImportError:
        _LOG.warning("traces are wanted, but cannot be sent", hint="pip install 'prowess[telemetry]'")
        return None


class RequestSpan:
    """The span of one request."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def close(self, *, method: str, route: str, status: int) -> None:
        """End it with what is known only then."""
        self._span.update_name(f"{method} {route}".strip())
        attributes = {"http.request.method": method, "http.route": route, "http.response.status_code": status}
        self._span.set_attributes(attributes)
        _end(self._span, failed=status >= 500)


class Traces:
    """Makes spans and has them sent in the background. Any thread may tell it something.

    A span holds names and numbers: routes, models, tools, outcomes; never what was said, nor an argument.
    """

    def __init__(self) -> None:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        resource = Resource.create({"service.name": "prowess", "service.version": __version__})
        self._provider: Any = TracerProvider(resource=resource)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer: Any = self._provider.get_tracer("prowess", __version__)
        self._trace: Any = trace
        self._propagator: Any = TraceContextTextMapPropagator()
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str], Any] = {}
        """Spans of conversations by turn and, within it, the call or fork; the turn itself has an empty one."""

    def open_request(self, scope: Scope) -> RequestSpan:
        """Begin the span of a request, within the one that its headers name."""
        carrier = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        context = self._propagator.extract(carrier)
        return RequestSpan(self._tracer.start_span("request", context=context, kind=self._trace.SpanKind.SERVER))

    def watch(self, happening: Happening) -> None:
        """Make spans of what happens in a conversation."""
        turn, within = happening.turn, happening.within
        match happening.event:
            case Begun(model=model) if not within:
                self._begin((turn, ""), "turn", model=model)
            case CallBegun(call=call, tool=tool, role=role):
                self._begin((turn, call), f"call {role or 'unknown'}", parent=(turn, within), tool=tool)
            case CallEnded(call=call, state=state):
                self._finish((turn, call), failed=state == "failed", state=state)
            case ForkBegun(fork=fork, call=call, name=name):
                self._begin((turn, fork), "fork", parent=(turn, call), skill=name)
            case ForkEnded(fork=fork, outcome=outcome):
                self._finish((turn, fork), outcome=str(outcome))
            case Done(outcome=outcome, steps=steps, use=use) if not within:
                tokens = {"input_tokens": use.input_tokens, "output_tokens": use.output_tokens}
                self._finish((turn, ""), failed=outcome == "failed", outcome=str(outcome), steps=steps, **tokens)
            case _:
                pass

    def close(self) -> None:
        """Send what was not sent yet."""
        self._provider.shutdown()

    def _begin(self, key: tuple[str, str], name: str, *, parent: tuple[str, str] | None = None, **about: str) -> None:
        with self._lock:
            outer = self._open.get(parent) if parent else None
            context = self._trace.set_span_in_context(outer) if outer is not None else None
            if len(self._open) >= _MAX_OPEN:
                self._open.pop(next(iter(self._open)))
            attributes = {f"prowess.{name}": value for name, value in about.items()}
            self._open[key] = self._tracer.start_span(name, context=context, attributes=attributes)

    def _finish(self, key: tuple[str, str], *, failed: bool = False, **about: str | int) -> None:
        with self._lock:
            span = self._open.pop(key, None)
        if span is not None:
            span.set_attributes({f"prowess.{name}": value for name, value in about.items()})
            _end(span, failed=failed)


def _end(span: Any, *, failed: bool) -> None:
    if failed:
        from opentelemetry.trace import Status, StatusCode

        span.set_status(Status(StatusCode.ERROR))
    span.end()
