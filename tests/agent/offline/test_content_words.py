"""Words that say something, and texts that fit by them."""

import pytest

from prowess.agent.offline.content_words import Fit, find_plain_words, find_words, measure_fits

_TEXTS = (("paint", "Paints walls in red."), ("bake", "Bakes bread and cakes."), ("survey", "Surveys walls."))


def test_words_that_say_nothing_are_left_out() -> None:
    assert find_plain_words("Could you please show me how the users run this skill?") == ()
    assert find_plain_words("Bake the bread, bake it!") == ("bake", "bread")


def test_forms_of_a_word_are_one() -> None:
    assert find_words("Schedules, scheduling, scheduled") == find_words("schedule")


def test_rare_word_counts_more_than_a_common_one() -> None:
    paint, bake, survey = measure_fits(find_words("red walls"), _TEXTS)
    assert paint.score > survey.score > bake.score == 0
    assert (paint.share, bake) == (1.0, Fit(0.0, 0.0, ()))


@pytest.mark.parametrize(
    ("asked", "is_good"),
    [
        ("bread", True),
        ("bread recipes", True),
        ("bread recipes from the old town", False),
        ("red walls for an old house in the town beside the river", True),
        ("poems", False),
        ("", False),
    ],
)
def test_one_word_must_be_half_of_what_is_asked_and_two_a_fifth(asked: str, is_good: bool) -> None:
    assert any(fit.is_good for fit in measure_fits(find_words(asked), _TEXTS)) == is_good


def test_nothing_fits_where_there_is_nothing() -> None:
    assert measure_fits(("a",), ()) == ()
