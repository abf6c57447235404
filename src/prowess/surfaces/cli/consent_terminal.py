"""Ask a person at the terminal for consent, with all that is needed to answer."""

import shlex
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
from prowess.activation.grants import Act
from prowess.skill.deception import make_printable
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


_POWERS = {
    "network": "reach the network",
    "workspace:read": "read the folder",
    "workspace:write": "read and change the folder",
    "secret": "be given a secret",
    "packages": "have packages installed",
}
_MAX_ARGUMENT_CHARACTERS = 2_000
"""Of all arguments together; what is cut is said."""


def _describe_run(question: Question) -> None:
    if question.arguments:
        text = shlex.join(question.arguments)
        more = len(text) - _MAX_ARGUMENT_CHARACTERS
        cut = f" … and {more:,} more characters" if more > 0 else ""
        _say(f"  arguments: {text[:_MAX_ARGUMENT_CHARACTERS]}{cut}")
    for power in question.powers:
        _say(f"  wants to {_describe_power(power)}")
    if question.packages:
        shown = ", ".join(question.packages[:_MAX_LISTED])
        more = len(question.packages) - _MAX_LISTED
        _say(f"  packages: {shown}" + (f" and {more:,} more" if more > 0 else ""))
    _say("  it runs in a sandbox" + ("" if question.powers else ", with nothing beyond its own files"))


def _describe_power(power: str) -> str:
    for kind, what in _POWERS.items():
        if power == kind or power.startswith(f"{kind}:"):
            which = power[len(kind) + 1 :]
            return f"{what}: {which}" if which else what
    return power


def _say(line: str) -> None:
    """Say one line, and no more: what a skill or a model wrote must not look like a line of ours."""
    note(make_printable(line))


def _describe(question: Question) -> None:
    _say(f"{question.title}?")
    _say(f"  {question.description}")
    _say(f"  from {question.source}: {question.skill}, digest {question.digest[:12]}")
    if question.act is Act.RUN:
        _describe_run(question)
    if question.allowed_tools:
        _say(f"  wants these tools: {' '.join(question.allowed_tools)}")
    if question.permissions:
        _say(f"  wants these permissions: {' '.join(question.permissions)}")
    if question.former_digest:
        _say(f"  changed since you agreed to {question.former_digest[:12]}:")
        lines = [f"    {_MARKS[change.change]} {change.path}" for change in question.changes]
    else:
        _say("  its files:")
        lines = [f"    {file.size:>9,}  {show_bytes(file.path)}" for file in question.files]
    for line in lines[:_MAX_LISTED]:
        _say(line)
    if len(lines) > _MAX_LISTED:
        _say(f"    … and {len(lines) - _MAX_LISTED:,} more")
    _say(f"  `prowess show {question.skill}` shows all of it, and where it lies")
