"""One root is searched within bounds; what is not searched is said."""

import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from prowess.policy import Limits, Links, Scan, SourceKind
from prowess.skill.problems import Severity
from prowess.sources.folders import Findings, scan_folder
from prowess.sources.source import Source
from tests.sources.building import ask_child, codes, draw, make_socket, relatives, scan, without_rights, write_skill

_USER = SourceKind.USER


def _scan(source: Source, *known_roots: Path) -> Findings:
    return scan_folder(source, limits=Limits(), known_roots=map(str, known_roots))


# What is searched


@pytest.mark.requirement("R25")
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Scan.RECURSIVE, ["a", "group/b", "group/deep/c"]),
        (Scan.ROOT_AND_CHILDREN, ["a"]),
        (Scan.CHILDREN, ["a"]),
    ],
)
def test_mode_says_how_deep_a_root_is_searched(mode: Scan, expected: list[str], tmp_path: Path) -> None:
    draw(tmp_path, "a", "a/nested", "group/b", "group/deep/c")
    assert relatives(_scan(Source(_USER, str(tmp_path), scan=mode))) == expected


@pytest.mark.requirement("R25")
@pytest.mark.parametrize(
    ("mode", "expected"),
    [(Scan.RECURSIVE, [""]), (Scan.ROOT_AND_CHILDREN, ["", "a"]), (Scan.CHILDREN, ["a"])],
)
def test_root_that_is_a_skill_counts_where_the_mode_says_so(mode: Scan, expected: list[str], tmp_path: Path) -> None:
    draw(tmp_path, "", "a")
    assert relatives(_scan(Source(_USER, str(tmp_path), scan=mode))) == expected


@pytest.mark.requirement("R25")
def test_search_stops_at_a_skill(tmp_path: Path) -> None:
    draw(tmp_path, "a", "a/b", "a/b/c")
    found = scan(tmp_path)
    assert (relatives(found), found.problems) == (["a"], [])


@pytest.mark.requirement("R26", "J5")
@pytest.mark.parametrize("mode", list(Scan))
def test_git_and_node_modules_are_skipped_at_every_level(mode: Scan, tmp_path: Path) -> None:
    draw(tmp_path, "a", ".git/b", ".git", "node_modules/c", "node_modules", "group/.git/d", "group/node_modules/e")
    draw(tmp_path, ".hidden", "git", "node_modules_2")
    found = _scan(Source(_USER, str(tmp_path), scan=mode))
    assert (relatives(found), found.problems) == ([".hidden", "a", "git", "node_modules_2"], [])


@pytest.mark.requirement("R31")
def test_order_does_not_depend_on_the_order_of_creation(tmp_path: Path) -> None:
    names = ["a", "a-b", "a/b", "a.b", "B", "b", "b/z", "b/a", "10", "9", "é", "z/y/x", "z-"]
    groups = [name for name in names if not any(other.startswith(f"{name}/") for other in names)]
    seen: list[list[str]] = []
    for seed in range(3):
        shuffled = random.Random(seed).sample(groups, len(groups))
        seen.append(relatives(scan(draw(tmp_path / str(seed), *shuffled))))
    assert seen[0] == seen[1] == seen[2]
    assert seen[0] == sorted(groups, key=lambda name: name.split("/"))


@pytest.mark.requirement("R31")
def test_candidate_tells_the_folder_and_its_real_place(tmp_path: Path) -> None:
    home = draw(tmp_path / "home", "a")
    (home / "link").symlink_to(write_skill(tmp_path / "elsewhere" / "x"))
    (tmp_path / "way").symlink_to(home)
    found = scan(tmp_path / "way").candidates
    assert [(one.folder, one.relative, one.real) for one in found] == [
        (str(tmp_path / "way" / "a"), "a", str(home / "a")),
        (str(tmp_path / "way" / "link"), "link", str(tmp_path / "elsewhere" / "x")),
    ]


