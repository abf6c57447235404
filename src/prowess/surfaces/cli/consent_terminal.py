"""Ask a person at the terminal for consent, with all that is needed to answer."""

import sys
from collections.abc import Callable, Sequence

import click

from prowess.activation.consent import Answer, CallbackAsker, ConsentAsker, HeadlessAsker, Question
from prowess.runtime import Runtime
from prowess.runtime.changed_texts import TextChange
from prowess.skill.deception import make_printable
from prowess.surfaces.cli.output import encodable
from prowess.surfaces.cli.typed_ahead import forget_typed_ahead
from prowess.surfaces.consent_text import PROMPT, render_question
from prowess.surfaces.tones import Line, has_colours, paint

__all__ = ["ANSWERS", "TerminalAsker", "choose_asker", "is_somebody_there", "say_line"]

ANSWERS: dict[str, Answer] = {
    "o": Answer.ALLOW_ONCE,
    "s": Answer.ALLOW_FOR_SESSION,
    "a": Answer.ALLOW_ALWAYS,
    "r": Answer.REFUSE,
    "n": Answer.REFUSE_ONCE,
}
"""What a person types, and what it means."""


class TerminalAsker:
    """Writes the question to standard error and reads the answer from standard input."""

    name = "terminal"

    def __init__(self, changed_texts: Callable[[Question], Sequence[TextChange]] = lambda _: ()) -> None:
        self._changed_texts = changed_texts

    def ask(self, question: Question) -> Answer | None:
        for line in render_question(question, self._changed_texts(question)):
            say_line(line)
        forget_typed_ahead()  # It was not meant for this question.
        letter = click.prompt(
            PROMPT,
            type=click.Choice(list(ANSWERS), case_sensitive=False),
            show_choices=False,
            prompt_suffix=" ",
            err=True,
        )
        return ANSWERS[str(letter).lower()]


def choose_asker(runtime: Runtime, *, yes: bool, as_json: bool) -> ConsentAsker:
    """Return who answers: the option --yes, the person at the terminal, or nobody."""
    if yes:
        return CallbackAsker(lambda _: Answer.ALLOW_ONCE, name="command")
    return TerminalAsker(runtime.changed_texts) if is_somebody_there() and not as_json else HeadlessAsker()


def is_somebody_there() -> bool:
    """Whether a person sees what is asked, and can answer."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def say_line(line: Line) -> None:
    """Say one line, and no more: what a skill or a model wrote must not look like a line of ours."""
    text = encodable(make_printable(line.text), sys.stderr)
    click.echo(paint(text, line.tone) if has_colours(sys.stderr) else text, err=True)
