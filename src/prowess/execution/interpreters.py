"""What runs a script: the program of its first line, or that of its name's ending, from a table. Pure.

A script need not be executable: the sandbox starts the interpreter and hands it the file.
"""

import os.path
import re
import shlex
from collections.abc import Container
from dataclasses import dataclass

__all__ = [
    "HEAD_BYTES",
    "INTERPRETERS",
    "Chosen",
    "Interpreter",
    "choose_interpreter",
    "find_program",
    "is_script_name",
]

HEAD_BYTES = 512
"""As much of a script as the first line is looked for in."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """One row of the table."""

    name: str
    suffixes: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]
    """Ways to call it, the preferred one first; the script comes after."""
    also: tuple[str, ...] = ()
    """Further names by which a first line may call for it."""
    package: str = ""
    """What Debian calls it."""


INTERPRETERS: tuple[Interpreter, ...] = (
    Interpreter("python", (".py", ".pyw"), (("python3",), ("python",)), ("uv", "pypy"), "python3"),
    Interpreter("bash", (".bash",), (("bash",),), package="bash"),
    Interpreter("sh", (".sh",), (("sh",),), ("dash", "ash"), "dash"),
    Interpreter("node", (".js", ".mjs", ".cjs"), (("node",), ("nodejs",)), ("nodejs",), "nodejs"),
    Interpreter("deno", (".ts", ".mts"), (("deno", "run", "--allow-all", "--no-prompt"), ("bun", "run")), ("tsx",)),
    Interpreter("bun", (".jsx", ".tsx"), (("bun", "run"), ("deno", "run", "--allow-all", "--no-prompt"))),
    Interpreter("ruby", (".rb",), (("ruby",),), package="ruby"),
    Interpreter("perl", (".pl",), (("perl",),), package="perl"),
    Interpreter("R", (".r",), (("Rscript",),), ("rscript",), "r-base-core"),
)
_BY_NAME = {name: row for row in INTERPRETERS for name in (row.name.lower(), *row.also)}
_BY_SUFFIX = {suffix: row for row in INTERPRETERS for suffix in row.suffixes}
_VERSIONED = re.compile(r"([a-zA-Z]+)([0-9][0-9.]*)?")
_OTHER_PROGRAMS = ("uv", "tsx")
"""Start an interpreter in their own way, so their options are not its options."""
_ENV_OPTIONS_WITH_VALUES = ("-u", "--unset", "-C", "--chdir", "-P")
_ENV_SPLIT = re.compile(r"(?:-[0iv]*S|--split-string=?)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a script asks for."""

    interpreter: Interpreter
    options: tuple[str, ...] = ()
    """From the first line, to stand before the script."""
    exact: str = ""
    """A version that the first line names, such as python3.12, if there is that program."""

    def command(self, has: Container[str]) -> tuple[str, ...] | None:
        """Return how it is called where these programs are; None if none of them will do."""
        if self.exact and self.exact in has:
            return (self.exact, *self.options)
        for way in self.interpreter.commands:
            if way[0] in has:  # Another program in its place would not know its options.
                return (*way, *self.options) if way[0].startswith(self.interpreter.name) else way
        return None


def is_script_name(path: str) -> bool:
    """Whether the ending of a name is that of a script."""
    return os.path.splitext(path)[1].lower() in _BY_SUFFIX


def choose_interpreter(path: str, head: bytes) -> Chosen | None:
    """Return what runs the script at this path, by the beginning of its bytes; None if nothing here does."""
    found = _choose_by_first_line(head)
    if found is not None:
        return found
    row = _BY_SUFFIX.get(os.path.splitext(path)[1].lower())
    return Chosen(row) if row else None


def find_program(head: bytes) -> str:
    """Return the program that the first line names, known here or not; empty if it names none."""
    return _read_first_line(head)[0]


def _choose_by_first_line(head: bytes) -> Chosen | None:
    name, options = _read_first_line(head)
    known = _VERSIONED.fullmatch(name)
    row = _BY_NAME.get(known[1].lower()) if known else None
    if row is None:
        return None
    exact = name if known and known[2] and name not in (way[0] for way in row.commands) else ""
    return Chosen(row, () if name in _OTHER_PROGRAMS else _keep_options(options), exact)


def _read_first_line(head: bytes) -> tuple[str, list[str]]:
    """Return the program and its options, as far as there is such a line and it ends."""
    if not head.startswith(b"#!"):
        return "", []
    first, ended, _ = head[2:HEAD_BYTES].partition(b"\n")
    if not ended and len(head) > HEAD_BYTES:
        return "", []
    line = first.partition(b"\0")[0].decode("utf-8", "replace").strip()
    program, *rest = line.split(None, 1) or [""]
    name = os.path.basename(program)
    return _read_env(rest[0] if rest else "") if name == "env" else (name, rest)


def _keep_options(words: list[str]) -> tuple[str, ...]:
    """Return the words as they are, since some options have a value after them; `run` comes from the table."""
    kept = words[1:] if words[:1] == ["run"] else words
    return tuple(kept) if kept and kept[0].startswith("-") else ()


def _read_env(rest: str) -> tuple[str, list[str]]:
    """Return the program and its options in what follows `env`; only with -S is that more than one word."""
    try:
        words = shlex.split(rest)
    except ValueError:
        return "", []
    splits = False
    while words and (words[0].startswith("-") or "=" in words[0]):
        word = words.pop(0)
        if split := _ENV_SPLIT.fullmatch(word):
            splits = True
            words[:0] = [split[1]] if split[1] else []
        elif word in _ENV_OPTIONS_WITH_VALUES:
            words[:1] = []
    if not words:
        return "", []
    return os.path.basename(words[0]), words[1:] if splits else []