@pytest.mark.requirement("R31")
def test_names_that_are_no_text_are_found(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9 \xff")
    draw(tmp_path, odd, f"group/{odd}", "line\nbreak", "é", "\N{GRINNING FACE}", " ", "-", "a\\b")
    found = scan(tmp_path)
    assert relatives(found) == sorted([odd, f"group/{odd}", "line\nbreak", "é", "\N{GRINNING FACE}", " ", "-", "a\\b"])
    (tmp_path / odd / "SKILL.md").rename(tmp_path / odd / "skill.md")
    (problem,) = scan(tmp_path).problems
    assert problem.path == f"{tmp_path}/caf\\xe9 \\xff"
    assert problem.message.isprintable()


@pytest.mark.requirement("R31")
@pytest.mark.parametrize("name", ["line\nbreak", "\x1b[2J", "\r", "\x07", "\u202e", "\x9b", "\u2028"])
def test_name_that_would_act_on_a_terminal_is_shown_so_that_it_cannot(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "skill.md").write_text("x")
    (problem,) = scan(tmp_path).problems
    assert problem.message.isprintable()
    assert Source(_USER, str(tmp_path)).skill_id(name).isprintable()


@pytest.mark.requirement("R25")
@pytest.mark.parametrize("what", ["folder", "fifo", "socket", "link nowhere"])
def test_whatever_is_named_so_makes_a_candidate_and_is_not_opened(what: str, tmp_path: Path) -> None:
    path = tmp_path / "a" / "SKILL.md"
    path.parent.mkdir()
    match what:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "socket":
            make_socket(path)
        case _:
            path.symlink_to("missing")
    assert relatives(scan(tmp_path)) == ["a"]


@pytest.mark.requirement("R25", "R15")
@pytest.mark.parametrize("mode", list(Scan))
@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_misnamed_file_is_no_skill_and_said_so(name: str, mode: Scan, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / name).write_text("x")
    found = _scan(Source(_USER, str(tmp_path), scan=mode))
    assert relatives(found) == []
    assert [(one.code, one.severity, one.path) for one in found.problems] == [
        ("skill-md-misnamed", Severity.WARNING, str(tmp_path / "a"))
    ]


def test_misnamed_file_beside_a_good_one_is_nobodys_concern(tmp_path: Path) -> None:
    draw(tmp_path, "a")
    (tmp_path / "a" / "skill.md").write_text("x")
    found = scan(tmp_path)
    assert (relatives(found), found.problems) == (["a"], [])


# Bounds


@pytest.mark.requirement("J5", "R106")
def test_six_levels_are_searched_and_deeper_ones_reported(tmp_path: Path) -> None:
    draw(tmp_path, "1/2/3/4/5/6", "x/2/3/4/5/6/7", "y/2/3/4/5/6/7")
    found = scan(tmp_path)
    assert relatives(found) == ["1/2/3/4/5/6"]
    (problem,) = found.problems
    assert (problem.code, problem.path) == ("scan-too-deep", str(tmp_path))
    assert problem.message == f"2 folders below {tmp_path} are deeper than 6 levels"


@pytest.mark.requirement("J5")
def test_depth_that_holds_nothing_is_not_reported(tmp_path: Path) -> None:
    (tmp_path / "1/2/3/4/5/6").mkdir(parents=True)
    (tmp_path / "1/2/3/4/5/6/README.md").write_text("x")
    (tmp_path / "1/2/3/4/5/6/.git").mkdir()
    assert scan(tmp_path).problems == []


@pytest.mark.requirement("J5", "R106")
@pytest.mark.parametrize(("depth", "expected"), [(1, ["a"]), (2, ["a", "b/c"]), (3, ["a", "b/c", "d/e/f"])])
def test_depth_is_a_limit_of_the_policy(depth: int, expected: list[str], tmp_path: Path) -> None:
    draw(tmp_path, "a", "b/c", "d/e/f")
    found = scan(tmp_path, limits=Limits(max_depth=depth))
    assert relatives(found) == expected
    assert codes(found.problems) == ([] if depth == 3 else ["scan-too-deep"])


@pytest.mark.requirement("J5", "R106")
def test_number_of_folders_is_bounded_and_the_bound_reported(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"f{number:02}").mkdir()
    draw(tmp_path, "f00", "f29/last")
    found = scan(tmp_path, limits=Limits(max_folders=5))
    assert (relatives(found), codes(found.problems)) == (["f00"], ["scan-too-many-folders"])
    assert found.problems[0].message.startswith("stopped after 5 folders below ")
    assert relatives(scan(tmp_path, limits=Limits(max_folders=40))) == ["f00", "f29/last"]


@pytest.mark.requirement("J5")
def test_very_deep_tree_ends_at_the_bound(tmp_path: Path) -> None:
    """Far deeper than a path may be long: made step by step, by handles."""
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(60):
        os.mkdir("d" * 200, dir_fd=here)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert codes(scan(tmp_path).problems) == ["scan-too-deep"]
    found = scan(tmp_path, limits=Limits(max_depth=1_000))
    assert (relatives(found), codes(found.problems)) == ([], ["source-unreadable"])


# Roots


@pytest.mark.requirement("R20", "R27")
@pytest.mark.parametrize("expected", [True, False])
def test_missing_root_is_worth_a_word_only_if_somebody_named_it(tmp_path: Path, *, expected: bool) -> None:
    found = _scan(Source(_USER, str(tmp_path / "none"), expected=expected))
    assert (found.candidates, found.folders) == ([], [])
    assert [(one.code, one.severity) for one in found.problems] == [("source-missing", Severity.WARNING)] * expected


@pytest.mark.requirement("R27")
@pytest.mark.parametrize("what", ["file", "fifo", "broken link", "link to itself", "link to a file"])
def test_root_that_is_no_folder_is_a_problem(what: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (tmp_path / "file").write_text("x")
    match what:
        case "file":
            root.write_text("x")
        case "fifo":
            os.mkfifo(root)
        case "broken link":
            root.symlink_to("missing")
        case "link to itself":
            root.symlink_to("root")
        case _:
            root.symlink_to("file")
    found = scan(root)
    assert (found.candidates, codes(found.problems)) == ([], ["source-unreadable"])


def test_root_with_an_impossible_name_is_just_missing() -> None:
    assert _scan(Source(_USER, "/tmp/a\0b")).candidates == []
    assert _scan(Source(_USER, "/" + "x" * 5_000)).candidates == []


@pytest.mark.requirement("J5")
def test_root_that_is_a_link_is_followed_everywhere(tmp_path: Path) -> None:
    draw(tmp_path / "real", "a")
    (tmp_path / "root").symlink_to("real")
    for kind in (_USER, SourceKind.PROJECT):
        assert relatives(scan(tmp_path / "root", kind)) == ["a"]


# Links

_OWN = [SourceKind.USER, SourceKind.AGENTS, SourceKind.CONFIG, SourceKind.CORE]
_STRANGE = [SourceKind.PROJECT, SourceKind.WORKSPACE, SourceKind.PLUGIN]


@pytest.mark.requirement("J5")
@pytest.mark.parametrize("kind", [*_OWN, *_STRANGE])
def test_link_to_anywhere_is_followed_in_the_users_own_sources_only(kind: SourceKind, tmp_path: Path) -> None:
    root = draw(tmp_path / "root", "a")
    (root / "x").symlink_to(write_skill(tmp_path / "elsewhere" / "x"))
    found = scan(root, kind)
    assert (relatives(found), codes(found.problems)) == (
        (["a", "x"], []) if kind in _OWN else (["a"], ["link-not-followed"])
    )


@pytest.mark.requirement("J5")
@pytest.mark.parametrize(
    ("target", "followed"),
    [
        ("project/.agents/skills/x", True),
        ("project/docs/x", True),
        ("shared/x", True),
        ("shared/group/x", True),
        ("project-two/x", False),
        ("shared-two/x", False),
        ("elsewhere/x", False),
    ],
)
def test_link_in_a_project_may_lead_into_the_project_or_a_known_root(
    target: str, tmp_path: Path, *, followed: bool
) -> None:
    root = tmp_path / "project" / ".claude" / "skills"
    root.mkdir(parents=True)
    (root / "x").symlink_to(os.path.relpath(write_skill(tmp_path / target), root))
    source = Source(SourceKind.PROJECT, str(root), project=str(tmp_path / "project"))
    found = _scan(source, tmp_path / "shared")
    assert (relatives(found), codes(found.problems)) == ((["x"], []) if followed else ([], ["link-not-followed"]))


@pytest.mark.requirement("J5")
def test_link_through_the_project_that_leads_out_of_it_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "project" / "skills"
    root.mkdir(parents=True)
    write_skill(tmp_path / "secret" / "x")
    (tmp_path / "project" / "way-out").symlink_to(tmp_path / "secret")
    (root / "x").symlink_to("../way-out/x")
    found = _scan(Source(SourceKind.PROJECT, str(root), project=str(tmp_path / "project")))
    assert (relatives(found), codes(found.problems)) == ([], ["link-not-followed"])


@pytest.mark.requirement("J5", "R25")
def test_policy_that_follows_no_link_says_so_for_each(tmp_path: Path) -> None:
    root = draw(tmp_path / "root", "a")
    (root / "inside").symlink_to("a")
    (root / "outside").symlink_to(write_skill(tmp_path / "elsewhere" / "x"))
    found = _scan(Source(_USER, str(root), links=Links.SKIP))
    assert relatives(found) == ["a"]
    assert {one.message for one in found.problems} == {
        f"{root / name} is a link; the policy follows none" for name in ("inside", "outside")
    }


@pytest.mark.requirement("J5", "R106")
def test_links_count_against_the_bound_of_folders(tmp_path: Path) -> None:
    root = draw(tmp_path / "root", "a")
    for number in range(30):
        (root / f"link{number:02}").symlink_to("missing")
    found = scan(root, limits=Limits(max_folders=10))
    assert (relatives(found), found.links) == ([], 10)
    assert codes(found.problems) == ["link-not-followed"] * 10 + ["scan-too-many-folders"]


@pytest.mark.requirement("J5")
def test_links_and_misnamed_files_beyond_a_hundred_are_summed_up(tmp_path: Path) -> None:
    root = draw(tmp_path / "root", "a")
    for number in range(120):
        (root / f"link{number:03}").symlink_to("missing")
        (root / f"folder{number:03}").mkdir()
        (root / f"folder{number:03}" / "skill.md").touch()
    found = scan(root)
    assert relatives(found) == ["a"]
    assert codes(found.problems) == [
        *["link-not-followed"] * 100,
        *["skill-md-misnamed"] * 100,
        "link-not-followed",
        "skill-md-misnamed",
    ]
    assert [(one.message, one.path) for one in found.problems[-2:]] == [
        (f"20 more links below {root}", str(root)),
        (f"20 more misnamed files below {root}", str(root)),
    ]


@pytest.mark.requirement("J5")
@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("missing", "leads nowhere"),
        ("x", "leads nowhere"),
        ("y", "leads nowhere"),
        ("empty", "leads to a folder without a SKILL.md"),
        (".", "leads to a folder without a SKILL.md"),
        ("..", "leads to a folder without a SKILL.md"),
        ("group", "leads to a folder without a SKILL.md"),
    ],
)
def test_link_that_leads_to_no_skill_is_a_problem_and_never_a_loop(target: str, words: str, tmp_path: Path) -> None:
    root = draw(tmp_path / "root", "group/a")
    (root / "empty").mkdir()
    (root / "y").symlink_to("x")
    (root / "x").symlink_to(target)
    found = scan(root)
    assert relatives(found) == ["group/a"]
    assert f"{root / 'x'} {words}" in [one.message for one in found.problems]


