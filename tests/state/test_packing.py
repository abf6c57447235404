"""Any text survives a database."""

import os

from hypothesis import example, given
from hypothesis import strategies as st

from prowess.state.packing import pack, unpack

_ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(_ANY_TEXT)
@example("bytes:00")
@example("utf-16:00")
@example("\udcc3\udca9")
@example("\ud83d")
@example("a\0")
def test_packed_text_is_text_without_zeros_and_comes_back(text: str) -> None:
    (packed,) = pack(text)
    assert isinstance(packed, str)
    assert "\0" not in packed
    packed.encode()
    assert unpack((packed,)) == (text,)


@given(_ANY_TEXT, _ANY_TEXT)
def test_two_texts_never_share_a_packed_form(one: str, other: str) -> None:
    assert (pack(one) == pack(other)) == (one == other)


@given(st.binary())
def test_name_on_disk_is_kept_by_its_bytes_or_as_it_is(raw: bytes) -> None:
    name = os.fsdecode(raw)
    assert pack(name) in ((name,), ("bytes:" + raw.hex(),))


def test_what_is_no_text_stays() -> None:
    assert pack(1, 2.5, None) == unpack((1, 2.5, None)) == (1, 2.5, None)
