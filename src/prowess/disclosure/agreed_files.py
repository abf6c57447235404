"""Hold what was read against the files that were agreed to."""

from collections.abc import Sequence

from prowess.errors import WorldError
from prowess.skill.digest import FileKind, SkillFile
from prowess.skill.skill import Skill

__all__ = ["SkillChanged", "check_bytes", "find_most_bytes"]


class SkillChanged(WorldError):
    """A file is not what it was when the skill's digest was taken."""

    default_code = "skill-changed"


def check_bytes(skill: Skill, sha256: str, *, path: bytes, files: Sequence[SkillFile]) -> None:
    """Raise unless bytes of this hash are what the path had: its own, or any file's if a link leads to it."""
    if all(file.sha256 != sha256 for file in _find_expected(path, files)):
        raise SkillChanged(f"skill '{skill.name}' was changed while it was read", hint="try again")


def find_most_bytes(path: bytes, *, files: Sequence[SkillFile]) -> int:
    """Return how many bytes the path can have at most, if it has those that were agreed to."""
    return max((file.size for file in _find_expected(path, files)), default=0)


def _find_expected(path: bytes, files: Sequence[SkillFile]) -> list[SkillFile]:
    own = [file for file in files if file.path == path and file.kind is not FileKind.LINK]
    return own or [file for file in files if file.kind is not FileKind.LINK]