@pytest.mark.requirement("J5")
def test_loop_of_links_between_folders_ends(tmp_path: Path) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "over").symlink_to(f"../{other}")
    draw(tmp_path, "one/a")
    found = scan(tmp_path)
    assert (relatives(found), codes(found.problems)) == (["one/a"], ["link-not-followed"] * 2)


@pytest.mark.requirement("J5")
def test_skill_that_links_to_itself_is_found_once(tmp_path: Path) -> None:
    draw(tmp_path, "a")
    (tmp_path / "a" / "self").symlink_to(".")
    (tmp_path / "again").symlink_to("a")
    assert relatives(scan(tmp_path)) == ["a", "again"]  # One place: the catalog counts it once.
    assert len({one.real for one in scan(tmp_path).candidates}) == 1


@pytest.mark.requirement("J5")
def test_linked_file_is_nobodys_concern(tmp_path: Path) -> None:
    draw(tmp_path, "a")
    (tmp_path / "README.md").symlink_to("a/SKILL.md")
    (tmp_path / "device").symlink_to("/dev/null")
    found = scan(tmp_path)
    assert (relatives(found), found.problems) == (["a"], [])


# Rights

_AS_NOBODY = without_rights("""
import json, sys
from prowess.policy import Limits, Scan, SourceKind
from prowess.sources.folders import scan_folder
from prowess.sources.source import Source

become_nobody()
found = scan_folder(Source(SourceKind.USER, sys.argv[1], scan=Scan(sys.argv[2])), limits=Limits())
print(json.dumps([[one.relative for one in found.candidates], sorted({one.code for one in found.problems})]))
""")


