"""One turn for programs: every event as a line of JSON."""

import os
from typing import Any

from prowess.agent.chat import Chat
from prowess.agent.events import Done, Failed, Happening, make_failed
from prowess.errors import ProwessError, WorldError
from prowess.state.conversations import Outcome
from prowess.surfaces.cli.chat.turns import TurnEnd, run_turn
from prowess.surfaces.cli.output import print_json_line

__all__ = ["print_events"]


async def print_events(chat: Chat, message: str) -> TurnEnd:
    """Have a message answered, and print all that happens as JSON, `done` last.

    What goes wrong before the first line is raised. After it nothing but lines comes, whatever fails.
    """
    lines = _EventLines()
    try:
        end = await run_turn(chat, message, show=lines.show)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except Exception as error:
        if not lines.has_begun or os.environ.get("PROWESS_DEBUG"):
            raise
        failed = make_failed(error if isinstance(error, ProwessError) else _make_bug(error))
        lines.fail(failed)
        end = TurnEnd(Outcome.FAILED, failed)
    lines.finish()
    return end


def _make_bug(error: Exception) -> WorldError:
    message = f"internal error: {type(error).__name__}: {error}"
    return WorldError(message, hint="PROWESS_DEBUG=1 shows where; please report it", code="internal-error")


class _EventLines:
    """Writes events, one a line. The last is held back: it must be the last, and something may fail after it."""

    def __init__(self) -> None:
        self.has_begun = False
        self._last: dict[str, Any] = Happening(event=Done(text="", outcome=Outcome.FAILED), turn="").record()

    def show(self, happening: Happening) -> None:
        self.has_begun = True
        if isinstance(happening.event, Done) and not happening.within:
            self._last = happening.record()
        else:
            print_json_line(happening.record())

    def fail(self, failed: Failed) -> None:
        """Say in the same form what went wrong besides."""
        place = {key: self._last[key] for key in ("turn", "at")}
        print_json_line({**Happening(event=failed, turn="").record(), **place})
        self._last["outcome"] = Outcome.FAILED.value

    def finish(self) -> None:
        print_json_line(self._last)
