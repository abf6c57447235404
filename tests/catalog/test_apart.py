"""A skill in the root of a workspace and its neighbours are skills of their own, and share no file."""

import os
from pathlib import Path

import pytest

from prowess.catalog.digests import Digests
from prowess.policy import PROFILES, Scan, SourceKind
from prowess.skill.skill import Skill
from prowess.sources.skill_files import read_skill_files
from prowess.sources.source import Source
from tests.catalog.machine import discover
from tests.sources.building import write_skill


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = write_skill(tmp_path / "skills", name="root-skill")
    (root / "notes").mkdir()
    (root / "notes" / "a.md").touch()
    write_skill(root / "nested")
    return root


def _discover(root: Path) -> dict[str, Skill]:
    source = Source(SourceKind.WORKSPACE, str(root), scan=Scan.ROOT_AND_CHILDREN)
    return {skill.name: skill for skill in discover([source], PROFILES["workspace"]).skills}


@pytest.mark.requirement("R88")
def test_only_the_skill_in_the_root_stands_apart(root: Path) -> None:
    assert {name: skill.apart for name, skill in _discover(root).items()} == {"root-skill": True, "nested": False}


@pytest.mark.requirement("R88")
def test_neighbours_do_not_change_the_digest_of_the_skill_in_the_root(root: Path) -> None:
    skill = _discover(root)["root-skill"]
    before = Digests().of(skill)
    (root / "nested" / "more.md").write_text("more")
    os.mkfifo(root / "nested" / "fifo")
    write_skill(root / "another")
    digests = Digests()
    assert digests.of(skill) == before == read_skill_files(str(root), apart=True).digest
    assert [file.path for file in digests.files(skill).files] == [b"SKILL.md", b"notes/a.md"]
    (root / "notes" / "a.md").write_text("mine")
    assert digests.of(skill) != before