@pytest.mark.requirement("R27")
@pytest.mark.parametrize("mode", list(Scan))
@pytest.mark.parametrize("rights", [0o000, 0o744, 0o711])
def test_root_that_may_not_be_searched_is_a_problem(mode: Scan, rights: int, public_folder: Path) -> None:
    """Not readable at all; listed but not entered; entered but not listed."""
    root = draw(public_folder / "root", "a")
    root.chmod(rights)
    assert ask_child(_AS_NOBODY, root, mode) == [[], ["source-unreadable"]]


@pytest.mark.requirement("R27")
def test_folder_that_may_not_be_searched_does_not_hide_the_others(public_folder: Path) -> None:
    root = draw(public_folder / "root", "a", "closed/b", "listed/c", "z")
    (root / "closed").chmod(0)
    (root / "listed").chmod(0o744)
    assert ask_child(_AS_NOBODY, root, Scan.RECURSIVE) == [["a", "z"], ["source-unreadable"]]


@pytest.mark.requirement("R27", "J5")
def test_link_into_a_closed_folder_is_a_problem(public_folder: Path) -> None:
    root = draw(public_folder / "root", "a")
    closed = draw(public_folder / "closed", "x")
    (root / "x").symlink_to(closed / "x")
    closed.chmod(0)
    assert ask_child(_AS_NOBODY, root, Scan.RECURSIVE) == [["a"], ["link-not-followed"]]


def test_source_is_a_value(tmp_path: Path) -> None:
    source = Source(_USER, str(tmp_path))
    assert replace(source, trusted=True) == source
    assert len({source, replace(source)}) == 1
