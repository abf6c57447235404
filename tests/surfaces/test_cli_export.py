"""`prowess export`: skills for other tools, with what is lost, and nothing overwritten that others have written."""

import json
import os
import shutil
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from prowess.runtime import Runtime
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill
from tests.sources.mcp.scripts import Acted
from tests.surfaces.command import call, run

pytestmark = pytest.mark.slow

_FILES = {"scripts/paint.sh": "#!/bin/sh\necho red\n", "references/colours.md": "Red.\n", "assets/ü.bin": b"\x00\xff"}


@pytest.fixture
def root(home: Home) -> Path:
    """The user's skills, and no others."""
    home.write_settings(ONLY_MINE)
    folder = home.path / ".agents" / "skills"
    write_skill(folder, "painting", description="Paints walls.", files=_FILES)
    write_skill(folder, "baking", description="Bakes bread.", extra="license: MIT\nallowed-tools: Read\n")
    return folder


def export(*arguments: str, status: int = 0) -> dict[str, Any]:
    done = call("export", "--json", *arguments)
    assert done.status == status
    return done.json


def changes(report: dict[str, Any]) -> dict[str, str]:
    """Return what became of each place, by its name."""
    return {os.path.basename(one["path"]): one["change"] for one in report["written"]}


def digests(*arguments: str) -> dict[str, str]:
    return {skill["name"]: skill["digest"] for skill in call(*arguments, "list", "--json").json["skills"]}


def show_tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return everything below a folder, to see that nothing has changed."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path.relative_to(folder))] = (path.lstat().st_mode, content)
    return found


def unpack(archive: Path, folder: Path) -> None:
    """Unpack as `unzip` does, with the rights and the links."""
    with zipfile.ZipFile(archive) as packed:
        for info in packed.infolist():
            target, mode = folder / info.filename, info.external_attr >> 16
            target.parent.mkdir(parents=True, exist_ok=True)
            if stat.S_ISLNK(mode):
                target.symlink_to(packed.read(info).decode())
            else:
                target.write_bytes(packed.read(info))
                target.chmod(stat.S_IMODE(mode))


# Folders


@pytest.mark.requirement("K10")
@pytest.mark.parametrize(("to", "place"), [("claude", ".claude/skills"), ("codex", ".agents/skills")])
def test_exported_folders_are_found_again_with_the_same_digests(home: Home, root: Path, to: str, place: str) -> None:
    (root / "painting" / "again.md").symlink_to("references/colours.md")
    before = digests()
    report = export("--to", to)
    assert (report["to"], report["out"]) == (to, str(home.project / place))
    assert changes(report) == {"baking": "new", "painting": "new"}
    assert {one["digest"] for one in report["written"]} == set(before.values())
    assert digests("--skills", place) == before
    assert os.access(home.project / place / "painting" / "scripts" / "paint.sh", os.X_OK)


@pytest.mark.requirement("K10")
def test_losses_are_reported_for_the_tool_that_is_written_for(home: Home, root: Path) -> None:
    assert export("--to", "claude")["losses"] == []
    losses = export("--to", "codex")["losses"]
    assert [(one["skill"], one["kind"], one["field"]) for one in losses] == [
        ("agents:baking", "behaviour", "allowed-tools"),
        ("agents:baking", "display", "license"),
    ]
    assert losses[0]["message"] == "Codex does not read allowed-tools"


def test_skill_that_the_tool_would_not_load_is_left_out(home: Home, root: Path) -> None:
    write_skill(root, "sewing", description="Sews. " * 200)
    report = export("--to", "codex")
    assert set(changes(report)) == {"baking", "painting"}
    assert report["left_out"] == [
        {
            "id": "agents:sewing",
            "reason": "Codex does not load the skill: descriptions over 1024 characters are refused",
        }
    ]
    assert "sewing" in changes(export("--to", "claude"))


def test_second_export_writes_only_what_has_changed(home: Home, root: Path) -> None:
    export("--to", "claude")
    untouched = (home.project / ".claude/skills/baking").stat().st_ino
    (root / "painting" / "references" / "colours.md").write_text("Blue.\n")
    (root / "painting" / "assets" / "ü.bin").unlink()
    assert changes(export("--to", "claude")) == {"baking": "unchanged", "painting": "replaced"}
    assert (home.project / ".claude/skills/baking").stat().st_ino == untouched
    assert digests("--skills", ".claude/skills") == digests()
    assert sorted(os.listdir(".claude/skills")) == [".prowess-export.json", "baking", "painting"]


