"""Questions of consent in a conversation: put by the event loop, while the thread that wants the answer waits."""

import concurrent.futures
from collections import defaultdict
from collections.abc import Callable, Sequence

import anyio

from prowess.activation.consent import Answer, Question
from prowess.agent.events import ConsentAsked, Happening
from prowess.agent.from_threads import run_in_loop
from prowess.execution.stopping import Stopped
from prowess.runtime.changed_texts import TextChange
from prowess.surfaces.cli.chat.terminal_stream import TerminalStream
from prowess.surfaces.cli.chat.typed_lines import read_typed_line
from prowess.surfaces.cli.consent_terminal import ANSWERS
from prowess.surfaces.cli.typed_ahead import forget_typed_ahead
from prowess.surfaces.consent_text import PROMPT, render_question
from prowess.surfaces.tones import Line, Tone

__all__ = ["ChatAsker"]


class ChatAsker:
    """Asks the person at the terminal. A turn that is cancelled takes its question back."""

    name = "terminal"

    def __init__(
        self,
        stream: TerminalStream,
        changed_texts: Callable[[Question], Sequence[TextChange]],
    ) -> None:
        self._stream = stream
        self._changed_texts = changed_texts
        self._seen: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)

    def see(self, happening: Happening) -> None:
        """Take note that all is on the screen that has happened before a question."""
        if isinstance(happening.event, ConsentAsked):
            self._seen[happening.event.question].set()

    def ask(self, question: Question) -> Answer | None:
        lines = render_question(question, self._changed_texts(question))
        try:
            return run_in_loop(self._put, question.id, lines)
        except concurrent.futures.CancelledError:
            raise Stopped("stopped before anybody answered", hint="nothing more is done") from None
        finally:
            self._seen.pop(question.id, None)

    async def _put(self, question_id: str, lines: Sequence[Line]) -> Answer | None:
        await self._seen[question_id].wait()
        for line in lines:
            self._stream.write_line(line)
        forget_typed_ahead()  # What is typed during a turn is meant for the next one.
        return await self._read_answer()

    async def _read_answer(self) -> Answer | None:
        while True:
            self._stream.write(f"{PROMPT} ")
            typed = await read_typed_line()
            if typed is None:
                return None
            self._stream.is_line_begun = False  # Whoever typed the answer has ended the line.
            answer = ANSWERS.get(typed.strip().lower())
            if answer is not None:
                return answer
            self._stream.write_line(Line(f"Type one of {', '.join(ANSWERS)}.", Tone.DIM))
