"""The manners of texts that others have written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.surfaces.text_manners import make_like, make_plain


@given(st.text(st.sampled_from("\ufeffa\r\n"), max_size=12))
def test_text_that_was_made_plain_is_what_it_was_once_it_has_its_manners_again(text: str) -> None:
    assert make_like(text, make_plain(text)) == text


@pytest.mark.parametrize(
    ("model", "after"),
    [
        ("a\n", "b\nc\n"),
        ("a\r\n", "b\r\nc\r\n"),
        ("a\r\nb\n", "b\nc\n"),
        ("\ufeffa", "\ufeffb\nc\n"),
        ("\ufeffa\r\n", "\ufeffb\r\nc\r\n"),
    ],
)
def test_new_text_has_the_manners_of_the_old(model: str, after: str) -> None:
    assert make_like(model, "b\nc\n") == after
