"""Mounts and the paths on both sides of them."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.containers.mounts import (
    PRIVATE_SKILLS,
    SHARED_SKILLS,
    Access,
    Mount,
    Permissions,
    by_depth,
    get_host_path,
    make_permissions,
    make_skills_mount,
    place_private,
    to_host,
    to_inside,
)
from prowess.errors import Refused, SettingsError

_HOME = Mount("/data/users/u1/home", inside="/home", access=Access.READ_WRITE)
_SKILLS = make_skills_mount("/data/users/u1/skills/active")
_MOUNTS = (_HOME, _SKILLS)


@pytest.mark.parametrize(
    ("host", "inside"),
    [
        ("/data/users/u1/home", "/home"),
        ("/data/users/u1/home/", "/home"),
        ("/data/users/u1/home/a/b.txt", "/home/a/b.txt"),
        ("/data/users/u1/skills/active", "/shared/skills"),
        ("/data/users/u1/skills/active/core--scheduling/SKILL.md", "/shared/skills/core--scheduling/SKILL.md"),
    ],
)
@pytest.mark.requirement("R85", "R111")
def test_paths_map_both_ways(host: str, inside: str) -> None:
    """D51."""
    assert to_inside(_MOUNTS, host) == inside
    assert to_host(_MOUNTS, inside) == host.rstrip("/")
    assert to_host(_MOUNTS, inside + "/") == host.rstrip("/")


@pytest.mark.parametrize(
    "host",
    [
        "/data/users/u1/homework",
        "/data/users/u1",
        "/",
        "relative",
        "",
        "/data/users/u1/home/../../u2/home",
        "/data/users/u1/home/\0",
    ],
)
@pytest.mark.requirement("R85")
def test_host_path_outside_every_mount_has_no_path_inside(host: str) -> None:
    """D53: homework is not below home."""
    assert to_inside(_MOUNTS, host) is None


@pytest.mark.parametrize(
    "inside",
    [
        "/homework",
        "/",
        "/shared",
        "home",
        "",
        "/shared/skills/../../etc/passwd",
        "/shared/skills/..",
        "/home/../../../etc",
        "private:/home",
        "/home/\0",
    ],
)
@pytest.mark.requirement("R85")
def test_inside_path_outside_every_mount_has_no_host_path(inside: str) -> None:
    assert to_host(_MOUNTS, inside) is None


def test_dots_that_stay_inside_are_resolved() -> None:
    assert to_host(_MOUNTS, "/shared/skills/a/../b/./c") == "/data/users/u1/skills/active/b/c"
    assert to_host(_MOUNTS, f"/home/..{SHARED_SKILLS}/a") == "/data/users/u1/skills/active/a"
    assert to_inside(_MOUNTS, "/data/users/u1/home/x/../../skills/active//a/") == "/shared/skills/a"


@pytest.mark.requirement("R85", "R111")
def test_longest_of_overlapping_mounts_wins() -> None:
    """D54."""
    mounts = (Mount("/data", inside="/data"), Mount("/data/home", inside="/home"), Mount("/x", inside="/data/x"))
    assert to_inside(mounts, "/data/home/a") == "/home/a"
    assert to_inside(mounts, "/data/homework") == "/data/homework"
    assert to_host(mounts, "/data/x/a") == "/x/a"
    assert to_host(mounts, "/data/home/a") == "/data/home/a"


def test_host_path_hidden_behind_a_nested_mount_is_seen_nowhere() -> None:
    mounts = (Mount("/h", inside="/home"), Mount("/s", inside="/home/skills"))
    assert to_inside(mounts, "/h/skills") is None
    assert to_inside(mounts, "/h/skills/a") is None
    assert to_inside(mounts, "/h/skills2") == "/home/skills2"
    assert to_host(mounts, "/home/skills/a") == "/s/a"


def test_hidden_path_is_found_through_another_mount_that_shows_it() -> None:
    mounts = (Mount("/h", inside="/home"), Mount("/s", inside="/home/skills"), Mount("/", inside="/host"))
    assert to_inside(mounts, "/h/skills/a") == "/host/h/skills/a"


def test_root_of_the_host_can_be_mounted() -> None:
    mounts = (Mount("/", inside="/host"),)
    assert to_inside(mounts, "/") == "/host"
    assert to_inside(mounts, "/etc/passwd") == "/host/etc/passwd"
    assert to_host(mounts, "/host/etc") == "/etc"
    assert to_host((Mount("/srv", inside="/"),), "/a/b") == "/srv/a/b"


@pytest.mark.requirement("R83", "R111")
def test_mount_needs_absolute_paths() -> None:
    """D55, in its words."""
    with pytest.raises(SettingsError) as host:
        Mount("relative/home", inside="/home")
    assert host.value.message == "Mount hostPath must be absolute: relative/home"
    for inside in ("home", "private:home", "C:\\home", "other:/home", "/a\0"):
        with pytest.raises(SettingsError) as mapped:
            Mount("/data", inside=inside)
        assert mapped.value.message == f"Mount mappedPath must be absolute POSIX path: {inside}"


def test_mount_is_normal_and_read_only() -> None:
    assert Mount("//data//x/../home/", inside="//home/./a//") == Mount("/data/home", inside="/home/a")
    assert Mount("/a", inside="private:/.skills//x/") == Mount("/a", inside="private:/.skills/x")
    assert make_skills_mount("/a") == Mount("/a", inside=SHARED_SKILLS, access=Access.READ_ONLY)


def test_private_mount_is_a_place_of_its_own() -> None:
    mount = Mount("/tasks/t1/private/.skills/repo-survey", inside=f"{PRIVATE_SKILLS}/repo-survey")
    assert mount.inside == "private:/.skills/repo-survey"
    assert to_inside((mount,), f"{mount.host}/SKILL.md") == "private:/.skills/repo-survey/SKILL.md"
    assert to_host((mount,), "private:/.skills/repo-survey/SKILL.md") == f"{mount.host}/SKILL.md"
    assert to_host((mount,), "/.skills/repo-survey/SKILL.md") is None
    assert to_host((mount,), "private:/.skills/repo-survey/../other") is None
    (placed,) = place_private((mount,), root="/private")
    assert placed == Mount(mount.host, inside="/private/.skills/repo-survey")


@pytest.mark.requirement("R86", "R111")
def test_permissions_let_home_be_written_and_skills_be_read() -> None:
    """D58."""
    permissions = make_permissions(_MOUNTS)
    assert permissions == Permissions(read_dirs=(_HOME.host, _SKILLS.host), write_dirs=(_HOME.host,))
    assert permissions.read_only_dirs == (_SKILLS.host,)


def test_mounts_are_ordered_so_that_none_hides_another() -> None:
    deep, top, root = Mount("/c", inside="/a/b/c"), Mount("/a", inside="/a"), Mount("/r", inside="/")
    assert by_depth((deep, top, root)) == (root, top, deep)


@pytest.fixture
def shared(tmp_path: Path) -> tuple[Mount, ...]:
    """A home that a container may write, and skills that it may read."""
    for folder in ("home/sub", "active/pdf", "secret"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "secret" / "key").write_text("s")
    (tmp_path / "active" / "pdf" / "SKILL.md").write_text("skill")
    home = Mount(str(tmp_path / "home"), inside="/home", access=Access.READ_WRITE)
    return home, make_skills_mount(str(tmp_path / "active"))


@pytest.mark.parametrize(
    ("target", "asked"),
    [
        ("/etc/passwd", "/home/link"),
        ("../secret/key", "/home/link"),
        ("../../../../../../etc/passwd", "/home/link"),
        ("/", "/home/link/etc/passwd"),
        ("..", "/home/link/secret/key"),
        ("link", "/home/link"),
        ("{tmp}/secret/key", "/home/link"),
    ],
)
@pytest.mark.requirement("R85")
def test_link_that_leads_out_of_the_mounts_is_refused(
    tmp_path: Path, shared: tuple[Mount, ...], target: str, asked: str
) -> None:
    os.symlink(target.format(tmp=tmp_path), tmp_path / "home" / "link")
    with pytest.raises(Refused) as refused:
        get_host_path(shared, asked)
    assert (refused.value.code, refused.value.message) == ("outside-mounts", f"'{asked}' leads out of the mounts")


@pytest.mark.parametrize(
    ("target", "asked", "found"),
    [
        ("sub", "/home/link/new", "home/sub/new"),
        ("/home/sub", "/home/link/new", "home/sub/new"),
        ("/shared/skills/pdf", "/home/link/SKILL.md", "active/pdf/SKILL.md"),
        (f"..{SHARED_SKILLS}/pdf", "/home/link/SKILL.md", "active/pdf/SKILL.md"),
        ("/shared/skills/pdf", "/home/link/../pdf/SKILL.md", "active/pdf/SKILL.md"),
        ("missing", "/home/link", "home/missing"),
        ("sub", "/home/sub/../sub/./x", "home/sub/x"),
        ("sub", "/home", "home"),
    ],
)
def test_links_are_read_as_the_container_reads_them(
    tmp_path: Path, shared: tuple[Mount, ...], target: str, asked: str, found: str
) -> None:
    os.symlink(target, tmp_path / "home" / "link")
    assert get_host_path(shared, asked) == str(tmp_path / found)


def test_absolute_link_in_private_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "skill").mkdir()
    os.symlink("/.skills/x/a", tmp_path / "skill" / "b")
    mount = Mount(str(tmp_path / "skill"), inside=f"{PRIVATE_SKILLS}/x")
    assert get_host_path((mount,), "private:/.skills/x/a") == str(tmp_path / "skill" / "a")
    with pytest.raises(Refused):
        get_host_path((mount,), "private:/.skills/x/b")


def test_link_above_a_mount_is_the_hosts_own(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    os.symlink("real", tmp_path / "link")
    assert get_host_path((Mount(str(tmp_path / "link"), inside="/home"),), "/home/a") == str(tmp_path / "real" / "a")


_STEPS = st.sampled_from(["a", "b", "ab", "..", ".", "", "c"])
_PATHS = st.lists(_STEPS, max_size=5).map(lambda steps: "/" + "/".join(steps))
_SPACES = st.sampled_from(["", "", "private:"])
_PLACES = st.tuples(_SPACES, _PATHS).map("".join)
_ANY_MOUNTS = st.lists(st.builds(Mount, _PATHS, inside=_PLACES), max_size=5)


@pytest.mark.requirement("R85")
@given(mounts=_ANY_MOUNTS, path=_PATHS)
def test_law_path_inside_leads_back_to_the_same_host_path(mounts: list[Mount], path: str) -> None:
    inside = to_inside(mounts, path)
    if inside is not None:
        assert to_host(mounts, inside) == "/" + os.path.normpath(path).strip("/")


@pytest.mark.requirement("R85")
@given(mounts=_ANY_MOUNTS, place=_PLACES)
def test_law_host_path_leads_back_to_a_path_that_shows_the_same(mounts: list[Mount], place: str) -> None:
    host = to_host(mounts, place)
    if host is not None:
        inside = to_inside(mounts, host)
        assert inside is not None
        assert to_host(mounts, inside) == host


@pytest.mark.requirement("R85")
@given(mounts=_ANY_MOUNTS, place=_PLACES, path=_PATHS)
def test_law_no_translation_leaves_its_mount(mounts: list[Mount], place: str, path: str) -> None:
    host = to_host(mounts, place)
    assert host is None or any(os.path.commonpath([host, mount.host]) == mount.host for mount in mounts)
    inside = to_inside(mounts, path)
    assert inside is None or any(f"{inside}/".startswith(f"{mount.inside.rstrip('/')}/") for mount in mounts)
