"""What a crash has left goes at the next sync, and what somebody may still be reading does not."""

import os
from pathlib import Path

import pytest

from prowess.catalog.index import Entry, Index, RootScan
from prowess.copies.layout import Layout
from prowess.copies.trees import lock_folder
from prowess.copies.versions import Versions
from prowess.copies.workshop import Workshop
from prowess.skill.problems import make_problem
from prowess.sources.stamps import stamp_file
from tests.copies.parts import skill_of
from tests.copies.torture.scenes import Place
from tests.skills_on_disk import write_skill


def _leave(path: str) -> None:
    os.mkdir(path)
    Path(path, "file").touch()


def test_a_copy_that_was_retired_a_moment_after_the_look_at_the_clock_stays(tmp_path: Path) -> None:
    shop = Workshop(str(tmp_path))
    _leave(shop.new_draft())
    (staged,) = (tmp_path / "staging").iterdir()
    shop.retire(str(staged), digest="d" * 64)
    (retired,) = (tmp_path / "retired").iterdir()
    moment, _, rest = retired.name.partition("-")
    retired.rename(retired.with_name(f"{int(moment) + 2_000}-{rest}"))
    assert shop.clean_retired() == []
    assert list(shop.retired_digests()) == ["d" * 64]


def test_a_skill_whose_files_are_all_gone_gives_no_empty_version(tmp_path: Path) -> None:
    versions = Versions(Layout(str(tmp_path / "home")))
    (tmp_path / "leaving").mkdir()
    draft = versions.draft(skill_of(tmp_path / "leaving"))
    assert (draft.folder, draft.files.digest) == ("", "")
    assert [problem.code for problem in draft.files.problems] == ["skill-md-missing"]
    assert os.listdir(tmp_path / "home" / "copies" / "staging") == []


def test_locking_a_copy_changes_nothing_that_a_link_in_its_place_leads_to(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir(0o755)
    os.symlink(own, tmp_path / "link")
    with pytest.raises(OSError, match="link"):
        lock_folder(str(tmp_path / "link"))
    assert own.stat().st_mode & 0o777 == 0o755


@pytest.mark.slow
def test_a_sync_that_has_nothing_to_copy_cleans_staging(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write_skill(place.skills, "steady")
    place.sync()
    _leave(str(place.workshop / "staging" / "draft-0123"))
    assert not place.sync().changed
    assert place.staged() == []


@pytest.mark.slow
def test_a_disk_that_failed_once_is_asked_again_by_the_next_process(tmp_path: Path) -> None:
    place = Place(tmp_path)
    folder = write_skill(place.skills, "steady")
    stamp, top = (stamp_file(os.lstat(path)) for path in (folder / "SKILL.md", place.skills))
    failed = Entry(str(folder), stamp, None, (make_problem("disk-error", "SKILL.md cannot be read"),))
    later = stamp[4] + 10**10
    scan = RootScan((failed,), (), ((str(place.skills), top),), later, loose=True, real=str(place.skills))
    with place.open() as runtime:
        (source,) = runtime.sources()
        Index(os.path.join(place.settings.cache_folder, "index-1")).save(source, runtime.policy, scan)
    report = place.sync()
    assert (report.copied, report.skipped) == (("project:steady",), ())