def test_what_others_have_written_stays_unless_forced(home: Home, root: Path) -> None:
    write_skill(home.project / ".claude" / "skills", "painting", body="My own.\n")
    before = show_tree(home.project / ".claude/skills/painting")
    report = export("--to", "claude")
    assert changes(report) == {"baking": "new"}
    (left_out,) = report["left_out"]
    assert left_out["id"] == "agents:painting"
    assert left_out["reason"].endswith("/painting: something else has its place; --force replaces it")
    assert show_tree(home.project / ".claude/skills/painting") == before
    assert changes(export("--to", "claude", "--force")) == {"baking": "unchanged", "painting": "replaced"}
    assert digests("--skills", ".claude/skills") == digests()


def test_export_that_was_edited_stays_unless_forced(home: Home, root: Path) -> None:
    export("--to", "claude")
    edited = home.project / ".claude/skills/painting/references/colours.md"
    edited.write_text("Green.\n")
    (root / "painting" / "references" / "colours.md").write_text("Blue.\n")
    (left_out,) = export("--to", "claude")["left_out"]
    assert "it was changed since it was exported" in left_out["reason"]
    assert edited.read_text() == "Green.\n"
    export("--to", "claude", "--force")
    assert edited.read_text() == "Blue.\n"


@pytest.mark.parametrize("to", ["claude", "codex", "agents-md", "openai-tools", "zip"])
def test_dry_run_tells_and_writes_nothing(home: Home, root: Path, to: str) -> None:
    before = show_tree(home.project)
    tried = export("--to", to, "--dry-run")
    assert show_tree(home.project) == before
    assert export("--to", to) == tried
    assert show_tree(home.project) != before


def test_link_is_neither_followed_nor_kept_when_forced(home: Home, root: Path) -> None:
    precious = write_skill(home.path / "precious", "painting", body="Precious.\n")
    place = home.project / ".claude" / "skills"
    place.mkdir(parents=True)
    (place / "painting").symlink_to(precious)
    before = show_tree(precious)
    assert changes(export("--to", "claude")) == {"baking": "new"}
    assert (place / "painting").is_symlink()
    export("--to", "claude", "--force")
    assert not (place / "painting").is_symlink()
    assert show_tree(precious) == before


@pytest.mark.slow
def test_tool_folder_that_is_a_link_is_refused_unless_it_is_named(home: Home, root: Path) -> None:
    elsewhere = home.path / "elsewhere"
    elsewhere.mkdir()
    (home.project / ".claude").symlink_to(elsewhere)
    refused = run("export", "--to", "claude", "--json")
    assert (refused.status, refused.json["error"]["code"]) == (1, "is-a-link")
    assert list(elsewhere.iterdir()) == []
    assert changes(export("--to", "claude", "--out", ".claude/skills")) == {"baking": "new", "painting": "new"}


def test_bad_skills_are_told_and_the_others_are_exported(home: Home, root: Path) -> None:
    (root / "painting" / "out").symlink_to("/etc/hostname")
    write_skill(root, "broken", text="no frontmatter")
    report = export("--to", "claude")
    assert changes(report) == {"baking": "new"}
    reasons = {os.path.basename(one["id"]): one["reason"] for one in report["left_out"]}
    assert set(reasons) == {"broken", "agents:painting"}
    assert "out" in reasons["agents:painting"]
    assert not (home.project / ".claude/skills/painting").exists()


def test_original_is_exported_again_where_its_copy_has_taken_its_name(home: Home) -> None:
    """A trusted project's skills come before the user's own: an export into it would else find itself."""
    call("trust")
    skill = write_skill(home.path / ".agents" / "skills", "painting", description="Paints walls.")
    export("--to", "claude", "--skill", "painting")
    assert call("show", "painting", "--json").json["id"] == "project:painting"
    (skill / "more.md").write_text("More.\n")
    report = export("--to", "claude", "--skill", "painting")
    assert changes(report) == {"painting": "replaced"}
    assert report["written"][0]["skills"] == ["agents:painting"]
    assert (home.project / ".claude/skills/painting/more.md").read_text() == "More.\n"
    shutil.rmtree(skill)
    report = export("--to", "claude", "--skill", "painting", "--force", status=1)
    assert report["written"] == []
    assert report["left_out"][0]["reason"].endswith(".claude/skills already")


