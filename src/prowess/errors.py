"""The exceptions that Prowess raises.

A fault *in a skill* is never an exception but a `Problem`. Exceptions are for callers, and branch by who can act:

    ProwessError            code, message, hint
    ├── Refused             a person or a policy said no
    ├── NotFound            the caller named something that is not there
    ├── BrokenSkill         a skill cannot be used; carries its Problems
    ├── ToolInputError      the model may correct itself
    ├── SettingsError       the operator must correct a file
    └── WorldError          disk, network, process or database failed
"""

from collections.abc import Sequence
from typing import ClassVar

__all__ = [
    "BrokenSkill",
    "NotFound",
    "ProwessError",
    "Refused",
    "SettingsError",
    "ToolInputError",
    "WorldError",
]


class ProwessError(Exception):
    """Something Prowess cannot do, said so that its reader can act.

    `message` says what and where, `hint` what to do next; `code` is stable and kebab-case.
    """

    default_code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "", code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.default_code


class Refused(ProwessError):
    """A person or a policy said no.

    `hint_elsewhere` is the hint for whoever has typed no command, and so cannot type it again with another option.
    """

    default_code = "refused"

    def __init__(
        self, message: str, *, hint: str = "", code: str | None = None, hint_elsewhere: str | None = None
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.hint_elsewhere = hint if hint_elsewhere is None else hint_elsewhere


class NotFound(ProwessError):
    """The caller named something that is not there."""

    default_code = "not-found"


class BrokenSkill(ProwessError):
    """A skill cannot be used; `problems` says why (values of `prowess.skill.problems.Problem`)."""

    default_code = "broken-skill"

    def __init__(self, message: str, *, problems: Sequence[object], hint: str = "", code: str | None = None) -> None:
        super().__init__(message, hint=hint, code=code)
        self.problems = tuple(problems)


class ToolInputError(ProwessError):
    """A tool call was wrong in a way that its caller, usually a model, can correct."""

    default_code = "tool-input"


class SettingsError(ProwessError):
    """A settings file or variable must be corrected by the operator."""

    default_code = "settings"


class WorldError(ProwessError):
    """The disk, the network, a process or a database failed."""

    default_code = "world"
