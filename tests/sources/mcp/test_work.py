"""A mirror holds what a server lists, verified, and fetches no file before it is wanted."""

import os
import sys
from pathlib import Path

import anyio
import pytest

from prowess.sources.mcp.placeholders import MARK
from prowess.sources.mcp.record import Record, RecordTooLarge, read_record, write_record
from prowess.sources.mcp.talks import Talk, converse
from prowess.sources.mcp.work import MAX_MIRROR_BYTES
from tests.sources.mcp.scripts import Acted, entry, skill_md

pytestmark = pytest.mark.slow


@pytest.fixture
def acted(tmp_path: Path) -> Acted:
    return Acted(tmp_path / "acme")


@pytest.mark.requirement("J11")
def test_list_alone_fetches_no_file(acted: Acted) -> None:
    acted.add("skill://git-flow")
    acted.add("skill://acme/billing/refunds", {"references/rules.md": "Be kind.\n"})
    assert acted.refresh() is None
    assert list(acted.held()) == ["skill-0/acme/billing/refunds/SKILL.md", "skill-0/git-flow/SKILL.md"]
    assert all(MARK.encode() in text for text in acted.held().values())
    assert not [line for line in acted.asked() if line.startswith("resources/read")]


@pytest.mark.requirement("J11")
def test_fetched_skill_has_the_very_bytes_that_were_listed(acted: Acted) -> None:
    files = {"SKILL.md": skill_md("refunds"), "assets/logo.bin": b"\x00\xff\x10", "empty.md": "", "ü/ß.md": "süß\r\n"}
    made = entry("skill://acme/refunds", files)
    made["resources"][3]["uri"] = "skill://acme/refunds/%C3%BC/%C3%9F.md"
    acted.add("skill://acme/refunds", {path: text for path, text in files.items() if path != "ü/ß.md"})
    acted.serve("skill://acme/refunds/%C3%BC/%C3%9F.md", "süß\r\n")
    acted.change(entries=[made])
    acted.refresh()
    assert acted.fetch("acme/refunds") is None
    held = {path.removeprefix("skill-0/acme/refunds/"): content for path, content in acted.held().items()}
    assert held == {
        "SKILL.md": skill_md("refunds").encode(),
        "assets/logo.bin": b"\x00\xff\x10",
        "empty.md": b"",
        "ü/ß.md": "süß\r\n".encode(),
    }


def test_fetched_skill_is_not_fetched_twice(acted: Acted) -> None:
    acted.add("skill://git-flow")
    acted.refresh()
    acted.fetch("git-flow")
    before = len(acted.asked())
    acted.fetch("git-flow")
    acted.refresh()
    assert not [line for line in acted.asked()[before:] if line.startswith("resources/read")]
    assert acted.held() == {"skill-0/git-flow/SKILL.md": skill_md("git-flow").encode()}


def test_skills_of_all_pages_are_taken(acted: Acted) -> None:
    for number in range(25):
        acted.add(f"skill://skill-{number}")
    acted.change(page_size=10)
    assert acted.refresh() is None
    assert len(acted.record.skills) == 25


@pytest.mark.requirement("J11")
def test_skill_in_a_skill_is_kept_by_itself_and_within_the_other(acted: Acted) -> None:
    inner = skill_md("inner")
    acted.add("skill://outer", {"parts/inner/SKILL.md": inner})
    acted.add("skill://outer/parts/inner", {"SKILL.md": inner})
    acted.refresh()
    assert [(one.shelf, one.path) for one in acted.record.skills] == [
        ("skill-0", "outer"),
        ("skill-1", "outer/parts/inner"),
    ]
    assert acted.fetch("outer") is None
    assert acted.fetch("outer/parts/inner", shelf="skill-1") is None
    assert sorted(acted.held()) == [
        "skill-0/outer/SKILL.md",
        "skill-0/outer/parts/inner/SKILL.md",
        "skill-1/outer/parts/inner/SKILL.md",
    ]


