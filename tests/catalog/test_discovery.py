"""From sources to a catalog: one bad skill never hurts another, and nothing is left out in silence."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from prowess.catalog.discovery import Discovery
from prowess.errors import NotFound
from prowess.policy import PROFILES, Limits, Links, Scan, SourceKind
from prowess.sources.source import Source
from tests.catalog.machine import STANDARD, Machine, discover, ids, user_source
from tests.sources.building import ask_child, codes, draw, make_socket, skill_text, without_rights, write_skill


@pytest.mark.requirement("R30", "R31", "R34")
def test_skill_carries_where_it_came_from(tmp_path: Path) -> None:
    write_skill(tmp_path / "group" / "pdf", extra="license: MIT\nallowed-tools: Read\n")
    (skill,) = discover([user_source(tmp_path)]).skills
    assert (skill.id, skill.kind, skill.root, skill.relative, skill.folder, skill.trusted, skill.problems) == (
        "user:group/pdf",
        SourceKind.USER,
        str(tmp_path),
        "group/pdf",
        str(tmp_path / "group" / "pdf"),
        True,
        (),
    )
    assert (skill.name, skill.description, skill.category) == ("pdf", "Does it.", "group")
    assert (skill.manifest.license, skill.manifest.allowed_tools) == ("MIT", ("Read",))


@pytest.mark.requirement("R30")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (Source(SourceKind.CORE, "/r"), "core:a/b"),
        (Source(SourceKind.CONFIG, "/r"), "config:a/b"),
        (Source(SourceKind.AGENTS, "/r"), "agents:a/b"),
        (Source(SourceKind.WORKSPACE, "/r"), "workspace:a/b"),
        (Source(SourceKind.PLUGIN, "/r", plugin="telegram"), "plugin:telegram/a/b"),
    ],
)
def test_id_is_the_kind_and_the_path_below_the_root(source: Source, expected: str) -> None:
    assert source.skill_id("a/b") == expected


@pytest.mark.requirement("R30")
def test_root_that_is_a_skill_is_known_by_its_own_name(tmp_path: Path) -> None:
    write_skill(tmp_path / "pdf")
    assert ids(discover([user_source(tmp_path / "pdf")])) == ["user:pdf"]


@pytest.mark.requirement("R31")
def test_order_is_that_of_the_sources_and_then_of_the_paths(tmp_path: Path) -> None:
    draw(tmp_path / "second", "b", "a", "a-b", "a/c")
    draw(tmp_path / "first", "z", "Z", "m/n", "m-n")
    found = discover([user_source(tmp_path / "first"), Source(SourceKind.CONFIG, str(tmp_path / "second"))])
    assert ids(found) == [
        *("user:Z", "user:m/n", "user:m-n", "user:z"),
        *("config:a", "config:a-b", "config:b"),
    ]


@pytest.mark.requirement("R15", "R31")
def test_broken_skills_stand_beside_the_good_ones_with_their_problems(tmp_path: Path) -> None:
    draw(tmp_path, "good", "also-good")
    for name, text in {"no-frontmatter": "x", "no-description": "---\nname: no-description\n---\n"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text(text)
    (tmp_path / "folder" / "SKILL.md").mkdir(parents=True)
    (tmp_path / "fifo").mkdir()
    os.mkfifo(tmp_path / "fifo" / "SKILL.md")
    (tmp_path / "socket").mkdir()
    make_socket(tmp_path / "socket" / "SKILL.md")
    (tmp_path / "leads-out").mkdir()
    (tmp_path / "leads-out" / "SKILL.md").symlink_to("/etc/hostname")
    found = discover([user_source(tmp_path)])
    assert ids(found) == ["user:also-good", "user:good"]
    assert {Path(one.path).name: codes(one.problems) for one in found.rejected} == {
        "fifo": ["not-a-file"],
        "folder": ["not-a-file"],
        "leads-out": ["link-escape"],
        "no-description": ["description-missing"],
        "no-frontmatter": ["no-frontmatter"],
        "socket": ["not-a-file"],
    }


@pytest.mark.requirement("J5")
def test_folder_reached_twice_counts_once_at_its_first_place(tmp_path: Path) -> None:
    home = draw(tmp_path / "home", "x")
    links = tmp_path / "links"
    links.mkdir()
    (links / "x").symlink_to(home / "x")
    (links / "y").symlink_to(home / "x")
    found = discover([user_source(links), Source(SourceKind.CONFIG, str(home))])
    assert (ids(found), codes(found.problems)) == (["user:x"], ["reached-twice", "reached-twice"])
    assert [problem.path for problem in found.problems] == [str(links / "y"), str(home / "x")]


@pytest.mark.requirement("J5")
def test_root_reached_through_a_link_counts_once(tmp_path: Path) -> None:
    home = draw(tmp_path / "home", "x")
    (tmp_path / "link").symlink_to(home)
    found = discover([user_source(home), Source(SourceKind.CONFIG, str(tmp_path / "link"))])
    assert (ids(found), codes(found.problems)) == (["user:x"], ["reached-twice"])


@pytest.mark.requirement("R29", "J2")
def test_shadowed_skill_keeps_its_id_and_says_who_won(tmp_path: Path) -> None:
    draw(tmp_path / "project", "x")
    draw(tmp_path / "home", "x")
    found = discover([Source(SourceKind.PROJECT, str(tmp_path / "project")), user_source(tmp_path / "home")])
    assert (ids(found), found.shadowed) == (["project:x", "user:x"], {"user:x": "project:x"})
    assert (found.get("x").id, found.get("user:x").id) == ("project:x", "user:x")
    assert codes(found.get("user:x").problems) == ["duplicate-name"]
    assert codes(found.get("project:x").problems) == []


@pytest.mark.requirement("R30")
def test_two_roots_of_one_kind_never_share_an_id(tmp_path: Path) -> None:
    draw(tmp_path / "one", "x", "y")
    draw(tmp_path / "other", "x")
    first, second = (discover([user_source(tmp_path / "one"), user_source(tmp_path / "other")]) for _ in range(2))
    assert first == second
    assert [identity.partition("@")[0] for identity in ids(first)] == ["user:x", "user:y", "user:x"]
    assert len(set(ids(first))) == len(first.by_id) == 3


@pytest.mark.requirement("R32", "R106")
def test_limit_on_skills_is_reported_with_both_numbers(tmp_path: Path) -> None:
    policy = replace(STANDARD, limits=Limits(max_skills=2))
    found = discover([user_source(draw(tmp_path, "a", "b", "c"))], policy)
    assert ids(found) == ["user:a", "user:b"]
    assert found.problems[0].message == "3 skills were found, 2 are allowed; the last ones are left out"


@pytest.mark.requirement("R10", "K10")
@pytest.mark.parametrize(("profile", "expected"), [("standard", "D"), ("daycare", ""), ("workspace", "")])
def test_sidecar_is_read_where_dialects_are(profile: str, expected: str, tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "x")
    (folder / "agents").mkdir()
    (folder / "agents" / "openai.yaml").write_text("interface:\n  display_name: D\n")
    (skill,) = discover([user_source(tmp_path)], PROFILES[profile]).skills
    assert skill.manifest.behaviour.interface.display_name == expected


@pytest.mark.requirement("J5")
@pytest.mark.parametrize("what", ["fifo", "link", "folder is a link"])
def test_sidecar_that_is_no_plain_file_is_left_alone(what: str, tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "root" / "x")
    (tmp_path / "openai.yaml").write_text("interface:\n  display_name: D\n")
    if what == "folder is a link":
        (folder / "agents").symlink_to(tmp_path)
    else:
        (folder / "agents").mkdir()
        sidecar = folder / "agents" / "openai.yaml"
        os.mkfifo(sidecar) if what == "fifo" else sidecar.symlink_to(tmp_path / "openai.yaml")
    (skill,) = discover([user_source(tmp_path / "root")]).skills
    assert skill.manifest.additions is None


@pytest.mark.requirement("R31")
def test_name_on_disk_that_is_no_text_is_shown_as_text(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    write_skill(odd, name="odd")
    (skill,) = discover([user_source(tmp_path)]).skills
    assert skill.id == "user:caf\\xe9"
    assert skill.id.isprintable()


@pytest.mark.requirement("R31")
def test_names_that_look_alike_when_shown_get_ids_of_their_own() -> None:
    """`\\xff` can be one byte, or four letters: on five levels that makes 32 skills for one shown path."""
    assert ask_child(_LOOK_ALIKES) == [32, 32]


_LOOK_ALIKES = """
import itertools, json, os, tempfile
from pathlib import Path
from tests.catalog.machine import discover, user_source
from tests.sources.building import write_skill

