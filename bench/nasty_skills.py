"""Skills that a reader may stumble over, a folder each: what it is, how it is made, and what should come of it."""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

__all__ = ["CONTROL", "FOLDER", "HIDDEN", "MARK", "NASTY", "Nasty", "Wanted"]

FOLDER = "nasty-skill"
MARK = "code-was-run"
"""A folder that appears beside the skill if a reader runs what the frontmatter asks it to run."""
MEANT = "Counts words."
HUGE_BLOCKS = 20
"""Of 5 MB each."""
LONG = "Counts words. " * 400


class Wanted(StrEnum):
    """What a good reader does."""

    LOAD = "load"
    REFUSE = "refuse"
    EITHER = "either"


@dataclass(frozen=True, slots=True)
class Nasty:
    """One kind of trouble."""

    kind: str
    wanted: Wanted
    write: Callable[[Path], None]
    """Makes the folder, which is not there yet, below a root that is."""
    description: str = MEANT
    """What a reader should say that it has; for long ones, how that begins."""
    alternatives: tuple[str, ...] = ()
    """Other descriptions that are as good."""
    names: tuple[str, ...] = (FOLDER,)
    """By which of these it may be found."""


def _text(frontmatter: str, *, body: str = "Body\n", file: str = "SKILL.md") -> Callable[[Path], None]:
    return _bytes(f"---\n{frontmatter}---\n{body}".encode(), file=file)


def _bytes(content: bytes, *, file: str = "SKILL.md") -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        folder.mkdir()
        (folder / file).write_bytes(content)

    return write


def _described(value: str) -> Callable[[Path], None]:
    """The value as it stands in the file."""
    return _text(f"name: {FOLDER}\ndescription: {value}\n")


_PLAIN = f"name: {FOLDER}\ndescription: {MEANT}\n"


def _huge(folder: Path) -> None:
    _text(_PLAIN)(folder)
    with (folder / "SKILL.md").open("ab") as file:
        for _ in range(HUGE_BLOCKS):
            file.write(b"word " * (1 << 20) + b"\n")


def _fifo(folder: Path) -> None:
    folder.mkdir()
    os.mkfifo(folder / "SKILL.md")


def _socket(folder: Path) -> None:
    folder.mkdir()
    # A path of a socket is short; it is bound from within.
    before = Path.cwd()
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("SKILL.md")
    finally:
        os.chdir(before)


