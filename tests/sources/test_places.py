"""From a profile's rules to the folders of a machine."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.policy import PROFILES, Policy, ProjectTrust, SourceKind
from prowess.sources.places import (
    BUNDLED_SKILLS,
    Place,
    expand_path,
    find_project_root,
    resolve_directories,
    resolve_sources,
)
from prowess.sources.plugins import Plugins
from prowess.sources.source import Source
from tests.sources.building import write_skill

_PROJECT, _USER, _AGENTS, _CONFIG, _CORE = (
    *(SourceKind.PROJECT, SourceKind.USER, SourceKind.AGENTS, SourceKind.CONFIG, SourceKind.CORE),
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A working folder two levels below the root of its repository, beside a home."""
    (tmp_path / "work" / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "work" / "repo" / "app" / "src").mkdir(parents=True)
    return Place(
        str(tmp_path / "work" / "repo" / "app" / "src"), str(tmp_path / "home"), str(tmp_path / "prowess"), "ann"
    )


def _shown(sources: tuple[Source, ...], top: Path) -> list[tuple[SourceKind, str]]:
    return [
        (source.kind, "bundled" if source.root == BUNDLED_SKILLS else os.path.relpath(source.root, top))
        for source in sources
    ]


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        pytest.param(
            "standard",
            [
                *(
                    (_PROJECT, f"work/repo{level}/{name}/skills")
                    for level in ("/app/src", "/app", "")
                    for name in (".prowess", ".agents", ".claude")
                ),
                (_USER, "prowess/users/ann/skills/personal"),
                (_USER, "prowess/skills"),
                (_AGENTS, "home/.agents/skills"),
                (_USER, "home/.claude/skills"),
                (_CORE, "bundled"),
            ],
            marks=pytest.mark.requirement("R17", "R20", "R21", "R22", "R123", "J2"),
        ),
        pytest.param(
            "daycare",
            [
                (_CORE, "bundled"),
                (_CONFIG, "prowess/skills"),
                (_USER, "prowess/users/ann/skills/personal"),
                (_AGENTS, "home/.agents/skills"),
            ],
            marks=pytest.mark.requirement("R17", "R18", "R20", "R21"),
        ),
        pytest.param(
            "workspace",
            [(SourceKind.WORKSPACE, "work/repo/app/src/skills")],
            marks=pytest.mark.requirement("R23"),
        ),
        pytest.param(
            "agent-base",
            [
                (_PROJECT, "work/repo/app/src/.agent/skills"),
                (_PROJECT, "work/repo/app/src/.claude/skills"),
                (_USER, "home/.agent/skills"),
                (_CORE, "bundled"),
            ],
            marks=pytest.mark.requirement("R17", "R21", "R22", "R123"),
        ),
        pytest.param(
            "remcochat",
            [
                (_PROJECT, "work/repo/app/src/.skills"),
                *((_PROJECT, f"work/repo{level}/.agents/skills") for level in ("/app/src", "/app", "")),
                (_AGENTS, "home/.agents/skills"),
                (_USER, "home/.remcochat/skills"),
            ],
            marks=pytest.mark.requirement("R20", "R22", "R123"),
        ),
    ],
)
def test_profile_has_its_sources_in_its_order(
    profile: str, expected: list[tuple[SourceKind, str]], place: Place, tmp_path: Path
) -> None:
    policy = PROFILES[profile]
    found = resolve_sources(policy, place)
    assert _shown(found, tmp_path) == expected
    assert {(source.scan, source.links, source.expected) for source in found} == {(policy.scan, policy.links, False)}
    assert {source.project for source in found} <= {"", place.project_root}
    assert all((source.project != "") is (source.kind in (_PROJECT, SourceKind.WORKSPACE)) for source in found)


@pytest.mark.requirement("R19")
@pytest.mark.parametrize(("profile", "position"), [("standard", -2), ("daycare", 3)])
def test_plugins_stand_where_the_profile_puts_them(profile: str, position: int, place: Place, tmp_path: Path) -> None:
    plugins = Plugins()
    folder = write_skill(tmp_path / "plugin" / "x")
    plugins.register(folder, plugin="foo")
    found = resolve_sources(PROFILES[profile], place, plugins=plugins)
    assert (found[position].kind, found[position].root, found[position].plugin) == (
        *(SourceKind.PLUGIN, str(folder), "foo"),
    )
    assert all(source.kind is not SourceKind.PLUGIN for source in resolve_sources(PROFILES[profile], place))


# Projects


