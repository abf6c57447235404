"""What happens in a conversation, each thing as one line: calls of tools, forks, notices, and what a turn has used.

What others wrote is in the lines as it is: whoever prints them makes it harmless.
"""

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, cast

from prowess.agent.events import (
    CallBegun,
    CallEnded,
    Compacted,
    ConsentAnswered,
    Done,
    ForkBegun,
    ForkEnded,
    Resumed,
    Retried,
    SkillLoaded,
)
from prowess.state.conversations import Outcome
from prowess.surfaces.tones import Line, Row, Tone
from prowess.surfaces.wording import describe_answer, describe_compaction, describe_resumption, show_seconds, show_use

__all__ = [
    "render_call",
    "render_compaction",
    "render_consent",
    "render_done",
    "render_fork",
    "render_join",
    "render_loaded",
    "render_result",
    "render_resumption",
    "render_retry",
]

_MAX_ARGUMENT = 200
_PLAIN_ARGUMENTS = ("name", "path", "script", "query", "prompt", "arguments", "code")
"""Those that say enough without their names, in this order."""
_MARKS = {
    "done": ("✓", Tone.GOOD),
    "failed": ("✗", Tone.BAD),
    "refused": ("⊘", Tone.DOUBTFUL),
    "cancelled": ("■", Tone.DOUBTFUL),
}
_OUTCOMES = {
    Outcome.ANSWERED: ("✓", Tone.GOOD),
    Outcome.FAILED: ("✗", Tone.BAD),
    Outcome.CANCELLED: ("■", Tone.DOUBTFUL),
    Outcome.STOPPED: ("■", Tone.DOUBTFUL),
}


def render_call(event: CallBegun) -> Line:
    """Return the beginning of a card."""
    return Row(" ".join(("▸", event.tool, *_show_arguments(event.arguments))))


def _show_arguments(arguments: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(arguments, key=_rank):
        yield _shorten(_show_argument(name, arguments[name]))


def _rank(name: str) -> int:
    return _PLAIN_ARGUMENTS.index(name) if name in _PLAIN_ARGUMENTS else len(_PLAIN_ARGUMENTS)


def _show_argument(name: str, value: object) -> str:
    match name, value:
        case "code", str():
            return _show_code(value)
        case "arguments", list():
            return shlex.join(map(str, cast("list[object]", value)))
        case _, str() if name in _PLAIN_ARGUMENTS:
            return _one_line(value) or "''"
        case _:
            return f"{name}={json.dumps(value, ensure_ascii=False)}"


def _show_code(code: str) -> str:
    lines = code.strip().splitlines() or [""]
    return lines[0] + (f" … ({len(lines)} lines)" if len(lines) > 1 else "")


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_ARGUMENT else f"{text[: _MAX_ARGUMENT - 1]}…"


def render_result(event: CallEnded) -> Line:
    """Return the end of a card: what came of it."""
    mark, tone = _MARKS.get(event.state, ("·", Tone.PLAIN))
    text = f"  {mark} {_one_line(event.summary) or event.tool} · {show_seconds(event.seconds)}"
    return Line(text, tone) if event.is_error else Row(text, tone)


def render_fork(event: ForkBegun) -> Line:
    """Return the beginning of a subagent's work."""
    permissions = " ".join(event.permissions) or "none"
    return Line(f"  ↳ {event.name}, a subagent · permissions: {permissions} · granted by {event.granted_by}", Tone.DIM)


def render_join(event: ForkEnded, *, name: str) -> Line:
    """Return the end of a subagent's work."""
    mark, tone = _OUTCOMES[event.outcome]
    steps = f"{event.steps} {'step' if event.steps == 1 else 'steps'}"
    return Line(f"  {mark} {' · '.join((f'{name} {event.outcome}', steps, show_use(event.use, event.seconds)))}", tone)


def render_loaded(event: SkillLoaded) -> Line:
    """Return that a skill was switched on."""
    return Line(event.text + (" (its instructions were cut)" if event.truncated else ""), Tone.DIM)


def render_retry(event: Retried, *, attempts: int) -> Line:
    """Return that a provider is asked again."""
    again = f"trying again in {_show_number(event.seconds)} s ({event.attempt} of {attempts})"
    return Line(f"· the provider failed: {_one_line(event.reason)}; {again}", Tone.DIM)


def render_resumption(event: Resumed) -> Line:
    """Return that another process goes on with a turn."""
    return Line(f"· {describe_resumption(event)}", Tone.DIM)


def render_compaction(event: Compacted) -> Line:
    """Return that the older part of the conversation was replaced."""
    return Line(f"· {describe_compaction(event)}", Tone.DIM)


def render_consent(event: ConsentAnswered) -> Line:
    """Return what a person said to a question."""
    return Line(f"  {describe_answer(event.answer)}", Tone.DIM)


def render_done(event: Done) -> Line:
    """Return how a turn has ended, and what it has used."""
    use = show_use(event.use, event.seconds)
    if event.outcome is Outcome.ANSWERED:
        return Line(use, Tone.DIM)
    mark, tone = _OUTCOMES[event.outcome]
    return Line(f"{mark} {event.outcome} · {use}", tone)


def _show_number(seconds: float) -> str:
    return f"{seconds:.1f}".removesuffix(".0")


def _one_line(text: str) -> str:
    return " ".join(text.split())