def test_skills_of_other_schemes_have_shelves_of_their_own(acted: Acted) -> None:
    acted.add("skill://acme/refunds")
    acted.add("github://acme/refunds", {"more.md": "More."})
    acted.refresh()
    assert {(one.shelf, one.path) for one in acted.record.skills} == {
        ("skill-0", "acme/refunds"),
        ("github-0", "acme/refunds"),
    }
    assert acted.fetch("acme/refunds", shelf="github-0") is None
    assert sorted(acted.held()) == [
        "github-0/acme/refunds/SKILL.md",
        "github-0/acme/refunds/more.md",
        "skill-0/acme/refunds/SKILL.md",
    ]


def test_skill_that_is_not_listed_any_more_goes(acted: Acted) -> None:
    acted.add("skill://acme/refunds")
    acted.add("skill://git-flow")
    acted.refresh()
    acted.fetch("acme/refunds")
    acted.change(entries=[one for one in acted.script["entries"] if "refunds" not in one["uri"]])
    acted.refresh()
    assert list(acted.held()) == ["skill-0/git-flow/SKILL.md"]


def test_skill_takes_the_place_of_the_one_around_it(acted: Acted) -> None:
    acted.add("skill://outer", {"inner/SKILL.md": skill_md("inner"), "more.md": "More."})
    acted.refresh()
    acted.fetch("outer")
    acted.change(entries=[])
    acted.add("skill://outer/inner")
    acted.refresh()
    assert list(acted.held()) == ["skill-0/outer/inner/SKILL.md"]
    acted.change(entries=[])
    acted.add("skill://outer")
    acted.refresh()
    assert list(acted.held()) == ["skill-0/outer/SKILL.md"]


def test_changed_skill_that_is_in_use_is_fetched_again(acted: Acted) -> None:
    acted.add("skill://git-flow", {"notes.md": "old"})
    acted.refresh()
    acted.fetch("git-flow")
    acted.add("skill://git-flow", {"notes.md": "new", "more.md": "More."})
    acted.refresh()
    assert acted.held()["skill-0/git-flow/notes.md"] == b"new"
    assert acted.held()["skill-0/git-flow/more.md"] == b"More."


def test_changed_skill_that_is_not_in_use_is_not_fetched(acted: Acted) -> None:
    acted.add("skill://git-flow")
    acted.refresh()
    acted.add("skill://git-flow", {"SKILL.md": skill_md("git-flow", description="New.")}, description="New.")
    acted.refresh()
    assert b"New." in acted.held()["skill-0/git-flow/SKILL.md"]
    assert MARK.encode() in acted.held()["skill-0/git-flow/SKILL.md"]


