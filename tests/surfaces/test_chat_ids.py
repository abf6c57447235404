"""Names of conversations."""

import pytest

from prowess.surfaces.chat_ids import is_chat_id, make_chat_id


def test_names_made_in_the_same_second_differ() -> None:
    names = {make_chat_id(1_795_000_000.0) for _ in range(20_000)}
    assert len(names) == 20_000
    assert {len(name) for name in names} == {len("chat-20261118-093000-0123456789abcdef")}


def test_names_stand_in_the_order_in_which_conversations_began() -> None:
    names = [make_chat_id(1_795_000_000.0 + second) for second in range(100)]
    assert names == sorted(names)
    assert all(map(is_chat_id, names))


@pytest.mark.parametrize("text", ["", " ", " x", "x ", "a\tb", "a\u202eb", "x" * 201])
def test_name_that_people_cannot_read_whole_is_none(text: str) -> None:
    assert not is_chat_id(text)
