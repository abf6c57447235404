"""What a conversation is given again after it was compacted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.disclosure.instructions import CLOSING_TAG, wrap_instructions
from prowess.disclosure.reattachment import Reattachment, plan_reattachment
from prowess.disclosure.tokens import EstimatedTokens, TiktokenTokens, TokenCounter
from tests.disclosure.catalogs import any_line, make_skill

_COUNTER = EstimatedTokens()
_COUNTERS: tuple[TokenCounter, ...] = (_COUNTER, TiktokenTokens())
_NOTICE = "[Cut after compaction; activate the skill again for all of it.]"


def _wrapped(name: str, words: int) -> str:
    return wrap_instructions(make_skill(name), "word " * words, resources=("references/a.md",))


def _repeated(name: str, line: str, times: int) -> str:
    return wrap_instructions(make_skill(name), f"{line}\n" * times, resources=())


any_instructions = st.builds(_repeated, any_line, any_line, st.integers(0, 40))
any_texts = st.lists(any_instructions | any_line | st.none(), max_size=8)


@pytest.mark.requirement("J9")
def test_all_that_fits_is_given_again_in_its_order() -> None:
    texts = [("new", _wrapped("new", 10)), ("old", _wrapped("old", 10))]
    planned = plan_reattachment(texts, budget=1_000, budget_each=500, counter=_COUNTER)
    assert planned == Reattachment(f"{texts[0][1]}\n\n{texts[1][1]}", ("new", "old"), ())


@pytest.mark.requirement("J9")
def test_newest_comes_first_within_the_budget() -> None:
    texts = [("newest", _wrapped("newest", 50)), ("older", _wrapped("older", 50)), ("oldest", _wrapped("oldest", 50))]
    each = _COUNTER.count(texts[0][1])
    planned = plan_reattachment(texts, budget=2 * each + 10, budget_each=500, counter=_COUNTER)
    assert (planned.kept, planned.dropped) == (("newest", "older"), ("oldest",))
    assert planned.text == f"{texts[0][1]}\n\n{texts[1][1]}"


@pytest.mark.requirement("J9")
def test_long_instructions_are_cut_with_a_notice_and_keep_their_tag() -> None:
    planned = plan_reattachment([(1, _wrapped("long", 5_000))], budget=25_000, budget_each=200, counter=_COUNTER)
    assert planned.kept == (1,)
    assert planned.text.startswith('<skill_content name="long">\nword word')
    assert planned.text.endswith(f"\n\n{_NOTICE}\n{CLOSING_TAG}")
    assert 150 <= _COUNTER.count(planned.text) <= 200


@pytest.mark.requirement("J9")
def test_text_without_a_tag_is_cut_with_a_notice() -> None:
    planned = plan_reattachment([(1, "word " * 5_000)], budget=25_000, budget_each=200, counter=_COUNTER)
    assert planned.text.endswith(f"\n\n{_NOTICE}")


@pytest.mark.requirement("J9")
def test_long_one_leaves_room_for_the_others() -> None:
    texts = [(1, _wrapped("long", 5_000)), (2, _wrapped("short", 10))]
    planned = plan_reattachment(texts, budget=400, budget_each=200, counter=_COUNTER)
    assert planned.kept == (1, 2)
    assert planned.text.endswith(texts[1][1])


@pytest.mark.requirement("J9")
def test_what_is_gone_is_dropped_and_does_not_stop_the_others() -> None:
    planned = plan_reattachment([(1, None), (2, _wrapped("there", 5))], budget=500, budget_each=500, counter=_COUNTER)
    assert (planned.kept, planned.dropped) == ((2,), (1,))


def test_cut_never_falls_into_the_opening_tag() -> None:
    """A name may be so long that nothing of the instructions would be left; then nothing is given."""
    text = wrap_instructions(make_skill("名" * 64), "word " * 500, resources=())
    planned = plan_reattachment([(1, text)], budget=100, budget_each=60, counter=_COUNTER)
    assert planned == Reattachment("", (), (1,))


def test_head_without_instructions_is_not_worth_giving() -> None:
    skill = make_skill("far-away")
    body = f"Always mind it. {'word ' * 2_000}"
    head = f"Base directory for this skill: /shared/{'x' * 100}\nSkill name: far-away\n\n"
    given = [("it", wrap_instructions(skill, head + body, resources=()))]
    kept: set[bool] = set()
    for tokens in range(40, 140):
        planned = plan_reattachment(given, budget=1_000, budget_each=tokens, counter=_COUNTER)
        kept.add(bool(planned.kept))
        assert ("Always mind it." in planned.text) == bool(planned.kept)
    assert kept == {True, False}


def test_nothing_active_is_nothing_to_give() -> None:
    assert plan_reattachment([], budget=100, budget_each=100, counter=_COUNTER) == Reattachment()


@pytest.mark.requirement("J9")
@pytest.mark.parametrize("counter", _COUNTERS)
@given(texts=any_texts, budget=st.integers(0, 2_000), budget_each=st.integers(0, 500))
def test_neither_budget_is_ever_exceeded(
    counter: TokenCounter, texts: list[str | None], budget: int, budget_each: int
) -> None:
    numbered = list(enumerate(texts))
    planned = plan_reattachment(numbered, budget=budget, budget_each=budget_each, counter=counter)
    assert counter.count(planned.text) <= budget
    assert sorted(planned.kept + planned.dropped) == [number for number, _ in numbered]
    assert list(planned.kept) == sorted(planned.kept)
    alone = [plan_reattachment([(0, text)], budget=budget, budget_each=budget_each, counter=counter) for text in texts]
    assert all(counter.count(one.text) <= budget_each for one in alone)


@pytest.mark.requirement("J8", "J9")
@given(texts=st.lists(any_instructions, max_size=6), budget=st.integers(0, 2_000), budget_each=st.integers(0, 500))
def test_every_text_that_is_given_is_in_a_whole_tag(texts: list[str], budget: int, budget_each: int) -> None:
    planned = plan_reattachment(list(enumerate(texts)), budget=budget, budget_each=budget_each, counter=_COUNTER)
    assert planned.text.count('<skill_content name="') == planned.text.count(CLOSING_TAG) == len(planned.kept)
    openings = [texts[number].split("\n")[0] for number in planned.kept]
    position = 0
    for opening in openings:
        position = planned.text.index(f"{opening}\n", position) + len(opening)