def _link(target: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        folder.mkdir()
        (folder / "SKILL.md").symlink_to(target)

    return write


def _link_out(folder: Path) -> None:
    outside = folder.parent.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text(f"---\n{_PLAIN}---\nSecret\n", encoding="utf-8")
    _link(str(outside / "secret.md"))(folder)


def _device(folder: Path) -> None:
    _text(f"name: nul\ndescription: {MEANT}\n")(folder.with_name("nul"))


def _loop(folder: Path) -> None:
    _text(_PLAIN)(folder)
    (folder / "again").symlink_to(".")
    (folder / "up").symlink_to("..")


def _nested(folder: Path) -> None:
    _text(_PLAIN)(folder)
    _text(f"name: inner\ndescription: {MEANT}\n")(folder / "inner")


def _twins(folder: Path) -> None:
    """The second, of another folder, has the same name."""
    _text(_PLAIN)(folder)
    _text(f"name: {FOLDER}\ndescription: Counts lines.\n")(folder.with_name("other-folder"))


def _directory(folder: Path) -> None:
    (folder / "SKILL.md").mkdir(parents=True)


def _bomb() -> str:
    rows = "".join(
        f"  {chr(98 + level)}: &{chr(98 + level)} [{', '.join([f'*{chr(97 + level)}'] * 9)}]\n" for level in range(8)
    )
    return f"{_PLAIN}metadata:\n  a: &a [x, x, x, x, x, x, x, x, x]\n{rows}"


_RUN_CODE = f"{_PLAIN}metadata: !!python/object/apply:os.mkdir [{MARK}]\n"
_HIDDEN = "Counts\u200b words\u202e.\U000e0041\U000e0042"

HIDDEN = Nasty(
    "hidden characters for the model", Wanted.EITHER, _described(f'"{_HIDDEN}"'), alternatives=("Counts words",)
)
"""That they should not reach the model as they are is our own policy; no standard asks for it."""
CONTROL = Nasty("an ordinary skill", Wanted.LOAD, _text(_PLAIN))
NASTY: tuple[Nasty, ...] = (
    CONTROL,
    Nasty("byte order mark", Wanted.LOAD, _bytes(f"\ufeff---\n{_PLAIN}---\nBody\n".encode())),
    Nasty("CRLF", Wanted.LOAD, _bytes(f"---\n{_PLAIN}---\nBody\n".replace("\n", "\r\n").encode())),
    Nasty("UTF-16", Wanted.REFUSE, _bytes(f"---\n{_PLAIN}---\nBody\n".encode("utf-16"))),
    Nasty(
        "invalid UTF-8",
        Wanted.REFUSE,
        _bytes(f"---\nname: {FOLDER}\ndescription: Caf".encode() + b"\xe9.\n---\nBody\n"),
    ),
    Nasty(
        "NUL bytes", Wanted.REFUSE, _bytes(f"---\nname: {FOLDER}\ndescription: Counts\0 words.\n---\nBody\n".encode())
    ),
    Nasty("no final newline", Wanted.LOAD, _bytes(f"---\n{_PLAIN}---".encode())),
    Nasty("empty file", Wanted.REFUSE, _bytes(b"")),
    Nasty("no frontmatter", Wanted.REFUSE, _bytes(b"# A skill\n\nBody\n")),
    Nasty("unquoted colon", Wanted.LOAD, _described("Use when: words are many"), "Use when: words are many"),
    Nasty("`---` in a value", Wanted.LOAD, _described("Counts a---b words"), "Counts a---b words"),
    Nasty("tabs", Wanted.EITHER, _text(f"{_PLAIN}metadata:\n\tauthor: me\n")),
    Nasty(
        "duplicate keys", Wanted.EITHER, _text(f"{_PLAIN}description: Counts lines.\n"), alternatives=("Counts lines.",)
    ),
    Nasty("anchor and alias", Wanted.LOAD, _text(f"name: {FOLDER}\ndescription: &d {MEANT}\ncompatibility: *d\n")),
    Nasty("alias bomb", Wanted.EITHER, _text(_bomb())),
    Nasty("deep nesting", Wanted.EITHER, _text(f"{_PLAIN}metadata: {'[' * 5_000}{']' * 5_000}\n")),
    Nasty("tag that runs code", Wanted.EITHER, _text(_RUN_CODE)),
    Nasty("date as value", Wanted.LOAD, _described("2026-01-31"), "2026-01-31"),
    Nasty("number as value", Wanted.LOAD, _described("1.10"), "1.10"),
    Nasty("boolean as value", Wanted.LOAD, _described("on"), "on"),
    HIDDEN,
    Nasty(
        "name differs from folder",
        Wanted.LOAD,
        _text(f"name: word-count\ndescription: {MEANT}\n"),
        names=("word-count", FOLDER),
    ),
    Nasty("two skills of one name in one root", Wanted.LOAD, _twins),
    Nasty("name of a device, nul", Wanted.LOAD, _device, names=("nul",)),
    Nasty("description of 5,600 characters", Wanted.EITHER, _described(LONG.strip()), LONG[:900]),
    Nasty("missing description", Wanted.REFUSE, _text(f"name: {FOLDER}\n")),
    Nasty("file is named skill.md", Wanted.EITHER, _text(_PLAIN, file="skill.md")),
    Nasty("SKILL.md inside a skill", Wanted.LOAD, _nested),
    Nasty("SKILL.md is a folder", Wanted.REFUSE, _directory),
    Nasty("file of 100 MB", Wanted.EITHER, _huge),
    Nasty("SKILL.md is a FIFO", Wanted.REFUSE, _fifo),
    Nasty("SKILL.md is a socket", Wanted.REFUSE, _socket),
    Nasty("SKILL.md is a link to /dev/zero", Wanted.REFUSE, _link("/dev/zero")),
    Nasty("SKILL.md is a link to itself", Wanted.REFUSE, _link("SKILL.md")),
    Nasty("SKILL.md is a link out of the root", Wanted.REFUSE, _link_out),
    Nasty("links that form loops", Wanted.LOAD, _loop),
)