def test_damaged_ledger_makes_nothing_its_own(home: Home, root: Path) -> None:
    export("--to", "claude")
    (home.project / ".claude/skills/.prowess-export.json").write_text('{"exported": [1')
    assert changes(export("--to", "claude")) == {"baking": "unchanged", "painting": "unchanged"}
    (root / "painting" / "more.md").write_text("More.\n")
    (home.project / ".claude/skills/.prowess-export.json").write_text('{"exported": 5}')
    assert [one["id"] for one in export("--to", "claude")["left_out"]] == ["agents:painting"]


# Which


def test_named_skills_alone_are_exported(home: Home, root: Path) -> None:
    report = export("--to", "claude", "--skill", "baking", "--skill", "agents:baking")
    assert (changes(report), report["left_out"]) == ({"baking": "new"}, [])


@pytest.mark.slow
def test_named_skill_that_is_left_out_is_no_success(home: Home, root: Path) -> None:
    write_skill(home.project / ".claude" / "skills", "painting", body="My own.\n")
    report = export("--to", "claude", "--skill", "painting", "--skill", "baking", status=1)
    assert changes(report) == {"baking": "new"}
    assert [one["id"] for one in report["left_out"]] == ["agents:painting"]
    assert call("export", "--to", "claude", "--skill", "painting").status == 1


def test_unknown_and_hidden_skills_are_refused(home: Home, root: Path) -> None:
    unknown = run("export", "--to", "zip", "--skill", "nope", "--json")
    assert (unknown.status, unknown.json["error"]["code"]) == (1, "unknown-skill")
    call("disable", "baking")
    hidden = run("export", "--to", "zip", "--skill", "baking", "--json")
    assert (hidden.status, hidden.json["error"]["code"]) == (1, "hidden")
    assert "switched off" in hidden.json["error"]["message"]
    assert export("--to", "zip")["left_out"] == [{"id": "agents:baking", "reason": "it is switched off"}]


def test_of_two_skills_with_one_name_the_first_has_it(home: Home) -> None:
    home.write_settings('profile = "daycare"\n[sources]\ndirectories = ["~/one", "~/two"]\n')
    write_skill(home.path / "one", "painting", body="One.\n")
    write_skill(home.path / "two", "Painting", description="Other.", text="---\nname: Painting\ndescription: d\n---\n")
    report = export("--to", "claude")
    assert changes(report) == {"painting": "new"}
    assert report["left_out"] == [{"id": "user:Painting", "reason": "user:painting has the same name"}]


# Archives


@pytest.mark.requirement("K10")
def test_unpacked_archive_is_found_again_with_the_same_digests(home: Home, root: Path) -> None:
    (root / "painting" / "again.md").symlink_to("references/colours.md")
    report = export("--to", "zip")
    assert (changes(report), report["losses"]) == ({"skills.zip": "new"}, [])
    assert report["written"][0]["skills"] == ["agents:baking", "agents:painting"]
    unpack(home.project / "skills.zip", home.project / "unpacked")
    assert digests("--skills", "unpacked") == digests()


