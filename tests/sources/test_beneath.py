"""A file of a skill is opened by its path, and nothing outside the skill ever is."""

import os
import stat
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from prowess.sources.beneath import MAX_LINKS, Obstacle, open_beneath
from prowess.sources.skill_files import MAX_DEPTH
from tests.sources.building import ask_child, make_socket, skill_text, without_rights, write_skill


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = write_skill(tmp_path / "skill")
    (folder / "references" / "deep").mkdir(parents=True)
    (folder / "references" / "guide.md").write_text("guide")
    (folder / "references" / "deep" / "more.md").write_text("more")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "guide.md").write_text("secret")
    return folder


def _read(folder: Path, path: str | bytes) -> str | Obstacle:
    found = open_beneath(str(folder), path=os.fsencode(path))
    if isinstance(found, Obstacle):
        return found
    with os.fdopen(found) as file:
        return file.read()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("references/guide.md", "guide"),
        ("references//guide.md", "guide"),
        ("./references/./guide.md", "guide"),
        ("references/deep/../guide.md", "guide"),
        ("references/deep/../../references/guide.md", "guide"),
        ("references/missing.md", Obstacle.MISSING),
        ("missing/guide.md", Obstacle.MISSING),
        ("SKILL.md/guide.md", Obstacle.MISSING),
        ("n" * 300, Obstacle.MISSING),
        ("references", Obstacle.NOT_A_FILE),
        ("references/", Obstacle.NOT_A_FILE),
        ("", Obstacle.NOT_A_FILE),
        (".", Obstacle.NOT_A_FILE),
        ("..", Obstacle.ESCAPES),
        ("../outside/guide.md", Obstacle.ESCAPES),
        ("references/../../outside/guide.md", Obstacle.ESCAPES),
        ("/etc/hostname", Obstacle.ESCAPES),
        ("//etc/hostname", Obstacle.ESCAPES),
        (b"references/\0guide.md", Obstacle.UNREADABLE),
    ],
)
def test_path_is_walked_step_by_step(path: str | bytes, expected: str | Obstacle, skill: Path) -> None:
    assert _read(skill, path) == expected


def test_name_that_is_no_text_is_opened_by_its_bytes(skill: Path) -> None:
    Path(os.fsdecode(os.fsencode(skill) + b"/caf\xe9")).write_text("coffee")
    assert _read(skill, b"caf\xe9") == "coffee"


@pytest.mark.requirement("J5", "R99")
@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("l", "references/guide.md", "l"),
        ("l", "./references//guide.md", "l"),
        ("l", "references", "l/guide.md"),
        ("l", "references/deep", "l/../guide.md"),
        ("references/l", "../references/guide.md", "references/l"),
        ("references/deep/l", "../../references", "references/deep/l/guide.md"),
        ("references/deep/l", "..", "references/deep/l/guide.md"),
    ],
)
def test_link_that_stays_inside_is_followed(link: str, target: str, path: str, skill: Path) -> None:
    (skill / link).symlink_to(target)
    assert _read(skill, path) == "guide"


@pytest.mark.requirement("J5", "R99")
@pytest.mark.parametrize(
    ("target", "path", "expected"),
    [
        ("nowhere", "l", Obstacle.DANGLING),
        ("nowhere", "l/guide.md", Obstacle.DANGLING),
        ("references/nowhere", "l", Obstacle.DANGLING),
        ("lost", "l", Obstacle.DANGLING),
        ("references", "l/nowhere", Obstacle.MISSING),
        ("references", "l/lost", Obstacle.MISSING),
    ],
)
def test_link_that_leads_nowhere_is_told_from_a_file_that_is_not_there(
    target: str, path: str, expected: Obstacle, skill: Path
) -> None:
    (skill / "l").symlink_to(target)
    (skill / "lost").symlink_to("nowhere")
    assert _read(skill, path) is expected


