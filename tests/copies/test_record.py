"""The log of what was placed says nothing false, whatever happens to it."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.copies.plan import Placed
from prowess.copies.record import Record

_ONE = Placed("user:one", "d1", 1, 11, "/skills/one")
_TWO = Placed("user:two", "d2", 2, 12, "/skills/\udcff two\n")


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "book" / "record")


def _read(path: str) -> dict[str, Placed]:
    """Return what another process finds."""
    return dict(Record(path).read())


def test_record_that_is_not_there_is_empty(path: str) -> None:
    record = Record(path)
    assert (record.read(), record.version(), os.path.exists(path)) == ({}, None, False)


@pytest.mark.parametrize("durable", [True, False])
def test_what_is_noted_is_found_by_others(path: str, durable: bool) -> None:
    record = Record(path, durable=durable)
    record.note({"one": _ONE, "two": _TWO})
    assert _read(path) == record.read() == {"one": _ONE, "two": _TWO}
    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700


def test_copy_in_doubt_is_not_certain_any_more(path: str) -> None:
    record = Record(path)
    record.note({"one": _ONE, "two": _TWO})
    record.doubt(["one", "unknown"])
    assert _read(path) == record.read() == {"two": _TWO}
    record.note({"one": _ONE})
    assert _read(path) == {"two": _TWO, "one": _ONE}


def test_nothing_is_written_where_there_is_nothing_to_say(path: str) -> None:
    record = Record(path)
    record.note({})
    record.doubt(["unknown"])
    assert not os.path.exists(path)
    record.note({"one": _ONE})
    version = record.version()
    record.note({})
    record.doubt(["unknown"])
    assert record.version() == version


def test_what_another_process_adds_is_seen(path: str) -> None:
    first, second = Record(path), Record(path)
    first.note({"one": _ONE})
    assert second.read() == {"one": _ONE}
    version = first.version()
    second.note({"two": _TWO})
    assert first.version() != version
    assert first.read() == {"one": _ONE, "two": _TWO}


def test_record_that_is_removed_is_empty_again(path: str) -> None:
    record = Record(path)
    record.note({"one": _ONE})
    os.unlink(path)
    assert record.read() == {}
    record.note({"two": _TWO})
    assert _read(path) == {"two": _TWO}


def test_log_does_not_grow_without_end(path: str) -> None:
    record = Record(path, durable=False)
    for number in range(1_000):
        record.note({"one": _ONE._replace(inode=number)})
    assert Path(path).read_bytes().count(b"\n") < 300
    assert _read(path) == {"one": _ONE._replace(inode=999)}


@pytest.mark.requirement("K5")
def test_line_that_was_cut_off_does_not_count_and_harms_no_other(path: str) -> None:
    Record(path).note({"one": _ONE})
    whole = Path(path).read_bytes()
    Record(path).note({"two": _TWO})
    longer = Path(path).read_bytes()
    for end in range(len(whole), len(longer)):
        Path(path).write_bytes(longer[:end])
        assert _read(path) == {"one": _ONE}
        Record(path).note({"three": _ONE})
        assert _read(path) == {"one": _ONE, "three": _ONE}


@pytest.mark.requirement("K5")
def test_any_other_damage_voids_the_log_until_it_is_written_anew(path: str) -> None:
    Record(path).note({"one": _ONE, "two": _TWO})
    whole = Path(path).read_bytes()
    for place in range(0, whole.rindex(b"\n", 0, -1), 7):
        Path(path).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert _read(path) in ({}, {"one": _ONE})  # A line end that is gone makes the rest a line that was cut off.
        Record(path).note({"three": _ONE})
        assert "three" in _read(path)


@pytest.mark.parametrize("raw", [b"", b"\n", b"nonsense\n", b"\0" * 4_096, b"[]" * 50, b"00000000 \n"])
def test_nonsense_is_an_empty_record_that_can_be_written(path: str, raw: bytes) -> None:
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(raw)
    assert _read(path) == {}
    Record(path).note({"one": _ONE})
    assert _read(path) == {"one": _ONE}


_KEYS = st.sampled_from(["a", "b", "c"])
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("doubt"), st.lists(_KEYS, max_size=3)),
        st.tuples(st.just("note"), st.lists(_KEYS, max_size=3)),
    ),
    max_size=12,
)


@settings(max_examples=30)
@given(_STEPS)
def test_log_tells_what_a_dictionary_would(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, list[str]]]
) -> None:
    path = str(tmp_path_factory.mktemp("record") / "record")
    record = Record(path, durable=False)
    expected: dict[str, Placed] = {}
    for number, (step, keys) in enumerate(steps):
        placed = {key: _ONE._replace(inode=number) for key in keys}
        if step == "note":
            record.note(placed)
            expected |= placed
        else:
            record.doubt(keys)
            expected = {key: one for key, one in expected.items() if key not in keys}
    assert _read(path) == record.read() == expected
