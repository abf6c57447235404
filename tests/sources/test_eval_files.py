"""Trigger tests are read from a skill's own folder, and from nowhere else."""

import os
from pathlib import Path

import pytest

from prowess.skill.trigger_tests import MAX_FILE_BYTES, Expectation, TriggerTests
from prowess.sources.eval_files import read_trigger_tests
from tests.sources.building import make_socket, write_skill


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = write_skill(tmp_path / "skill")
    (folder / "evals").mkdir()
    (tmp_path / "outside.yaml").write_text("should: [secret]\n")
    return folder


def _codes(found: TriggerTests) -> list[tuple[str, str | None]]:
    return [(problem.code, problem.path) for problem in found.problems]


def test_skill_without_tests_has_none(skill: Path) -> None:
    assert not read_trigger_tests(str(skill))
    (skill / "evals").rmdir()
    assert read_trigger_tests(str(skill)) == TriggerTests()


def test_all_files_of_known_names_count(skill: Path) -> None:
    (skill / "evals" / "triggers.yaml").write_text("should: [a]\n")
    (skill / "evals" / "eval_queries.json").write_text('[{"query": "b", "should_trigger": true}]')
    (skill / "evals" / "other.yaml").write_text("should: [c]\n")
    assert read_trigger_tests(str(skill)).texts(Expectation.SHOULD) == ("a", "b")


def test_link_inside_the_skill_is_followed(skill: Path) -> None:
    (skill / "queries.yaml").write_text("should: [a]\n")
    (skill / "evals" / "triggers.yaml").symlink_to("../queries.yaml")
    assert read_trigger_tests(str(skill)).texts(Expectation.SHOULD) == ("a",)


@pytest.mark.parametrize("target", ["../../outside.yaml", "/etc/hostname"])
def test_link_out_of_the_skill_is_a_problem(skill: Path, target: str) -> None:
    (skill / "evals" / "triggers.yaml").symlink_to(target)
    found = read_trigger_tests(str(skill))
    assert (found.queries, _codes(found)) == ((), [("evals-unusable", "evals/triggers.yaml")])


def test_folder_that_is_a_link_out_gives_nothing_but_problems(skill: Path) -> None:
    (skill / "evals").rmdir()
    (skill.parent / "elsewhere").mkdir()
    (skill.parent / "elsewhere" / "triggers.yaml").write_text("should: [secret]\n")
    (skill / "evals").symlink_to("../elsewhere")
    found = read_trigger_tests(str(skill))
    assert found.queries == ()
    assert {code for code, _ in _codes(found)} == {"evals-unusable"}


def test_what_is_no_file_is_a_problem_and_nobody_waits_for_it(skill: Path) -> None:
    os.mkfifo(skill / "evals" / "triggers.yaml")
    (skill / "evals" / "triggers.json").mkdir()
    make_socket(skill / "evals" / "evals.json")
    found = read_trigger_tests(str(skill))
    assert found.queries == ()
    assert ("evals-unusable", "evals/triggers.yaml") in _codes(found)


def test_loop_of_links_is_a_problem(skill: Path) -> None:
    (skill / "evals" / "triggers.yaml").symlink_to("triggers.yml")
    (skill / "evals" / "triggers.yml").symlink_to("triggers.yaml")
    assert len(_codes(read_trigger_tests(str(skill)))) == 2


def test_endless_file_is_read_no_further_than_the_bound(skill: Path) -> None:
    with (skill / "evals" / "triggers.yaml").open("wb") as file:
        file.truncate(MAX_FILE_BYTES * 1_000)
    found = read_trigger_tests(str(skill))
    assert found.problems[0].message == "evals/triggers.yaml is larger than 64 KiB"