def test_same_skills_give_the_same_bytes(home: Home, root: Path) -> None:
    export("--to", "zip", "--out", "one.zip")
    for number, path in enumerate(sorted(root.rglob("*"))):
        os.utime(path, (number, number))
    shutil.copytree(root / "painting", root / "zz")
    shutil.rmtree(root / "painting")
    (root / "zz").rename(root / "painting")
    export("--to", "zip", "--out", "two.zip")
    assert (home.project / "one.zip").read_bytes() == (home.project / "two.zip").read_bytes()
    with zipfile.ZipFile("one.zip") as packed:
        names = packed.namelist()
        assert {info.date_time for info in packed.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert names == sorted(names)
    assert names[0] == "baking/SKILL.md"


def test_folder_gets_an_archive_of_each_skill(home: Home, root: Path) -> None:
    report = export("--to", "zip", "--out", "archives")
    assert changes(report) == {"baking.zip": "new", "painting.zip": "new"}
    (home.project / "archives" / "baking.zip").write_bytes(b"mine")
    (root / "painting" / "more.md").write_text("More.\n")
    report = export("--to", "zip", "--out", "archives")
    assert changes(report) == {"painting.zip": "replaced"}
    assert "it was changed since it was exported" in report["left_out"][0]["reason"]
    assert sorted(os.listdir("archives")) == [".prowess-export.json", "baking.zip", "painting.zip"]


@pytest.mark.slow
def test_archive_of_somebody_else_is_not_replaced(home: Home, root: Path) -> None:
    (home.project / "skills.zip").write_bytes(b"mine")
    refused = run("export", "--to", "zip", "--json")
    assert (refused.status, refused.json["error"]["code"]) == (1, "exists")
    assert (home.project / "skills.zip").read_bytes() == b"mine"
    assert sorted(os.listdir()) == [".git", "skills.zip"]
    assert changes(export("--to", "zip", "--force")) == {"skills.zip": "replaced"}


@pytest.mark.skipif(os.name != "posix", reason="names there are always text")
def test_name_that_no_archive_can_tell_leaves_the_skill_out(home: Home, root: Path) -> None:
    with open(os.fsencode(root / "painting") + b"/caf\xe9", "w"):
        pass
    report = export("--to", "zip")
    assert report["written"][0]["skills"] == ["agents:baking"]
    assert "its bytes are no text" in report["left_out"][0]["reason"]


# Documents

_SECTION = """\
<!-- prowess export: begin, sha256 {digest} -->
## Skills

Each skill below is a folder with instructions for one kind of work. Before you do work that fits a description, read
the file in brackets and follow it. Paths in it start at its folder; read other files only when it calls for them.
Without access to the file, `prowess activate NAME` prints the instructions and `prowess read NAME PATH` other files;
`prowess run NAME SCRIPT -- ARGUMENTS` runs a script of the skill in a sandbox.

- **baking**: Bakes bread. (`~/.agents/skills/baking/SKILL.md`)
- **painting**: Paints walls. (`~/.agents/skills/painting/SKILL.md`)
<!-- prowess export: end -->
"""


def test_section_is_added_to_a_file_that_stays_as_it_is(home: Home, root: Path) -> None:
    file = home.project / "AGENTS.md"
    file.write_bytes(b"# Mine\n\r\n\xff")
    report = export("--to", "agents-md")
    section = _SECTION.format(digest=report["written"][0]["digest"]).encode()
    assert file.read_bytes() == b"# Mine\n\r\n\xff\n\n" + section
    assert report["written"][0]["skills"] == ["agents:baking", "agents:painting"]
    assert [(one["skill"], one["field"]) for one in report["losses"]] == [
        ("agents:baking", "allowed-tools"),
        ("agents:baking", "license"),
    ]
    assert changes(export("--to", "agents-md")) == {"AGENTS.md": "unchanged"}


def test_section_has_the_line_ends_of_the_document_and_is_found_again(home: Home, root: Path) -> None:
    """Git gives a document the line ends of Windows there."""
    file = home.project / "AGENTS.md"
    file.write_bytes(b"\xef\xbb\xbf# Mine\r\n")
    export("--to", "agents-md")
    assert changes(export("--to", "agents-md")) == {"AGENTS.md": "unchanged"}
    content = file.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf# Mine\r\n\r\n<!-- prowess export: begin")
    assert content.count(b"\r\n") == content.count(b"\n") > 10
    file.write_bytes(content.replace(b"\r\n", b"\n"))
    assert changes(export("--to", "agents-md")) == {"AGENTS.md": "unchanged"}
    file.write_bytes(content)
    write_skill(root, "sewing", description="Sews coats.")
    assert changes(export("--to", "agents-md")) == {"AGENTS.md": "replaced"}
    assert file.read_bytes().count(b"prowess export: begin") == 1


def test_section_is_replaced_in_its_place(home: Home, root: Path) -> None:
    file = home.project / "AGENTS.md"
    export("--to", "agents-md")
    file.write_text(f"Before.\n{file.read_text()}After.\n")
    write_skill(root, "sewing", description="Sews <!-- prowess export: end --> coats.")
    assert changes(export("--to", "agents-md")) == {"AGENTS.md": "replaced"}
    text = file.read_text()
    assert text.startswith("Before.\n<!-- prowess export: begin")
    assert text.endswith("<!-- prowess export: end -->\nAfter.\n")
    assert "- **sewing**: Sews \\<!-- prowess export: end --\\> coats." in text
    assert changes(export("--to", "agents-md")) == {"AGENTS.md": "unchanged"}


@pytest.mark.slow
def test_section_that_was_edited_stays_unless_forced(home: Home, root: Path) -> None:
    file = home.project / "AGENTS.md"
    export("--to", "agents-md")
    file.write_text(file.read_text().replace("Bakes bread.", "Bakes cakes."))
    refused = run("export", "--to", "agents-md", "--json")
    assert (refused.status, refused.json["error"]["code"]) == (1, "exists")
    assert "Bakes cakes." in file.read_text()
    export("--to", "agents-md", "--force")
    assert "Bakes bread." in file.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param("<!-- prowess export: end -->\n", "bad-section", id="half a section"),
        pytest.param(_SECTION.format(digest="0" * 64) * 2, "bad-section", id="two sections"),
        pytest.param(None, "not-a-file", id="a link"),
    ],
)
def test_document_that_is_not_understood_is_left_alone(home: Home, root: Path, text: str | None, code: str) -> None:
    file = home.project / "AGENTS.md"
    if text is None:
        (home.path / "CLAUDE.md").write_text("Mine.\n")
        file.symlink_to(home.path / "CLAUDE.md")
    else:
        file.write_text(text)
    before = file.read_text()
    refused = run("export", "--to", "agents-md", "--out", "AGENTS.md", "--json")
    assert (refused.status, refused.json["error"]["code"]) == (1, code)
    assert file.read_text() == before


