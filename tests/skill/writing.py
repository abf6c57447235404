"""How the tests of this room write a SKILL.md and look at what came of it."""

from collections.abc import Iterable

from prowess.policy import PROFILES, Reading
from prowess.skill.manifest import Manifest
from prowess.skill.problems import Problem, Severity
from prowess.skill.reading import Judgement, parse_skill

__all__ = ["STANDARD", "Place", "accept", "judge", "places", "skill_md"]

STANDARD = PROFILES["standard"].reading

Place = tuple[str, Severity, int | None, int | None]


def skill_md(frontmatter: str, body: str = "Body\n") -> bytes:
    """Return the bytes of a file with this frontmatter; its first line is line 2."""
    return f"---\n{frontmatter}---\n{body}".encode()


def judge(frontmatter: str, *, folder: str = "pdf", reading: Reading = STANDARD, body: str = "Body\n") -> Judgement:
    return parse_skill(skill_md(frontmatter, body), folder=folder, reading=reading)


def accept(frontmatter: str, *, folder: str = "pdf", reading: Reading = STANDARD) -> Manifest:
    """Return the manifest of a skill that must load."""
    found = judge(frontmatter, folder=folder, reading=reading)
    assert found.manifest is not None, found.problems
    return found.manifest


def places(problems: Iterable[Problem]) -> list[Place]:
    """Return what and where, without the wording."""
    return [(problem.code, problem.severity, problem.line, problem.column) for problem in problems]
