"""What is in `active` after a sync: all that is visible, as it is now, and nothing else."""

import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prowess.catalog.switches import Switch
from prowess.copies.sync import SyncReport
from prowess.errors import WorldError
from prowess.runtime import Runtime
from prowess.settings import load_settings
from tests.copies.parts import codes, contents, names
from tests.skills_on_disk import Home, write_skill

_SETTINGS = """
[sources]
directories = ["~/first", "~/.agents/skills", ".agents/skills"]
[activation]
consent = "never"
[copies]
durable = false
"""
_SETTLING_SECONDS = 0.13
"""After so long, the stamps of files are relied on."""


@pytest.fixture
def root(home: Home) -> Path:
    home.write_settings(_SETTINGS)
    for folder in (home.path / "first", home.project / ".agents" / "skills"):
        folder.mkdir(parents=True)
    root = home.path / ".agents" / "skills"
    write_skill(root, "alpha", files={"scripts/run.sh": "#!/bin/sh\necho 1\n"})
    write_skill(root, "beta", files={"references/guide.md": "Read me.\n"})
    return root


@pytest.fixture
def runtime(root: Path) -> Iterator[Runtime]:
    with Runtime.open() as opened:
        yield opened


@pytest.fixture
def active(home: Home) -> Path:
    return home.prowess / "users" / "local" / "skills" / "active"


def _settle(runtime: Runtime) -> SyncReport:
    """Sync until nothing need be looked at any more."""
    runtime.sync()
    time.sleep(_SETTLING_SECONDS)  # Until the times of files tell; nothing is asserted of it.
    runtime.sync()
    return runtime.sync()


@pytest.mark.requirement("R73", "R77", "R89", "R111")
def test_all_visible_skills_are_copied_once(runtime: Runtime, root: Path, active: Path) -> None:
    first, second = runtime.sync(), runtime.session("chat").sync()
    assert (first.active_root, first.copied, first.skipped) == (str(active), ("agents:alpha", "agents:beta"), ())
    assert (second.active_root, second.copied, second.unchanged, second.removed) == (str(active), (), 2, ())
    assert names(active) == {"agents--alpha", "agents--beta"}
    for name in ("alpha", "beta"):
        assert contents(active / f"agents--{name}") == contents(root / name)


@pytest.mark.requirement("R72")
def test_folders_of_a_user_are_made_for_that_user_alone(runtime: Runtime, home: Home, active: Path) -> None:
    before = os.umask(0)
    try:
        runtime.sync()
    finally:
        os.umask(before)
    private = [home.prowess / "users", active.parent.parent, active.parent, active.parent / "personal"]
    private += [home.prowess / "copies", home.prowess / "versions"]
    assert {str(folder): oct(stat.S_IMODE(folder.stat().st_mode)) for folder in private} == dict.fromkeys(
        map(str, private), "0o700"
    )
    assert oct(stat.S_IMODE(active.stat().st_mode)) == "0o755"


@pytest.mark.requirement("R73")
def test_no_skills_make_an_empty_folder(home: Home, active: Path) -> None:
    with Runtime.open(skills=[]) as runtime:
        assert [runtime.sync().changed for _ in range(2)] == [False, False]
    assert names(active) == set()


@pytest.mark.requirement("R74", "R76", "R111")
def test_equal_names_from_two_sources_are_two_folders(home: Home, tmp_path: Path) -> None:
    """D5."""
    write_skill(home.prowess / "skills", "helper", body="Of the settings.\n")
    plugin = write_skill(tmp_path / "plugin", "helper", body="Of the plugin.\n")
    with Runtime.open(profile="daycare") as runtime:
        runtime.register_skill(plugin, plugin="foo")
        active = Path(runtime.sync().active_root)
    texts = {name: (active / name / "SKILL.md").read_text() for name in ("config--helper", "plugin--foo--helper")}
    assert "Of the settings." in texts["config--helper"]
    assert "Of the plugin." in texts["plugin--foo--helper"]


@pytest.mark.requirement("R75")
def test_name_of_a_skill_leads_nowhere(home: Home, root: Path, active: Path) -> None:
    """D3."""
    for folder in ("..pwn", "...", "a b"):
        write_skill(root, folder, text="---\nname: ../pwn\ndescription: d\n---\n")
    before = contents(home.path / ".agents")
    with Runtime.open(profile="daycare") as runtime:
        runtime.sync()
    assert {name for name in names(active) if "pwn" in name or "---" in name} != set()
    assert not (active.parent / "pwn").exists()
    assert contents(home.path / ".agents") == before


# What changed


def _edit(skill: Path) -> None:
    (skill / "scripts/run.sh").write_text("#!/bin/sh\necho 2\n")