@pytest.mark.requirement("J11")
def test_skill_that_is_named_but_not_listed_is_asked_for_by_its_address(tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme")
    made = acted.add("skill://acme/refunds")
    acted.change(entries=[], gets=[made])
    acted.server = type(acted.server)(acted.server.name, acted.command, skills=("skill://acme/refunds/SKILL.md",))
    assert acted.refresh() is None
    assert [one.path for one in acted.record.skills] == ["acme/refunds"]
    assert "skills/get skill://acme/refunds/SKILL.md" in acted.asked()
    assert acted.fetch("acme/refunds") is None


def test_what_another_server_of_the_same_name_listed_does_not_count(tmp_path: Path) -> None:
    acted = Acted(tmp_path / "acme")
    acted.add("skill://git-flow")
    acted.refresh()
    acted.server = type(acted.server)("acme", ("/no/such/program",))
    problem = acted.refresh()
    assert problem is not None
    assert problem.code == "mcp-unreachable"
    assert acted.record.skills == ()


@pytest.mark.slow
@pytest.mark.requirement("J11")
def test_list_that_could_not_be_read_again_is_refused_and_changes_nothing(acted: Acted) -> None:
    acted.add("skill://git-flow")
    acted.refresh()
    before = acted.held()
    long = [entry(f"skill://s-{number}", {"SKILL.md": ""}, note="x" * 60_000) for number in range(600)]
    acted.change(entries=[*acted.script["entries"], *long])
    problem = acted.refresh()
    assert problem is not None
    assert (problem.code, acted.record.failure) == ("mcp-too-large", problem)
    assert [one.path for one in acted.record.skills] == ["git-flow"]
    assert acted.held() == before


def test_record_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    write_record(str(tmp_path), Record(asked="before"))
    with pytest.raises(RecordTooLarge):
        write_record(str(tmp_path), Record(asked="x" * (64 << 20)))
    assert read_record(str(tmp_path)) == Record(asked="before")


# What is not the server's fault


@pytest.mark.requirement("J11")
def test_mirror_that_cannot_be_changed_is_not_told_as_a_fault_of_the_server(acted: Acted) -> None:
    acted.add("skill://git-flow")
    acted.refresh()
    (acted.mirror / "staging").rmdir()
    (acted.mirror / "staging").write_text("A file where a folder should be.\n")
    acted.add("skill://refunds")
    listed, fetched = acted.refresh(), acted.fetch("git-flow")
    assert listed is not None
    assert listed == fetched
    assert listed.code == "disk-error"
    assert listed.message == f"the mirror of the server 'acme' cannot be changed: Not a directory ({acted.mirror})"
    assert acted.record.failure == listed
    assert [one.path for one in acted.record.skills] == ["git-flow"]


def test_mirror_that_cannot_be_locked_is_told_as_a_fault_of_the_disk(acted: Acted) -> None:
    acted.mirror.write_text("A file where a folder should be.\n")
    problem = acted.refresh()
    assert problem is not None
    assert (problem.code, problem.path) == ("disk-error", "mcp:acme")


@pytest.mark.parametrize("mistake", [KeyError("mistake"), OSError("mistake")], ids=["key", "disk"])
def test_mistake_in_the_work_is_raised_as_it_is(acted: Acted, mistake: Exception) -> None:
    async def work(talk: Talk) -> None:
        await talk.list_skills()
        raise mistake

    with pytest.raises(type(mistake)) as raised:
        anyio.run(lambda: converse(acted.server, work))
    assert raised.value is mistake


# How much is kept


def _fill_shelf(acted: Acted, *, size_bytes: int) -> None:
    filler = acted.mirror / "skill-0" / "filler"
    filler.parent.mkdir(exist_ok=True)
    filler.touch()
    os.truncate(filler, size_bytes)  # Which takes no room on the disk.


@pytest.mark.requirement("J11")
def test_mirror_that_is_full_takes_no_changed_skill(acted: Acted) -> None:
    acted.add("skill://git-flow")
    acted.refresh()
    acted.fetch("git-flow")
    before = acted.held()
    _fill_shelf(acted, size_bytes=MAX_MIRROR_BYTES - 500)
    acted.add("skill://git-flow", {"notes.md": "x" * 600})
    assert acted.refresh() is None
    assert acted.codes == ["mcp-too-large"]
    assert acted.held() == before


def test_skill_in_a_mirror_that_is_nearly_full_may_change_within_its_size(acted: Acted) -> None:
    acted.add("skill://git-flow", {"notes.md": "old"})
    acted.refresh()
    acted.fetch("git-flow")
    size = sum(map(len, acted.held().values()))
    _fill_shelf(acted, size_bytes=MAX_MIRROR_BYTES - size)
    acted.add("skill://git-flow", {"notes.md": "new"})
    assert acted.refresh() is None
    assert acted.codes == []
    assert acted.held()["skill-0/git-flow/notes.md"] == b"new"


def test_fetched_skill_is_read_once_when_the_list_is_asked_for(acted: Acted) -> None:
    opened: list[object] = []
    sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
    acted.add("skill://git-flow", {"only-here.md": "More."})
    acted.refresh()
    acted.fetch("git-flow")
    opened.clear()
    acted.refresh()
    assert opened.count(b"only-here.md") == 1