with tempfile.TemporaryDirectory() as root:
    for steps in itertools.product([b"\\xff", b"\\\\xff"], repeat=5):
        write_skill(Path(os.fsdecode(b"/".join([os.fsencode(root), *steps]))), name="x")
    found = discover([user_source(Path(root))])
print(json.dumps([len(found.skills), len({skill.id for skill in found.skills})]))
"""


_AS_NOBODY = without_rights("""
import json, sys
from pathlib import Path
from tests.catalog.machine import discover, ids, user_source

become_nobody()
found = discover([user_source(Path(sys.argv[1]))])
print(json.dumps([
    ids(found),
    [[Path(one.path).name, [problem.code for problem in one.problems]] for one in found.rejected],
    [[problem.code, Path(problem.path).name] for problem in found.problems],
]))
""")


@pytest.mark.requirement("R15", "R31")
def test_what_may_not_be_read_is_a_problem_and_the_rest_is_found(public_folder: Path) -> None:
    draw(public_folder, "good", "closed-file", "closed-folder", "closed-group/x", "only-entered/y")
    (public_folder / "closed-file" / "SKILL.md").chmod(0)
    (public_folder / "closed-folder").chmod(0)
    (public_folder / "closed-group").chmod(0)
    (public_folder / "only-entered").chmod(0o711)
    assert ask_child(_AS_NOBODY, public_folder) == [
        ["user:good"],
        [["closed-file", ["skill-md-unreadable"]]],
        [
            ["source-unreadable", "closed-folder"],
            ["source-unreadable", "closed-group"],
            ["source-unreadable", "only-entered"],
        ],
    ]


@pytest.mark.requirement("R15", "R31")
def test_folder_that_may_be_listed_but_not_entered_is_a_problem(public_folder: Path) -> None:
    draw(public_folder, "good", "only-listed/x")
    (public_folder / "only-listed").chmod(0o744)
    found = ask_child(_AS_NOBODY, public_folder)
    assert isinstance(found, list)
    assert found[0] == ["user:good"]
    assert ["source-unreadable", "only-listed"] in found[2]


@pytest.mark.requirement("R42")
def test_look_up_goes_by_id_then_by_name_and_else_suggests(tmp_path: Path) -> None:
    found = discover([user_source(draw(tmp_path, "pdf-fill", "group/csv"))])
    assert (found.get("csv").id, found.get("user:group/csv").id) == ("user:group/csv", "user:group/csv")
    assert (found.find("nothing"), found.names()) == (None, ("csv", "pdf-fill"))
    with pytest.raises(NotFound, match="no skill 'pdf-fil'") as caught:
        found.get("pdf-fil")
    assert (caught.value.code, caught.value.hint) == ("unknown-skill", "did you mean 'pdf-fill' or 'user:pdf-fill'?")
    with pytest.raises(NotFound) as caught:
        found.get("zzzz")
    assert caught.value.hint == "`prowess list` shows all skills"


@pytest.mark.requirement("R31")
@pytest.mark.parametrize("profile", PROFILES)
def test_two_searches_give_equal_catalogs(profile: str, tmp_path: Path) -> None:
    files = {
        f"{place}/{name}": ""
        for place in ("core", "home/.agents/skills", "project/.skills", "project/skills", "project/.claude/skills")
        for name in ("a", "b", "c")
    }
    machine = Machine(tmp_path).draw(files | {"core/broken": "x"})
    assert machine.catalog(profile) == machine.catalog(profile)


@pytest.mark.requirement("R25")
def test_policy_of_links_and_mode_of_the_source_are_obeyed(tmp_path: Path) -> None:
    root = draw(tmp_path / "root", "a", "group/b")
    (root / "l").symlink_to(write_skill(tmp_path / "elsewhere" / "l"))
    everything = user_source(root)
    assert ids(discover([everything])) == ["user:a", "user:group/b", "user:l"]
    assert ids(discover([replace(everything, links=Links.SKIP)])) == ["user:a", "user:group/b"]
    assert ids(discover([replace(everything, scan=Scan.CHILDREN)])) == ["user:a", "user:l"]


@pytest.mark.requirement("R12")
def test_only_the_head_of_a_large_file_is_read(tmp_path: Path) -> None:
    """100 MB of instructions, written as a hole, cost nothing."""
    path = write_skill(tmp_path / "x") / "SKILL.md"
    path.write_text(skill_text("x"))
    os.truncate(path, 100_000_000_000)
    assert ids(discover([user_source(tmp_path)])) == ["user:x"]


def test_garbage_collector_is_left_as_it_was(tmp_path: Path) -> None:
    import gc

    discovery = Discovery(STANDARD)
    for enabled in (False, True):
        gc.enable() if enabled else gc.disable()
        discovery.scan(user_source(tmp_path))
        assert gc.isenabled() is enabled
