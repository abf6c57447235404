"""Verdicts on skills in the forms that code hosts and editors understand."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from prowess.catalog.validation import CheckedSkill
from prowess.skill.problems import KINDS, Problem, Severity
from prowess.version import __version__

__all__ = ["render_github", "render_sarif"]

_GITHUB = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_SARIF = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def _each(checked: Sequence[CheckedSkill]) -> Iterator[tuple[str, Problem]]:
    for one in checked:
        for problem in one.problems:
            yield f"{one.path}/{problem.path or 'SKILL.md'}", problem


def render_github(checked: Sequence[CheckedSkill]) -> str:
    """Return workflow commands that put each Problem beside its line."""
    return "\n".join(
        f"::{_GITHUB[problem.severity]} "
        f"file={_property(file)},line={problem.line or 1},col={problem.column or 1},title={_property(problem.code)}"
        f"::{_message(problem.message + (f' ({problem.remedy})' if problem.remedy else ''))}"
        for file, problem in _each(checked)
    )


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def render_sarif(checked: Sequence[CheckedSkill]) -> dict[str, Any]:
    """Return a SARIF 2.1.0 log."""
    found = list(_each(checked))
    used = sorted({problem.code for _, problem in found})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": KINDS[code].what},
            "fullDescription": {"text": KINDS[code].why},
            "help": {"text": KINDS[code].remedy},
        }
        for code in used
    ]
    results = [
        {
            "ruleId": problem.code,
            "level": _SARIF[problem.severity],
            "message": {"text": problem.message},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": quote(file)},
                        "region": {"startLine": problem.line or 1, "startColumn": problem.column or 1},
                    }
                }
            ],
        }
        for file, problem in found
    ]
    driver = {"name": "prowess", "version": __version__, "rules": rules}
    return {
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
