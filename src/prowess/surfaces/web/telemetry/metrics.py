"""What a server counts, for Prometheus."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from prowess.agent.events import Answered, CallEnded, Compacted, ConsentAnswered, ConsentAsked, Done, Happening
from prowess.state.conversations import TokenUse
from prowess.version import __version__

__all__ = ["Metrics"]

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counts in a registry of its own. Any thread may tell it something.

    Labels come from short lists of our own: no path, name of a skill or word of a user becomes one.
    """

    def __init__(self) -> None:
        disable_created_metrics()
        self._registry = CollectorRegistry()
        registry = self._registry
        Gauge("prowess_info", "The version that runs.", ["version"], registry=registry).labels(__version__).set(1)
        self._requests = Counter(
            "prowess_http_requests", "Requests answered.", ["method", "route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "prowess_http_request_seconds",
            "Until an answer has begun.",
            ["method", "route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.answering = 0
        """Requests whose answers are under way. For the event loop alone."""
        answering = Gauge("prowess_http_requests_open", "Requests whose answers are under way.", registry=registry)
        answering.set_function(lambda: self.answering)
        self._streams = Gauge("prowess_open_streams", "Streams that are open.", registry=registry)
        self._turns = Counter("prowess_turns", "Turns ended here.", ["outcome"], registry=registry)
        self._calls = Counter("prowess_tool_calls", "Calls of tools ended here.", ["role", "state"], registry=registry)
        self._asked = Counter("prowess_questions_asked", "Questions of consent put here.", registry=registry)
        self._answered = Counter(
            "prowess_questions_answered", "Questions of consent settled here.", ["answer"], registry=registry
        )
        self._waiting = Gauge("prowess_questions_open", "Questions of consent that wait here.", registry=registry)
        self._tokens = Counter(
            "prowess_model_tokens", "Tokens that models have read and written.", ["kind"], registry=registry
        )
        self._skills = Gauge("prowess_catalog_skills", "Skills in the catalog.", registry=registry)
        self._lock = threading.Lock()
        self._open_questions: dict[str, set[str]] = {}

    def render(self) -> tuple[bytes, str]:
        """Return all that was counted, and the media type of it."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST

    def count_skills(self, count: Callable[[], int]) -> None:
        """Have the number of skills counted whenever somebody asks."""
        self._skills.set_function(count)

    def count_request(self, *, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is a template, never the path itself."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    @contextmanager
    def open_stream(self) -> Generator[None]:
        """Count a stream as open while the block lasts."""
        with self._streams.track_inprogress():
            yield

    def watch(self, happening: Happening) -> None:
        """Count what happens in a conversation."""
        match happening.event:
            case Done(outcome=outcome) if not happening.within:
                self._turns.labels(str(outcome)).inc()
                self._forget_questions(happening.turn)
            case CallEnded(role=role, state=state):
                self._calls.labels(role or "unknown", state).inc()
            case ConsentAsked(question=question):
                self._asked.inc()
                self._remember_question(happening.turn, question)
            case ConsentAnswered(question=question, answer=answer):
                self._answered.labels(answer).inc()
                self._forget_question(happening.turn, question)
            case Answered(use=use) | Compacted(use=use):
                self._count_tokens(use)
            case _:
                pass

    def _count_tokens(self, use: TokenUse) -> None:
        self._tokens.labels("input").inc(use.input_tokens)
        self._tokens.labels("cached").inc(use.cached_tokens)
        self._tokens.labels("output").inc(use.output_tokens)

    def _remember_question(self, turn: str, question: str) -> None:
        with self._lock:
            self._open_questions.setdefault(turn, set()).add(question)
            self._show_questions()

    def _forget_question(self, turn: str, question: str) -> None:
        with self._lock:
            self._open_questions.get(turn, set[str]()).discard(question)
            self._show_questions()

    def _forget_questions(self, turn: str) -> None:
        """A turn that has ended waits for nothing, answered or not."""
        with self._lock:
            self._open_questions.pop(turn, None)
            self._show_questions()

    def _show_questions(self) -> None:
        self._waiting.set(sum(map(len, self._open_questions.values())))
