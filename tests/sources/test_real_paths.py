"""Where a path leads is told while links on it are exchanged."""

from pathlib import Path

import pytest

from prowess.policy import Limits, SourceKind
from prowess.sources.folders import scan_folder
from prowess.sources.real_paths import find_real_path
from prowess.sources.source import Source
from tests.sources.building import relatives, write_skill
from tests.sources.swapping import swapping


def test_links_are_resolved_all_the_way(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "a" / "c").symlink_to("../missing")
    assert find_real_path(str(tmp_path / "b" / "c")) == str(tmp_path / "missing")
    assert find_real_path(str(tmp_path / "\0")) is None


@pytest.mark.slow
@pytest.mark.requirement("R15")
def test_link_that_becomes_a_folder_while_it_is_resolved_is_no_error(tmp_path: Path) -> None:
    """Python's own function raises then."""
    root = tmp_path / "root"
    skill = write_skill(root / "x")
    other = write_skill(tmp_path / "other" / "x")
    source = Source(SourceKind.PROJECT, str(root), project=str(root))
    seen: set[str] = set()
    with swapping({skill: other}) as swaps:
        for _ in range(10_000):
            seen.update(relatives(scan_folder(source, limits=Limits())))
    assert swaps[0] > 10_000
    assert seen == {"x", "x-other"}
