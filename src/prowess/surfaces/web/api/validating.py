"""Judge the text of a SKILL.md over HTTP, without touching the disk."""

from typing import Annotated

from msgspec import Meta, Struct

from prowess.catalog.validation import check_text
from prowess.policy import DEFAULT_PROFILE, PROFILES, STRICT_READING
from prowess.skill.deception import make_encodable
from prowess.surfaces.records import Record, validation_record
from prowess.surfaces.web.api.operations import Call, Operation
from prowess.surfaces.web.api.skill_answers import ProblemRow

__all__ = ["VALIDATE"]


class ValidateBody(Struct, kw_only=True, forbid_unknown_fields=True):
    """The text to judge."""

    skill_md: Annotated[str, Meta(max_length=1_000_000)]
    name: Annotated[str, Meta(max_length=200)] = ""
    """Of the folder that it is to lie in; without it, that of the skill itself."""
    strict: bool = False
    """By the open standard, read strictly; otherwise: would the standard profile load it?"""


class CheckedRow(Struct, kw_only=True):
    """The verdict on one skill."""

    path: str
    name: str
    valid: bool
    problems: list[ProblemRow]


class ValidationAnswer(Struct, kw_only=True):
    """The verdict."""

    valid: bool
    skills: list[CheckedRow]


def _validate(call: Call) -> Record:
    body: ValidateBody = call.body
    reading = STRICT_READING if body.strict else PROFILES[DEFAULT_PROFILE].reading
    raw = make_encodable(body.skill_md).encode()
    checked = check_text(raw, folder=body.name, reading=reading, limits=call.site.runtime.policy.limits)
    return validation_record([checked])


VALIDATE = Operation(
    method="POST",
    path="/api/validate",
    name="validate_skill",
    about="Judge the text of a SKILL.md.",
    handler=_validate,
    tag="skills",
    body=ValidateBody,
    answer=ValidationAnswer,
)