@pytest.mark.requirement("R123")
@pytest.mark.parametrize("kind", ["folder", "file", "broken link"])
def test_project_is_the_nearest_folder_upwards_with_git(kind: str, tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner" / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "outer" / ".git").mkdir()
    git = tmp_path / "outer" / "inner" / ".git"
    match kind:
        case "folder":
            git.mkdir()
        case "file":
            git.write_text("gitdir: elsewhere")
        case _:
            git.symlink_to("missing")
    assert find_project_root(str(inner)) == str(tmp_path / "outer" / "inner")


@pytest.mark.requirement("R123")
def test_folder_without_a_repository_is_its_own_project(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "a" / "b"), "/h", "/p", "local")
    assert place.project_root == place.working_folder
    roots = [source.root for source in resolve_sources(PROFILES["standard"], place) if source.kind is _PROJECT]
    assert roots == [f"{tmp_path}/a/b/{name}/skills" for name in (".prowess", ".agents", ".claude")]
    assert find_project_root("/") == "/"


@pytest.mark.requirement("J2")
@pytest.mark.parametrize("profile", PROFILES)
def test_project_is_trusted_by_policy_or_by_a_person_and_all_else_always(profile: str, place: Place) -> None:
    policy = PROFILES[profile]
    always = policy.project_trust is ProjectTrust.ALWAYS
    assert always is (profile != "standard")
    for trusted, expected in (((), always), (("/other", place.project_root), True), ((place.working_folder,), always)):
        found = resolve_sources(policy, place, trusted_projects=trusted)
        assert {source.trusted for source in found if source.kind is _PROJECT} <= {expected}
        assert all(source.trusted for source in found if source.kind is not _PROJECT)


@pytest.mark.requirement("R20", "R21")
@pytest.mark.parametrize("has_git", [True, False])
def test_users_own_folders_stay_their_own_when_the_home_is_the_project(tmp_path: Path, *, has_git: bool) -> None:
    """A person who works in their home, or keeps it in a repository, does not distrust themselves."""
    if has_git:
        (tmp_path / ".git").mkdir()
    place = Place(str(tmp_path), str(tmp_path), str(tmp_path / ".prowess"), "local")
    kinds = {source.root: source.kind for source in resolve_sources(PROFILES["standard"], place)}
    assert kinds[str(tmp_path / ".prowess" / "skills")] is _USER
    assert kinds[str(tmp_path / ".agents" / "skills")] is _AGENTS
    assert kinds[str(tmp_path / ".claude" / "skills")] is _USER


# Directories of the settings


@pytest.mark.requirement("R28")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("~", "/home/ann"),
        ("~/skills", "/home/ann/skills"),
        ("~/../bob", "/home/bob"),
        ("~bob/skills", "/work/~bob/skills"),
        ("skills", "/work/skills"),
        ("./skills/", "/work/skills"),
        ("../skills", "/skills"),
        (".", "/work"),
        ("", "/work"),
        ("/abs//x/./y/", "/abs/x/y"),
        ("a~b", "/work/a~b"),
    ],
)
def test_path_is_absolute_of_the_home_or_of_the_project(path: str, expected: str) -> None:
    assert expand_path(path, base="/work", home="/home/ann") == expected


@pytest.mark.requirement("R28")
@given(path=st.text(st.sampled_from("a./~ é"), max_size=12))
def test_expanded_path_is_always_absolute_and_stays_when_expanded_again(path: str) -> None:
    once = expand_path(path, base="/work", home="/home/ann")
    assert os.path.isabs(once)
    assert expand_path(once, base="/other", home="/nowhere") == once


@pytest.mark.requirement("R22", "R28", "R108")
def test_directories_of_the_settings_have_kinds_by_where_they_are(place: Place, tmp_path: Path) -> None:
    directories = (
        *("./.skills", "docs/skills", "~/.agents/skills", "~/.remcochat/skills", "~/.agents/skills-two"),
        *(str(tmp_path / "far"), BUNDLED_SKILLS, "../sibling", f"{tmp_path}/work/repo-two", "./.skills/"),
    )
    found = resolve_directories(directories, PROFILES["remcochat"], place)
    assert _shown(found, tmp_path) == [
        (_PROJECT, "work/repo/.skills"),
        (_PROJECT, "work/repo/docs/skills"),
        (_AGENTS, "home/.agents/skills"),
        (_USER, "home/.remcochat/skills"),
        (_USER, "home/.agents/skills-two"),
        (_CONFIG, "far"),
        (_CORE, "bundled"),
        (_CONFIG, "work/sibling"),
        (_CONFIG, "work/repo-two"),
    ]
    assert all(source.expected for source in found)


@pytest.mark.requirement("J2")
@pytest.mark.parametrize(
    ("trust", "trusted", "expected"),
    [(ProjectTrust.ASK, False, False), (ProjectTrust.ASK, True, True), (ProjectTrust.ALWAYS, False, True)],
)
def test_named_directory_of_a_project_still_needs_trust(
    trust: ProjectTrust, place: Place, *, trusted: bool, expected: bool
) -> None:
    policy = Policy(project_trust=trust)
    projects = (place.project_root,) if trusted else ()
    found = resolve_directories(("./skills", "~/skills"), policy, place, trusted_projects=projects)
    assert [source.trusted for source in found] == [expected, True]
