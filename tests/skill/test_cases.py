"""The standard's cases, one SKILL.md each, judged strictly and by the `standard` profile."""

from pathlib import Path
from typing import Literal

import msgspec
import pytest

from prowess.policy import STRICT_READING, Reading
from prowess.skill.problems import Severity
from prowess.skill.reading import Judgement, parse_skill
from tests.skill.writing import STANDARD


class Case(msgspec.Struct, frozen=True):
    id: str
    note: str
    folder: str
    file: str
    strict: Literal["valid", "invalid"]
    standard: Literal["load", "warn", "skip"]
    text: str | None = None
    hex: str | None = None

    @property
    def content(self) -> bytes | None:
        if self.hex is not None:
            return bytes.fromhex(self.hex)
        return None if self.text is None else self.text.encode()


_ALL = msgspec.json.decode(
    (Path(__file__).parents[1] / "data" / "skill_md_cases.json").read_bytes(), type=tuple[Case, ...]
)
# A missing or misnamed file is discovery's concern.
_RUN = [(case, case.content) for case in _ALL if case.file == "SKILL.md" and case.content is not None]
_CASES = [pytest.param(case, content, id=f"{case.id}-{case.note}") for case, content in _RUN]


def _judge(case: Case, content: bytes, reading: Reading) -> Judgement:
    return parse_skill(content, folder=case.folder, reading=reading)


def _worth_a_warning(judgement: Judgement) -> bool:
    return any(problem.severity is not Severity.INFO for problem in judgement.problems)


def test_every_case_about_the_content_of_a_file_is_run() -> None:
    assert {case.id for case in _ALL} - {case.id for case, _ in _RUN} == {"U02", "U27", "Y39"}


@pytest.mark.requirement("R1", "R2", "R3", "R4", "R6", "R7", "R8", "J1", "J4")
@pytest.mark.parametrize(("case", "content"), _CASES)
def test_strict_reading_agrees_with_the_standard(case: Case, content: bytes) -> None:
    found = _judge(case, content, STRICT_READING)
    assert (found.manifest is not None) == (case.strict == "valid"), found.problems


@pytest.mark.requirement("R15", "J1", "J3", "J4")
@pytest.mark.parametrize(("case", "content"), _CASES)
def test_standard_profile_loads_warns_or_skips_as_the_guide_asks(case: Case, content: bytes) -> None:
    found = _judge(case, content, STANDARD)
    outcome = "skip" if found.manifest is None else "warn" if _worth_a_warning(found) else "load"
    assert outcome == case.standard, found.problems


@pytest.mark.requirement("R15")
@pytest.mark.parametrize(("case", "content"), _CASES)
def test_no_case_is_refused_without_an_error_that_has_a_remedy(case: Case, content: bytes) -> None:
    for reading in (STANDARD, STRICT_READING):
        found = _judge(case, content, reading)
        errors = [problem for problem in found.problems if problem.severity is Severity.ERROR]
        assert (found.manifest is None) == bool(errors)
        assert all(error.message and error.remedy for error in errors)


@pytest.mark.requirement("J4")
@pytest.mark.parametrize(
    ("number", "name", "description"),
    [
        ("N11", "1", "d"),
        ("N12", "2024-01-01", "d"),
        ("N13", "yes", "d"),
        ("N20", "ab", "d"),
        ("N21", "paypal", "d"),
        ("U19", "caf\N{LATIN SMALL LETTER E WITH ACUTE}", "d"),
        ("U24", "my-skill", "A test skill"),
        ("Y04", "my-skill", "Use a---b style"),
        ("Y11", "my-skill", "Use this skill when: the user asks"),
        ("Y12", "my-skill", "does the following:"),
        ("Y14", "my-skill", "`foo` bar"),
        ("Y17", "my-skill", "foo"),
        ("Y18", "my-skill", "line one line two"),
        ("Y20", "my-skill", "d"),
        ("Y32", "my-skill", "42"),
    ],
)
def test_name_and_description_come_out_as_they_were_meant(number: str, name: str, description: str) -> None:
    case = next(case for case in _ALL if case.id == number)
    content = case.content
    assert content is not None
    manifest = _judge(case, content, STANDARD).manifest
    assert manifest is not None
    assert (manifest.name, manifest.description) == (name, description)