def test_skill_below_the_document_is_told_by_its_way_from_there(home: Home) -> None:
    write_skill(home.project / "skills", "painting")
    call("--skills", "skills", "export", "--to", "agents-md")
    assert "(`skills/painting/SKILL.md`)" in (home.project / "AGENTS.md").read_text()


def test_tools_are_those_that_a_session_begins_with(home: Home, root: Path) -> None:
    write_skill(root, "sums", extra='toolsets: ["toolsets/sums:Sums"]\n', description="Adds.")
    report = export("--to", "openai-tools")
    written = json.loads((home.project / "openai-tools.json").read_text())
    with Runtime.open() as runtime, runtime.session("chat") as session:
        assert written == {"prompt": session.prompt(dialect="openai"), "tools": session.tools("openai")}
    assert [(one["skill"], one["kind"], one["field"]) for one in report["losses"]] == [
        ("agents:sums", "behaviour", "toolsets")
    ]
    assert changes(export("--to", "openai-tools")) == {"openai-tools.json": "unchanged"}


def test_tools_of_some_skills_do_not_tell_of_others(home: Home, root: Path) -> None:
    export("--to", "openai-tools", "--skill", "baking")
    assert "Paints walls." not in (home.project / "openai-tools.json").read_text()


def test_what_the_budget_leaves_no_room_for_is_reported(home: Home, root: Path) -> None:
    home.write_settings(f"{ONLY_MINE}[prompt]\nbudget_tokens = 30\n")
    for number in range(20):
        write_skill(root, f"skill-{number}", description="Does a thing, and then another thing, as it is asked. " * 5)
    report = export("--to", "agents-md")
    assert report["left_out"]
    assert {one["reason"] for one in report["left_out"]} == {"the budget of the prompt has no room for it"}
    shown = report["written"][0]["skills"]
    assert len(shown) + len(report["left_out"]) == 22


def test_skill_for_people_only_goes_into_folders_but_into_no_prompt(home: Home, root: Path) -> None:
    write_skill(root, "deploy", extra="disable-model-invocation: true\n")
    assert changes(export("--to", "claude", "--skill", "deploy")) == {"deploy": "new"}
    report = export("--to", "openai-tools", "--skill", "deploy", status=1)
    assert report["left_out"] == [{"id": "agents:deploy", "reason": "only people can call for it"}]
    assert [one["kind"] for one in export("--to", "codex", "--skill", "deploy")["losses"]] == ["safety"]