def _edit_with_a_forged_time(skill: Path) -> None:
    before = (skill / "scripts/run.sh").stat()
    _edit(skill)
    os.utime(skill / "scripts/run.sh", ns=(before.st_atime_ns, before.st_mtime_ns))


def _restore_an_older_file(skill: Path) -> None:
    _edit(skill)
    os.utime(skill / "scripts/run.sh", (1_000_000_000, 1_000_000_000))


def _make_plain(skill: Path) -> None:
    (skill / "scripts/run.sh").chmod(0o644)


def _add(skill: Path) -> None:
    (skill / "scripts/more.sh").touch()


def _remove(skill: Path) -> None:
    (skill / "scripts/run.sh").unlink()


def _replace_the_folder(skill: Path) -> None:
    skill.rename(skill.with_name("gone"))
    write_skill(skill.parent, skill.name)
    shutil.rmtree(skill.with_name("gone"))


@pytest.mark.slow
@pytest.mark.requirement("R77", "R78", "R111")
@pytest.mark.parametrize("refresh", ["watched", "each-turn"])
@pytest.mark.parametrize(
    "change",
    [_edit, _edit_with_a_forged_time, _restore_an_older_file, _make_plain, _add, _remove, _replace_the_folder],
)
def test_every_change_is_seen_and_of_that_skill_only(
    home: Home, root: Path, active: Path, change: Callable[[Path], None], refresh: str
) -> None:
    home.write_settings(f'{_SETTINGS}[catalog]\nrefresh = "{refresh}"\n')
    with Runtime.open() as runtime:
        assert _settle(runtime).unchanged == 2
        before = (active / "agents--beta").stat()
        change(root / "alpha")
        report = runtime.sync()
        assert (report.copied, report.unchanged, report.removed) == (("agents:alpha",), 1, ())
        assert contents(active / "agents--alpha") == contents(root / "alpha")
        assert (active / "agents--beta").stat() == before
        assert runtime.sync().changed is False


# What leaves


def _delete(runtime: Runtime, home: Home, skill: Path) -> None:
    shutil.rmtree(skill)


def _switch_off(runtime: Runtime, home: Home, skill: Path) -> None:
    runtime.set_switch("alpha", Switch.OFF)


def _hide(runtime: Runtime, home: Home, skill: Path) -> None:
    runtime.set_switch("alpha", Switch.USER_ONLY)


def _shadow(runtime: Runtime, home: Home, skill: Path) -> None:
    write_skill(home.path / "first", "alpha")


def _ask_for_too_much(runtime: Runtime, home: Home, skill: Path) -> None:
    write_skill(skill.parent, "alpha", extra="requires: [no-such-command-4d1f]\n")


def _break(runtime: Runtime, home: Home, skill: Path) -> None:
    (skill / "SKILL.md").write_text("No frontmatter any more.\n")


def _take_its_manifest(runtime: Runtime, home: Home, skill: Path) -> None:
    (skill / "SKILL.md").unlink()


@pytest.mark.slow
@pytest.mark.requirement("R79", "R80", "R111")
@pytest.mark.parametrize(
    "change", [_delete, _switch_off, _hide, _shadow, _ask_for_too_much, _break, _take_its_manifest]
)
def test_skill_that_is_not_to_be_seen_leaves(
    runtime: Runtime, home: Home, root: Path, active: Path, change: Callable[[Runtime, Home, Path], None]
) -> None:
    _settle(runtime)
    change(runtime, home, root / "alpha")
    report = runtime.sync()
    assert report.removed == ("agents:alpha",)
    assert names(active) == {"agents--beta"} | ({"user--alpha"} if change is _shadow else set())


@pytest.mark.requirement("R79")
def test_skills_of_a_project_are_there_while_it_is_trusted(runtime: Runtime, home: Home, active: Path) -> None:
    write_skill(home.project / ".agents" / "skills", "gamma")
    seen: list[bool] = []
    for decide in (lambda: None, runtime.trust, runtime.untrust):
        decide()
        runtime.sync()
        seen.append("project--gamma" in names(active))
    assert seen == [False, True, False]


@pytest.mark.requirement("R81", "R79")
@pytest.mark.parametrize("code", ["link-escape", "not-a-file"])
def test_skill_with_a_fault_among_its_files_leaves_with_a_problem(
    runtime: Runtime, root: Path, active: Path, tmp_path: Path, code: str
) -> None:
    _settle(runtime)
    odd = root / "alpha" / "odd"
    _ = odd.symlink_to(tmp_path) if code == "link-escape" else os.mkfifo(odd)
    for removed in (("agents:alpha",), ()):
        report = runtime.sync()
        assert (codes(report.skipped), report.removed) == ({"agents:alpha": code}, removed)
    assert names(active) == {"agents--beta"}
    odd.unlink()
    assert runtime.sync().copied == ("agents:alpha",)


