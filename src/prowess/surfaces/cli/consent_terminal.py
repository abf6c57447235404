"""Ask a person at the terminal for consent, with all that is needed to answer."""

import sys

import click

from prowess.activation.consent import (
    Answer,
    CallbackAsker,
    Change,
    ConsentAsker,
    HeadlessAsker,
    Question,
)
from prowess.sources.source import show_bytes
from prowess.surfaces.cli.output import note

__all__ = ["TerminalAsker", "choose_asker"]

_MAX_LISTED = 20
_CHOICES: dict[str, Answer] = {
    "o": Answer.ALLOW_ONCE,
    "s": Answer.ALLOW_FOR_SESSION,
    "a": Answer.ALLOW_ALWAYS,
    "r": Answer.REFUSE,
    "n": Answer.REFUSE_ONCE,
}
_MARKS = {Change.ADDED: "+", Change.REMOVED: "-", Change.CHANGED: "~"}


class TerminalAsker:
    """Writes the question to standard error and reads the answer from standard input."""

    name = "terminal"

    def ask(self, question: Question) -> Answer | None:
        _describe(question)
        prompt = "Allow [o]nce, for this [s]ession, [a]lways; [n]ot now, or [r]efuse for good?"
        letter = click.prompt(
            prompt,
            type=click.Choice(list(_CHOICES), case_sensitive=False),
            show_choices=False,
            prompt_suffix=" ",
            err=True,
        )
        return _CHOICES[str(letter).lower()]


def choose_asker(*, yes: bool, as_json: bool) -> ConsentAsker:
    """Return who answers: the option --yes, the person at the terminal, or nobody."""
    if yes:
        return CallbackAsker(lambda _: Answer.ALLOW_ONCE, name="command")
    somebody_is_there = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
    return TerminalAsker() if somebody_is_there and not as_json else HeadlessAsker()


def _describe(question: Question) -> None:
    note(f"{question.title}?")
    note(f"  {question.description}")
    note(f"  from {question.source}: {question.skill}, digest {question.digest[:12]}")
    if question.allowed_tools:
        note(f"  wants these tools: {' '.join(question.allowed_tools)}")
    if question.permissions:
        note(f"  wants these permissions: {' '.join(question.permissions)}")
    if question.former_digest:
        note(f"  changed since you agreed to {question.former_digest[:12]}:")
        lines = [f"    {_MARKS[change.change]} {change.path}" for change in question.changes]
    else:
        note("  its files:")
        lines = [f"    {file.size:>9,}  {show_bytes(file.path)}" for file in question.files]
    for line in lines[:_MAX_LISTED]:
        note(line)
    if len(lines) > _MAX_LISTED:
        note(f"    … and {len(lines) - _MAX_LISTED:,} more")
    note(f"  `prowess show {question.skill}` shows all of it, and where it lies")
