"""What the operations on skills answer, as types: the OpenAPI document is made from them."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from prowess.catalog.switches import Switch
from prowess.policy import SourceKind
from prowess.skill.digest import FileKind
from prowess.skill.problems import Severity

__all__ = [
    "Digest",
    "Explanation",
    "FileRow",
    "ProblemRow",
    "ReasonRow",
    "RejectedRow",
    "SkillContent",
    "SkillDetails",
    "SkillFiles",
    "SkillList",
    "SkillListRow",
    "SkillProblems",
    "UsageCounts",
]

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
State = Literal["visible", "hidden", "disabled", "shadowed", "untrusted", "ineligible"]


class ProblemRow(Struct, kw_only=True):
    """One fault of a skill."""

    code: str
    severity: Severity
    message: str
    line: int | None
    column: int | None
    remedy: str
    path: str | UnsetType = UNSET
    """The file that is meant, if it is not SKILL.md."""


class RejectedRow(Struct, kw_only=True):
    """A folder that gave no skill."""

    path: str
    problems: list[ProblemRow]


class SkillListRow(Struct, kw_only=True):
    """A skill as it is listed."""

    id: str
    key: str
    """What stands for it in addresses."""
    name: str
    description: str
    source: SourceKind
    digest: Digest | None
    """None if not all of its files can be read."""
    enabled: bool
    eligible: bool
    trusted: bool
    shadowed_by: str | None
    problems: list[ProblemRow]
    visible: bool
    """Whether models see it."""
    state: State
    tokens: int
    """Of its entry in a prompt."""
    activations: int
    runs: int
    last_used_at: str | None


class SkillList(Struct, kw_only=True):
    """One page of the skills, and what is wrong with the rest."""

    skills: list[SkillListRow]
    total: int
    page: int
    pages: int
    rejected: list[RejectedRow]
    """As many as are listed; `rejected_total` counts all."""
    rejected_total: int
    problems: list[ProblemRow]
    """Of the sources themselves; `problems_total` counts all."""
    problems_total: int
    generation: int
    """Grows whenever the catalog changes."""


class FileRow(Struct, kw_only=True):
    """One file of a skill."""

    path: str
    kind: FileKind
    size: int
    sha256: str


class ReasonRow(Struct, kw_only=True):
    """Why a skill is seen, or is not."""

    code: str
    message: str
    remedy: str


class Explanation(Struct, kw_only=True):
    """Whether models see a skill, and every reason for it."""

    name: str
    visible: bool
    reasons: list[ReasonRow]


class UsageCounts(Struct, kw_only=True):
    """How much a skill was used."""

    activations: int
    sessions: int
    tokens: int
    runs: int
    last_used_at: str | None


class SkillDetails(SkillListRow, kw_only=True):
    """All that is known of one skill."""

    category: str | None
    path: str
    root: str
    switch: Switch
    missing: list[str]
    """What it needs and does not find here."""
    version: str | None
    manifest: dict[str, Any]
    frontmatter: dict[str, Any]
    files: list[FileRow]
    usage: UsageCounts
    why: Explanation


class SkillContent(Struct, kw_only=True):
    """The instructions of a skill."""

    name: str
    id: str
    digest: Digest | None
    frontmatter: str
    """As it was read."""
    instructions: str
    truncated: bool


class SkillFiles(Struct, kw_only=True):
    """The files of a skill."""

    name: str
    id: str
    digest: Digest | None
    files: list[FileRow]
    problems: list[ProblemRow]


class SkillProblems(Struct, kw_only=True):
    """All that is wrong with a skill, its instructions and its files."""

    name: str
    id: str
    valid: bool
    problems: list[ProblemRow]
