"""Faults that a review found in how skills are found and shown, each with its smallest example."""

import itertools
import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from prowess.catalog.validation import check_skill, find_skill_folders
from prowess.policy import Limits, Reading
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.sources.skill_files import read_skill_files
from tests.skills_on_disk import Home, write_skill


def test_names_that_differ_in_unprintable_bytes_get_ids_of_their_own(tmp_path: Path) -> None:
    """All sixteen are shown alike, and once sent the search for an id round in circles."""
    for parts in itertools.product((b"\xff", b"\\xff"), repeat=4):
        folder = os.path.join(os.fsencode(tmp_path), b"-".join(parts))
        os.mkdir(folder)
        with open(os.path.join(folder, b"SKILL.md"), "w", encoding="utf-8") as file:
            file.write("---\nname: x\ndescription: Does it.\n---\n")
    with Runtime.open(load_settings(environ={"HOME": str(tmp_path / "home")}), skills=[tmp_path]) as runtime:
        ids = [skill.id for skill in runtime.catalog().skills]
    assert len(ids) == len(set(ids)) == 16


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "](" * 90_000,
        "[a](b) " * 25_000,
        "\n".join("`" * length for length in range(3, 600)),
        "[" * 180_000,
        "[a](" + "x" * 180_000,
    ],
    ids=["open links", "many links", "many fences", "brackets", "one long link"],
)
def test_hostile_instructions_are_judged(tmp_path: Path, body: str) -> None:
    """The kernel ends the child if it takes more than ten seconds of processor time."""
    folder = write_skill(tmp_path, "pdf")
    (folder / "SKILL.md").write_text(f"---\nname: pdf\ndescription: Does it.\n---\n{body}\n", encoding="utf-8")
    script = textwrap.dedent(
        f"""
        import resource
        resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
        from prowess.catalog.validation import check_skill
        from prowess.policy import Limits, Reading
        print(check_skill({str(folder)!r}, reading=Reading(), limits=Limits()).valid)
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n")


@pytest.mark.requirement("J5")
def test_untrusted_project_cannot_take_a_users_skill_by_linking_to_it(home: Home, tmp_path: Path) -> None:
    mine = write_skill(home.path / ".agents" / "skills", "mine")
    project = tmp_path / "project"
    (project / ".claude" / "skills").mkdir(parents=True)
    (project / ".claude" / "skills" / "mine").symlink_to(mine)
    with Runtime.open(load_settings(working_folder=str(project))) as runtime:
        assert runtime.why("mine").visible
        assert runtime.catalog().get("mine").id == "agents:mine"


def test_users_skills_stay_the_users_when_working_in_the_home_folder(home: Home) -> None:
    write_skill(home.path / ".agents" / "skills", "mine")
    with Runtime.open(load_settings(working_folder=str(home.path))) as runtime:
        skill = runtime.catalog().get("mine")
        assert (skill.id, skill.trusted, runtime.why("mine").visible) == ("agents:mine", True, True)


@pytest.mark.requirement("R22")
def test_nearest_folder_of_a_project_wins_whatever_its_name(home: Home, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    write_skill(tmp_path / ".prowess" / "skills", "w", description="far")
    write_skill(tmp_path / "sub" / ".claude" / "skills", "w", description="near")
    with Runtime.open(load_settings(working_folder=str(tmp_path / "sub"))) as runtime:
        assert runtime.catalog().get("w").description == "near"


def test_validate_tells_what_it_passed_over(tmp_path: Path) -> None:
    write_skill(tmp_path, "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "skill.md").write_text("---\nname: bad\ndescription: d\n---\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    found = find_skill_folders(str(tmp_path))
    assert [os.path.basename(folder) for folder in found.folders] == ["good"]
    assert {(one.name, one.valid, one.problems[0].code) for one in found.passed_over} == {
        ("bad", False, "skill-md-misnamed"),
        ("link", True, "link-not-followed"),
    }


@pytest.mark.requirement("K7")
def test_why_knows_what_the_search_passed_over(home: Home, tmp_path: Path) -> None:
    (tmp_path / "foo").mkdir()
    (tmp_path / "foo" / "Skill.md").write_text("x", encoding="utf-8")
    (tmp_path / "bar").symlink_to(tmp_path / "nowhere")
    with Runtime.open(load_settings(), skills=[tmp_path]) as runtime:
        assert [reason.code for reason in runtime.why("foo").reasons] == ["skill-md-misnamed"]
        assert [reason.code for reason in runtime.why("bar").reasons] == ["link-not-followed"]


@pytest.mark.requirement("R32", "K7")
def test_why_knows_what_the_limit_cut_off(home: Home, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_skill(tmp_path / "skills", name)
    config = tmp_path / "prowess.toml"
    config.write_text("[limits]\nmax_skills = 1\n", encoding="utf-8")
    with Runtime.open(load_settings(config=str(config)), skills=[tmp_path / "skills"]) as runtime:
        assert [reason.code for reason in runtime.why("b").reasons] == ["too-many-skills"]


@pytest.mark.requirement("J5")
def test_every_folder_counts_towards_the_bound(home: Home, tmp_path: Path) -> None:
    for name in "abcdef":
        write_skill(tmp_path / "skills", name)
    config = tmp_path / "prowess.toml"
    config.write_text("[limits]\nmax_folders = 3\n", encoding="utf-8")
    with Runtime.open(load_settings(config=str(config)), skills=[tmp_path / "skills"]) as runtime:
        catalog = runtime.catalog()
    assert [skill.name for skill in catalog.skills] == ["a", "b", "c"]
    assert [problem.code for problem in catalog.problems] == ["scan-too-many-folders"]


def test_only_real_leftovers_are_no_part_of_a_skill(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "pdf")
    before = read_skill_files(str(folder)).digest
    (folder / ".nfs000000000012ab").write_text("x", encoding="utf-8")
    assert read_skill_files(str(folder)).digest == before
    (folder / ".nfs-run.sh").write_text("x", encoding="utf-8")
    assert read_skill_files(str(folder)).digest != before


@pytest.mark.requirement("K10")
def test_sidecar_that_is_a_link_is_a_problem(home: Home, tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "skills", "pdf")
    (folder / "agents").mkdir()
    (folder / "agents" / "openai.yaml").symlink_to("/etc/passwd")
    with Runtime.open(load_settings(), skills=[tmp_path / "skills"]) as runtime:
        assert [problem.code for problem in runtime.catalog().get("pdf").problems] == ["sidecar-invalid"]


def test_state_and_caches_are_for_their_owner_alone(home: Home, tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf")
    os.utime(tmp_path / "skills" / "pdf" / "SKILL.md", (1, 1))
    with Runtime.open(load_settings(), skills=[tmp_path / "skills"]) as runtime:
        runtime.catalog()
        runtime.trust(tmp_path)
        prowess_home = Path(runtime.settings.place.prowess_home)
    made = [prowess_home, *prowess_home.rglob("*")]
    assert len(made) > 1
    assert [path for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


_AFTER_A_FORK = """
import os, sys
from pathlib import Path
from prowess import Runtime, load_settings
root = Path(sys.argv[1])
runtime = Runtime.open(load_settings(environ={"HOME": sys.argv[2]}), skills=[root])
runtime.catalog(), runtime.catalog()
(root / "pdf" / "SKILL.md").write_text("---\\nname: pdf\\ndescription: changed\\n---\\n")
child = os.fork()
if child == 0:
    os._exit(0 if runtime.catalog().get("pdf").description == "changed" else 1)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), runtime.catalog().get("pdf").description)
