"""What a caller of the library gives: it is what it must be, or the caller is told what that is.

A checker of types sees most of this before. What comes from a request or a file, nobody has looked at.
"""

import os
from enum import StrEnum
from typing import TypeVar, cast

from prowess.errors import SettingsError
from prowess.skill.deception import make_printable

__all__ = ["bad_argument", "check_budget", "check_path", "check_text", "read_choice"]

_E = TypeVar("_E", bound=StrEnum)
_MAX_SHOWN = 64


def bad_argument(what: str, value: object, *, hint: str) -> SettingsError:
    """Return the error for a value that cannot be what it was given for."""
    shown = make_printable(str(value)[:_MAX_SHOWN])
    return SettingsError(f"'{shown}' cannot be {what}", hint=hint, code="bad-argument")


def check_text(what: str, value: object) -> str:
    """Return a value that must be a text."""
    if not isinstance(value, str):
        raise bad_argument(what, value, hint="give a text")
    return value


def read_choice(kind: type[_E], what: str, value: object) -> _E:
    """Return one of a few values, which may be given by its text."""
    try:
        return kind(value)
    except ValueError:
        raise bad_argument(what, value, hint=f"give one of {', '.join(kind)}") from None


def check_budget(value: object) -> int:
    """Return a number of tokens that something may cost."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise bad_argument("a budget", value, hint="give a whole number of tokens from 0 up")
    return value


def check_path(what: str, value: object) -> str:
    """Return a path that a disk can have, as text."""
    path: object = os.fspath(cast("os.PathLike[str]", value)) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str) or "\0" in path:
        raise bad_argument(what, path, hint="give a path, as a text without NUL or a pathlib.Path")
    return path