# People


def test_people_read_what_was_written_lost_and_left_out(home: Home, root: Path) -> None:
    (root / "painting" / "out").symlink_to("/etc/hostname")
    done = call("export", "--to", "codex", "--out", "there")
    assert done.stdout == f"new       {home.project}/there/baking\n"
    assert "agents:baking: behaviour: Codex does not read allowed-tools\n" in done.stderr
    assert "1 more are only for show, and --json lists them." in done.stderr
    assert "left out: agents:painting: not all of its files can be read: " in done.stderr


def test_nothing_to_export_is_said(home: Home) -> None:
    home.write_settings(ONLY_MINE)
    done = call("export", "--to", "claude")
    assert (done.status, done.stdout) == (0, "")
    assert "Nothing was written" in done.stderr


# Skills of MCP servers


@pytest.fixture
def acted(home: Home, tmp_path: Path) -> Acted:
    """A server with one skill, which nobody has agreed to."""
    acted = Acted(tmp_path / "acme")
    acted.add("skill://billing/refunds", {"references/rules.md": "Be kind.\n"})
    command = ", ".join(f'"{part}"' for part in acted.command)
    home.write_settings(f"{ONLY_MINE}[mcp.servers.acme]\ncommand = [{command}]\n")
    return acted


@pytest.mark.requirement("J11", "K1", "K10")
@pytest.mark.parametrize("to", ["claude", "codex", "agents-md", "openai-tools", "zip"])
def test_skill_of_a_server_goes_nowhere_unless_somebody_agreed(home: Home, acted: Acted, to: str) -> None:
    report = export("--to", to)
    assert [one["id"] for one in report["left_out"]] == ["mcp:acme/billing/refunds"]
    assert "nobody has agreed to it as it is now" in report["left_out"][0]["reason"]
    assert [skill for one in report["written"] for skill in one["skills"]] == []
    assert [path for path, (_, content) in show_tree(home.project).items() if "refunds" in f"{path}{content}"] == []
    assert export("--to", to, "--skill", "refunds", status=1)["left_out"] == report["left_out"]


@pytest.mark.requirement("J11", "K10")
def test_skill_of_a_server_that_was_agreed_to_is_exported_whole(home: Home, acted: Acted, tmp_path: Path) -> None:
    call("grants", "--allow", "refunds")
    shutil.rmtree(home.prowess / "cache")  # So that it is a placeholder again.
    assert changes(export("--to", "zip")) == {"skills.zip": "new"}
    unpack(home.project / "skills.zip", tmp_path / "unpacked")
    assert (tmp_path / "unpacked/refunds/references/rules.md").read_text() == "Be kind.\n"
    shutil.rmtree(home.prowess / "cache")
    assert changes(export("--to", "claude")) == {"refunds": "new"}
    assert (home.project / ".claude/skills/refunds/references/rules.md").read_text() == "Be kind.\n"


@pytest.mark.requirement("J11", "K10")
def test_no_document_leads_into_the_cache(home: Home, acted: Acted) -> None:
    call("grants", "--allow", "refunds")
    report = export("--to", "agents-md")
    assert [one["id"] for one in report["left_out"]] == ["mcp:acme/billing/refunds"]
    assert "cache" not in (home.project / "AGENTS.md").read_text()


# What does not belong to a skill


@pytest.mark.parametrize("other", [".git/HEAD", ".GIT/HEAD", "references/.nfs00aabb", ".git"])
def test_what_no_digest_tells_of_is_not_deleted(home: Home, root: Path, other: str) -> None:
    export("--to", "claude")
    kept = home.project / ".claude/skills/painting" / other
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("history")
    (root / "painting" / "references" / "colours.md").write_text("Blue.\n")
    report = export("--to", "claude")
    assert changes(report) == {"baking": "unchanged"}
    assert "it was changed since it was exported" in report["left_out"][0]["reason"]
    assert kept.read_text() == "history"
    assert changes(export("--to", "claude", "--force")) == {"baking": "unchanged", "painting": "replaced"}