"""


@pytest.mark.slow
@pytest.mark.requirement("R36")
def test_fork_does_not_take_its_parents_events(tmp_path: Path) -> None:
    write_skill(tmp_path / "skills", "pdf")
    command = [sys.executable, "-c", _AFTER_A_FORK, str(tmp_path / "skills"), str(tmp_path / "home")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "0 changed\n"


_WITHOUT_RIGHTS = """
import os, sys, msgspec, sqlite3, tomllib, prowess.state.sqlite_database  # Later, only root may reach them.
from prowess import Runtime, load_settings
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
settings = load_settings(environ={"HOME": "/nonexistent", "PROWESS_HOME": sys.argv[1]}, working_folder="/")
with Runtime.open(settings, skills=sys.argv[2:]) as runtime:
    catalog = runtime.catalog()
    print([skill.name for skill in catalog.skills], [problem.code for problem in catalog.problems])
    print(len(runtime.trusted_projects()))
"""


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A folder that every user may enter."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    return tmp_path


def test_root_without_right_to_enter_and_state_without_right_to_write_stop_nothing(open_folder: Path) -> None:
    write_skill(open_folder / "good", "a")
    write_skill(open_folder / "locked", "b")
    (open_folder / "locked").chmod(0o644)
    with Runtime.open(load_settings(environ={"HOME": str(open_folder / "h")}), skills=[open_folder]) as runtime:
        runtime.trust(open_folder)
        prowess_home = Path(runtime.settings.place.prowess_home)
    for path in (prowess_home.parent, prowess_home, *prowess_home.rglob("*")):
        path.chmod(0o755)
    folders = [str(prowess_home), str(open_folder / "locked"), str(open_folder / "good")]
    command = [sys.executable, "-c", _WITHOUT_RIGHTS, *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (open_folder / "locked").chmod(0o755)
    assert done.stderr == ""
    assert done.stdout == "['a'] ['source-unreadable']\n1\n"


def test_body_references_to_folders_are_fine(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "pdf")
    (folder / "references").mkdir()
    (folder / "references" / "a.md").write_text("text", encoding="utf-8")
    text = "---\nname: pdf\ndescription: Does it.\n---\n[all](references/) [one](references/a.md) [none](x.md)\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    problems = check_skill(str(folder), reading=Reading(), limits=Limits()).problems
    assert [(problem.code, problem.line) for problem in problems] == [("broken-reference", 5)]
