"""Print for people and for programs: results to standard output, everything else to standard error."""

import json
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, TypeVar
from weakref import WeakSet

import click

from prowess.errors import ProwessError
from prowess.skill.deception import make_printable
from prowess.skill.problems import Problem, Severity

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "encodable",
    "has_json",
    "note",
    "print_content",
    "print_error",
    "print_json",
    "print_json_line",
    "print_problems",
    "print_rows",
    "print_text",
    "progress",
    "step_bar",
]

_T = TypeVar("_T")
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}
_STREAMS_OF_JSON = WeakSet[TextIO]()
"""Where JSON was printed, so that no further document may follow."""
_MARKS = {Severity.ERROR: "✗", Severity.WARNING: "!", Severity.INFO: "i"}


def print_json(value: Any) -> None:
    """Print one JSON document, in ASCII, so that any terminal and any name on disk will do."""
    _STREAMS_OF_JSON.add(sys.stdout)
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def print_json_line(value: Any) -> None:
    """Print one of many JSON documents, each on a line of its own, and let it go at once."""
    _STREAMS_OF_JSON.add(sys.stdout)
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def has_json() -> bool:
    """Whether JSON was printed, or its beginning, so that a further document would be one too many."""
    return sys.stdout in _STREAMS_OF_JSON


def print_text(text: str) -> None:
    """Print a text; what a terminal might obey, and what its encoding lacks, is escaped."""
    shown = "\n".join(map(make_printable, text.split("\n")))
    sys.stdout.write(encodable(shown, sys.stdout) + "\n")


def print_content(text: str) -> None:
    """Print what others wrote: as it is where a program may be reading, and as harmless lines on a terminal."""
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        return
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    print_text("\n".join(line.expandtabs() for line in lines))


def note(text: str, *, label: str = "", colour: str = "cyan") -> None:
    """Say something to the person, beside the result."""
    shown = encodable("\n".join(map(make_printable, text.split("\n"))), sys.stderr)
    click.echo((click.style(label, fg=colour, bold=True) if label else "") + shown, err=True)


def encodable(text: str, stream: TextIO) -> str:
    """Return a text with what the encoding of a stream lacks written as an escape."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def print_error(error: ProwessError) -> None:
    """Say what went wrong and what to do."""
    note(error.message, label="error: ", colour="red")
    if error.hint:
        note(error.hint, label="hint: ")


def print_rows(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table on a terminal, and lines with tabs where a program may be reading."""
    if not sys.stdout.isatty():
        for row in rows:
            sys.stdout.write(encodable("\t".join(map(make_printable, row)), sys.stdout) + "\n")
        return
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False, expand=True)
    for heading in headings[:-1]:
        table.add_column(heading, overflow="ellipsis", no_wrap=True)
    table.add_column(headings[-1], overflow="ellipsis", no_wrap=True, ratio=1)  # It takes what the others leave.
    for row in rows:
        table.add_row(*(_plain(cell) for cell in row))
    _console().print(table)


def _plain(cell: str) -> str:
    from rich.markup import escape

    return escape(make_printable(cell))


def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False)


def print_problems(place: str, problems: Iterable[Problem]) -> None:
    """Print Problems the way compilers do: place, severity, message, code, and what to do."""
    for problem in problems:
        file = f"{place}/{problem.path}" if problem.path else f"{place}/SKILL.md"
        where = ":".join(str(part) for part in (file, problem.line, problem.column) if part is not None)
        mark = f"{_MARKS[problem.severity]} {problem.severity}"
        lead, rest = f"{where}: ", f": {problem.message} [{problem.code}]"
        shown = [encodable(make_printable(part), sys.stdout) for part in (lead, mark, rest)]
        shown[1] = click.style(shown[1], fg=_COLOURS[problem.severity]) if sys.stdout.isatty() else shown[1]
        sys.stdout.write("".join(shown) + "\n")
        if problem.remedy:
            print_text(f"    {problem.remedy}")


@contextmanager
def progress(items: Sequence[_T], label: str) -> Generator[Iterable[_T]]:
    """Give the items one by one, with a bar on a terminal if the work takes more than a second."""
    with step_bar(label) as advance:
        yield _tell_each(items, advance)


def _tell_each(items: Sequence[_T], advance: Callable[[int, int], None]) -> Iterator[_T]:
    for done, item in enumerate(items, 1):
        yield item
        advance(done, len(items))


@contextmanager
def step_bar(label: str) -> Generator[Callable[[int, int], None]]:
    """Give a function to be told how many steps are done, of how many; a bar shows it if that takes over a second."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    import time
    from contextlib import ExitStack

    begun = time.monotonic()
    drawn: list[tuple[Any, Any]] = []
    with ExitStack() as stack:

        def advance(done: int, total: int) -> None:
            if not drawn and time.monotonic() - begun > 1.0:
                from rich.console import Console
                from rich.progress import Progress

                bar = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
                drawn.append((bar, bar.add_task(label, total=total)))
            for bar, task in drawn:
                bar.update(task, completed=done, total=total)

        yield advance
