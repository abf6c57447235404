"""Collects the Problems of one SKILL.md, and knows where in the file each key stands."""

from dataclasses import dataclass, field

from prowess.skill.bounded_yaml import YamlPlaces, locate_keys
from prowess.skill.deception import clean_text, has_only_joiners
from prowess.skill.plain_yaml import find_plain_key
from prowess.skill.problems import Problem, Severity, make_problem

__all__ = ["Complaints"]

_MAX_WORDS = 4


@dataclass(slots=True)
class Complaints:
    """The Problems found so far, with the frontmatter that they are about."""

    strict: bool
    problems: list[Problem] = field(default_factory=list[Problem])
    text: str = ""
    first_line: int = 1
    """The line of the file on which `text` begins."""
    places: YamlPlaces | None = None
    """Where the keys stand, if the reader has told; else the text is plain."""

    @property
    def fatal(self) -> bool:
        """Whether one of them keeps the skill from loading."""
        return any(problem.severity is Severity.ERROR for problem in self.problems)

    def add(
        self,
        code: str,
        message: str,
        *,
        severity: Severity | None = None,
        line: int | None = None,
        column: int | None = None,
        remedy: str = "",
        path: str | None = None,
    ) -> None:
        """Add a Problem at a place that is known."""
        problem = make_problem(
            code, message, strict=self.strict, severity=severity, line=line, column=column, remedy=remedy, path=path
        )
        self.problems.append(problem)

    def add_at(self, code: str, message: str, *path: str, severity: Severity | None = None, remedy: str = "") -> None:
        """Add a Problem at the place of a key, or of the nearest key above it."""
        line, column = self._locate(path)
        self.add(code, message, severity=severity, line=line, column=column, remedy=remedy)

    def _locate(self, path: tuple[str, ...]) -> tuple[int, int]:
        if self.places is None and len(path) <= 2:
            line, column = find_plain_key(self.text, *path) or find_plain_key(self.text, *path[:1]) or (0, 0)
            return self.first_line + line, column + 1
        if self.places is None:
            self.places = locate_keys(self.text, first_line=self.first_line)
        known = (self.places[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.places)
        return next(known, (self.first_line, 1))

    def clean(self, key: str, text: str) -> str:
        """Return a text without what could deceive, complaining of what was there."""
        cleaned = clean_text(text)
        if cleaned.invisible:
            message = f"{key} holds invisible characters: {', '.join(cleaned.invisible[:8])}"
            harmless = key != "name" and has_only_joiners(text)  # No name needs any.
            self.add_at("invisible-characters", message, key, severity=Severity.WARNING if harmless else None)
        for word in cleaned.look_alikes[:_MAX_WORDS]:
            self.add_at("look-alike-characters", f"{key}: the word '{word[:64]}' mixes scripts", key)
        return cleaned.text
