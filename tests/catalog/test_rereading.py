"""What a skill says of itself, read once more from its files or from copies of them."""

import os
import shutil
from pathlib import Path

import pytest

from prowess.catalog.rereading import read_manifest
from prowess.runtime import Runtime
from tests.catalog.machine import STANDARD
from tests.skills_on_disk import Home, write_skill

_READING = STANDARD.reading


@pytest.fixture
def root(home: Home) -> Path:
    """A folder with a skill at its top, one below, one with a sidecar, and one that had to be mended."""
    folder = home.path / "skills"
    write_skill(folder, "plain")
    write_skill(folder, "deep/forked", extra='sandbox: true\npermissions: ["@network"]\n')
    write_skill(folder, "mended", text="---\nname: mended\ndescription: For: colons.\npermissions: @events\n---\n")
    sidecar = "policy:\n  allow_implicit_invocation: false\n"
    write_skill(folder, "codex", files={"agents/openai.yaml": sidecar})
    return folder


def test_files_say_again_what_the_catalog_has_found(root: Path, tmp_path: Path) -> None:
    with Runtime.open(skills=[root]) as runtime:
        skills = runtime.catalog().skills
    assert sorted(skill.name for skill in skills) == ["codex", "forked", "mended", "plain"]
    for skill in skills:
        copy = shutil.copytree(skill.folder, tmp_path / "copies" / skill.name)
        assert read_manifest(skill, skill.real, reading=_READING) == skill.manifest
        assert read_manifest(skill, str(copy), reading=_READING) == skill.manifest


def test_copy_that_differs_speaks_for_itself(root: Path, tmp_path: Path) -> None:
    with Runtime.open(skills=[root]) as runtime:
        skill = runtime.catalog().get("forked")
    copy = write_skill(tmp_path / "copies", "forked")
    found = read_manifest(skill, str(copy), reading=_READING)
    assert found == skill.manifest._replace(additions=None, text=found.text if found else "")


@pytest.mark.parametrize("fault", ["gone", "link", "fifo", "no description"])
def test_files_that_make_no_skill_say_nothing(root: Path, fault: str) -> None:
    with Runtime.open(skills=[root]) as runtime:
        skill = runtime.catalog().get("plain")
    file = root / "plain" / "SKILL.md"
    file.unlink()
    if fault == "link":
        file.symlink_to("/etc/passwd")
    elif fault == "fifo":
        os.mkfifo(file)
    elif fault == "no description":
        file.write_text("---\nname: plain\n---\n")
    assert read_manifest(skill, skill.real, reading=_READING) is None