@pytest.mark.requirement("J5", "R99")
@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("l", "../outside/guide.md", "l"),
        ("l", "../outside", "l/guide.md"),
        ("l", "/etc/hostname", "l"),
        ("l", "/dev/zero", "l"),
        ("l", "/", "l/etc/hostname"),
        ("l", "references/../references/guide.md", "l"),
        ("references/l", "../../outside/guide.md", "references/l"),
        ("references/deep/l", "../../../outside", "references/deep/l/guide.md"),
    ],
)
def test_link_that_may_lead_out_is_refused(link: str, target: str, path: str, skill: Path) -> None:
    (skill / link).symlink_to(target)
    assert _read(skill, path) is Obstacle.ESCAPES


@pytest.mark.requirement("J5")
def test_link_seen_through_another_link_is_judged_by_where_it_really_is(skill: Path) -> None:
    """`short` makes the way to `up` look one level deep, and it is two."""
    (skill / "short").symlink_to("references/deep")
    (skill / "references" / "deep" / "up").symlink_to("../../references/guide.md")
    assert _read(skill, "short/up") == "guide"
    (skill / "long").mkdir()
    (skill / "long" / "top").symlink_to("..")
    (skill / "out").symlink_to("../outside/guide.md")
    assert _read(skill, "long/top/long/top/references/guide.md") == "guide"
    assert _read(skill, "long/top/out") is Obstacle.ESCAPES
    assert _read(skill, "long/top/../outside/guide.md") is Obstacle.ESCAPES


@pytest.mark.requirement("R106")
def test_number_of_links_on_the_way_is_bounded(skill: Path) -> None:
    (skill / "self").symlink_to("self")
    assert _read(skill, "self") is Obstacle.TOO_MANY_LINKS
    (skill / "l0").symlink_to("references/guide.md")
    for number in range(MAX_LINKS):
        (skill / f"l{number + 1}").symlink_to(f"l{number}")
    assert _read(skill, f"l{MAX_LINKS - 1}") == "guide"
    assert _read(skill, f"l{MAX_LINKS}") is Obstacle.TOO_MANY_LINKS


@pytest.mark.requirement("J5", "R99")
def test_folder_that_has_become_a_link_is_not_followed(skill: Path, tmp_path: Path) -> None:
    """Whoever finds a skill behind a link resolves it; a link that is met here was put there since."""
    outside = tmp_path / "outside"
    skill.rename(tmp_path / "moved")
    skill.symlink_to(outside)
    assert _read(skill, "guide.md") is Obstacle.ESCAPES
    skill.unlink()
    skill.symlink_to("moved")
    assert _read(skill, "references/guide.md") is Obstacle.ESCAPES
    assert _read(tmp_path / "moved", "references/guide.md") == "guide"


@pytest.mark.requirement("J5", "R99")
def test_link_on_the_way_to_the_folder_is_not_followed(tmp_path: Path) -> None:
    real = write_skill(tmp_path / "home" / "group" / "skill")
    (tmp_path / "way").symlink_to("home")
    (tmp_path / "home" / "short").symlink_to("group")
    for way in ("way/group/skill", "home/short/skill"):
        assert _read(tmp_path / way, "SKILL.md") is Obstacle.ESCAPES
    assert _read(real, "SKILL.md") == skill_text("skill")


@pytest.mark.parametrize("path", [".git/config", ".GIT/config", ".nfs0001", "references/.nfs0001"])
def test_what_is_no_part_of_a_skill_is_not_there(path: str, skill: Path) -> None:
    """It is in no digest, so nobody has agreed to it, and a repository's settings may hold secrets."""
    (skill / path).parent.mkdir(exist_ok=True)
    (skill / path).write_text("secret")
    assert _read(skill, path) is Obstacle.MISSING
    (skill / "l").symlink_to(path)
    assert _read(skill, "l") is Obstacle.MISSING


@pytest.mark.requirement("R106")
def test_folders_deeper_than_a_skill_may_have_are_not_entered(skill: Path) -> None:
    deepest = skill.joinpath(*["d"] * (MAX_DEPTH + 1))
    deepest.mkdir(parents=True)
    (deepest / "file").write_text("x")
    (deepest.parent / "file").write_text("x")
    assert _read(skill, "d/" * MAX_DEPTH + "file") == "x"
    assert _read(skill, "d/" * (MAX_DEPTH + 1) + "file") is Obstacle.MISSING


