"""Readers who hold a copy's folder open, while it is replaced as fast as it can be."""

from pathlib import Path

import pytest

from tests.copies.torture.actors import acting, ask_actor, write_numbered
from tests.copies.torture.scenes import Place

_READERS = 3
_READS = 34_000


@pytest.mark.slow
@pytest.mark.requirement("K5")
def test_no_reader_by_handle_ever_finds_a_missing_or_a_mixed_version(quick_disk: Path) -> None:
    place = Place(quick_disk)
    write_numbered(place.skills, 0)
    place.sync()
    with place.open() as runtime, acting(_READERS, "read", place.active, _READS) as readers:
        for reader in readers:
            assert reader.stdin is not None
            reader.stdin.write("go\n")
            reader.stdin.flush()
        number = 0
        while any(reader.poll() is None for reader in readers):
            number += 1
            write_numbered(place.skills, number)
            assert runtime.sync().copied == ("project:numbered",)
        told = [ask_actor(reader) for reader in readers]
    assert _READERS * _READS >= 100_000
    assert [(one["missing"], one["mixed"]) for one in told] == [([], [])] * _READERS
    assert min(one["versions"] for one in told) > 20
    place.expect_mended()
