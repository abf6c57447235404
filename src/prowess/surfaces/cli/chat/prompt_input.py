"""A line that is typed with completion and history, by prompt_toolkit. Imported only where somebody types.

Enter sends, Alt-Enter begins another line, and so does Enter after a backslash. Ctrl-C clears the line; Ctrl-D leaves.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress

from prompt_toolkit import PromptSession
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output

from prowess.skill.deception import make_printable
from prowess.surfaces.cli.chat.line_input import GOES_ON, HOW_TO_LEAVE, INDENT, PROMPT, CompleteLine

__all__ = ["PromptInput"]


class PromptInput:
    """Reads messages from a terminal. `history` is the file that keeps them; None keeps them for this process."""

    def __init__(
        self,
        complete: CompleteLine,
        say: Callable[[str], None],
        *,
        history: str | None,
        source: Input | None = None,
        screen: Output | None = None,
    ) -> None:
        self._say = say
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            multiline=True,
            prompt_continuation=INDENT,
            completer=_LineCompleter(complete),
            complete_in_thread=True,
            history=_TypedBefore(history) if history else InMemoryHistory(),
            key_bindings=_make_bindings(),
            input=source,
            output=screen,
        )

    @property
    def buffer(self) -> Buffer:
        """What is being typed, and what is offered for it."""
        return self._session.default_buffer

    async def read(self) -> str | None:
        """Return the next message; None if there will be no more."""
        while True:
            try:
                return await self._session.prompt_async()
            except EOFError:
                return None
            except KeyboardInterrupt:
                self._say(HOW_TO_LEAVE)


class _TypedBefore(FileHistory):
    """What was typed before. A disk that fails is no reason to lose a line."""

    def load_history_strings(self) -> Iterable[str]:
        with suppress(OSError):
            return super().load_history_strings()
        return ()

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            super().store_string(string)


class _LineCompleter(Completer):
    def __init__(self, complete: CompleteLine) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        for one in self._complete(document.text_before_cursor):
            yield Completion(one.text, -one.replaced, display_meta=make_printable(one.about))


def _make_bindings() -> KeyBindings:
    bindings = KeyBindings()
    bindings.add("enter")(_send)
    bindings.add("escape", "enter")(_begin_line)
    bindings.add(Keys.ControlC)(_interrupt)
    bindings.add("<sigint>")(_interrupt)
    return bindings


def _send(event: KeyPressEvent) -> None:
    buffer = event.current_buffer
    if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
        buffer.complete_state = None  # What was chosen stands there by now, and the next Enter sends it.
    elif buffer.document.text_before_cursor.endswith(GOES_ON):
        buffer.delete_before_cursor()
        _begin_line(event)
    else:
        buffer.validate_and_handle()


def _begin_line(event: KeyPressEvent) -> None:
    event.current_buffer.newline(copy_margin=False)


def _interrupt(event: KeyPressEvent) -> None:
    if event.current_buffer.text:
        event.current_buffer.reset()
    else:
        event.app.exit(exception=KeyboardInterrupt())