@pytest.mark.requirement("R80", "R81", "R111")
def test_broken_and_missing_skills_are_passed_over(home: Home, root: Path, active: Path) -> None:
    """D10."""
    write_skill(root, "nameless", text="---\nname: ''\ndescription:\n---\n")
    write_skill(root, "no-yaml", text="---\nname: [\n---\n")
    write_skill(root, "missing")
    home.write_settings(_SETTINGS.replace('"~/first"', '"~/nowhere", "~/first"'))
    with Runtime(load_settings(profile="agent-base")) as runtime:
        assert runtime.sync().active_root == ""  # The profile shares nothing.
    with Runtime.open() as runtime:
        shutil.rmtree(root / "missing")
        report = runtime.sync()
    assert report.copied == ("agents:alpha", "agents:beta")
    assert names(active) == {"agents--alpha", "agents--beta"}


@pytest.mark.requirement("R79")
def test_what_nobody_placed_is_removed_and_nothing_that_it_leads_to(
    runtime: Runtime, home: Home, active: Path, tmp_path: Path
) -> None:
    _settle(runtime)
    personal = active.parent / "personal"
    write_skill(personal, "mine")
    (tmp_path / "outside").mkdir()
    before = contents(personal)
    (active / "link").symlink_to(personal)
    (active / "out").symlink_to(tmp_path / "outside")
    (active / "folder" / "deep").mkdir(parents=True)
    assert set(runtime.sync().removed) == {"link", "out", "folder"}
    assert (names(active), contents(personal)) == ({"agents--alpha", "agents--beta"}, before)
    assert (tmp_path / "outside").is_dir()


# Strange places


@pytest.mark.requirement("R72", "K5")
@pytest.mark.parametrize("kind", ["link", "file"])
def test_active_that_is_no_folder_is_an_error_that_touches_nothing(
    runtime: Runtime, active: Path, tmp_path: Path, kind: str
) -> None:
    active.parent.mkdir(parents=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    _ = active.symlink_to(tmp_path / "mine") if kind == "link" else active.touch()
    for sync in (runtime.sync, lambda: runtime.sync(verify=True)):
        with pytest.raises(WorldError) as caught:
            sync()
        assert caught.value.code == "not-a-folder"
    assert names(tmp_path / "mine") == {"file"}


def test_home_may_be_reached_through_a_link(
    home: Home, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.prowess.rename(tmp_path / "real")
    home.prowess.symlink_to(tmp_path / "real")
    with Runtime.open() as runtime:
        report = runtime.sync()
        assert report.active_root == str(tmp_path / "real/users/local/skills/active")
        assert runtime.session("chat").activate("alpha").base_directory == "/shared/skills/agents--alpha"
        assert runtime.sync().unchanged == 2


@pytest.mark.requirement("R73", "K5")
def test_two_runtimes_see_each_others_work(runtime: Runtime, root: Path, active: Path) -> None:
    with Runtime.open() as other:
        for number in range(4):
            (root / "alpha" / "number").write_text(str(number))
            reports = [one.sync() for one in (runtime, other)]
            assert [report.copied for report in reports] == [("agents:alpha",) if number else reports[0].copied, ()]
            assert [one.sync().changed for one in (other, runtime)] == [False, False]
    assert contents(active / "agents--alpha") == contents(root / "alpha")


@pytest.mark.requirement("K5")
def test_damage_is_mended_when_copies_are_verified(runtime: Runtime, root: Path, active: Path) -> None:
    _settle(runtime)
    copy = active / "agents--alpha" / "scripts" / "run.sh"
    copy.chmod(0o755)
    copy.write_text("#!/bin/sh\nrm -rf /\n")  # The version too: they share their bytes.
    report = runtime.sync(verify=True)
    assert (report.copied, report.unchanged) == (("agents:alpha",), 1)
    assert contents(active / "agents--alpha") == contents(root / "alpha")
    assert contents(Path(runtime.copying.versions.folder(runtime.digest(runtime.view().get("alpha"))))) == contents(
        root / "alpha"
    )


@pytest.mark.requirement("K5")
def test_versions_are_shared_by_users_and_go_with_the_last_copy(home: Home, root: Path) -> None:
    users = ("ann", "bob")
    inodes: set[int] = set()
    for user in users:
        with Runtime(load_settings().for_user(user)) as runtime:
            active = Path(runtime.sync().active_root)
            assert contents(active / "agents--alpha") == contents(root / "alpha")
            inodes.add((active / "agents--alpha/scripts/run.sh").stat().st_ino)
    assert (len(inodes), len(names(home.prowess / "versions"))) == (1, 2)
    shutil.rmtree(root / "alpha")
    left: list[int] = []
    for user in users:
        with Runtime(load_settings().for_user(user)) as runtime:
            runtime.sync()
            left.append(len(names(home.prowess / "versions")))
    assert left == [2, 1]