@pytest.mark.requirement("R15")
@pytest.mark.parametrize("what", ["fifo", "socket", "device"])
def test_what_is_no_file_is_refused_at_once(what: str, skill: Path) -> None:
    path = skill / "references" / "odd"
    if what == "fifo":
        os.mkfifo(path)
    elif what == "socket":
        make_socket(path)
    else:
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
        except PermissionError:
            os.mkfifo(path)
    (skill / "l").symlink_to("references/odd")
    assert _read(skill, "references/odd") is Obstacle.NOT_A_FILE
    assert _read(skill, "l") is Obstacle.NOT_A_FILE
    assert _read(skill, "references/odd/more") is Obstacle.MISSING


def test_missing_skill_is_missing(tmp_path: Path) -> None:
    assert _read(tmp_path / "gone", "SKILL.md") is Obstacle.MISSING


_AS_NOBODY = without_rights("""
import json, sys
from prowess.sources.beneath import open_beneath

become_nobody()
print(json.dumps([open_beneath(sys.argv[1], path=path.encode()) for path in sys.argv[2:]]))
""")


def test_file_or_folder_without_rights_is_unreadable(public_folder: Path) -> None:
    folder = write_skill(public_folder / "skill")
    (folder / "closed").mkdir()
    (folder / "closed" / "file").write_text("x")
    (folder / "closed").chmod(0o700 if os.geteuid() == 0 else 0)
    (folder / "secret").write_text("x")
    (folder / "secret").chmod(0)
    answers = ask_child(_AS_NOBODY, folder, "closed/file", "secret")
    (folder / "closed").chmod(0o700)
    assert answers == ["unreadable", "unreadable"]


def test_folders_on_the_way_need_not_be_listed(public_folder: Path) -> None:
    folder = write_skill(public_folder / "closed" / "skill")
    folder.parent.chmod(0o711)
    (opened,) = cast("list[object]", ask_child(_AS_NOBODY, folder, "SKILL.md"))
    assert isinstance(opened, int)


def test_no_handle_is_left_open(skill: Path) -> None:
    (skill / "l").symlink_to("../outside")
    before = os.listdir("/proc/self/fd")
    for path in ("references/deep/more.md", "references/deep", "l/guide.md", "references/deep/../../..", "gone"):
        _read(skill, path)
    assert os.listdir("/proc/self/fd") == before


_STEPS = st.sampled_from(
    [
        *("references", "deep", "references/deep", "guide.md", "..", ".", "", "up", "out", "abs", "loop", "in"),
        *("references/up", "references/deep/up", "references/out", "../outside", "in/../.."),
    ]
)
_FILES = st.sampled_from(["guide.md", "guide.md", "more.md", "hostname", ""])


@pytest.mark.requirement("J5", "R99")
@given(st.lists(_STEPS, max_size=1) | st.lists(_STEPS, max_size=3) | st.lists(_STEPS, max_size=8), _FILES)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_path_leaves_its_root(skill: Path, steps: list[str], file: str) -> None:
    """What is opened is what the system finds at that path, and it lies inside; what is refused may lie outside."""
    for link, target in {
        "references/up": "..",
        "references/deep/up": "../..",
        "out": "../outside",
        "abs": "/etc",
        "loop": "loop",
        "in": "references/deep",
        "references/out": "../out",
    }.items():
        if not (skill / link).is_symlink():
            (skill / link).symlink_to(target)
    path = "/".join((*steps, file)).lstrip("/")
    found = open_beneath(str(skill), path=path.encode())
    event(str(found) if isinstance(found, Obstacle) else "opened")
    if isinstance(found, Obstacle):
        return
    try:
        opened = os.readlink(f"/proc/self/fd/{found}")
        assert opened == os.path.realpath(skill / path)
        assert opened.startswith(f"{os.path.realpath(skill)}/")
    finally:
        os.close(found)
