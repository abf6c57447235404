"""What goes into functions of a snippet, and how its values are shown."""

import ast
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.execution.inline.outcomes import cut_middle
from prowess.execution.inline.values import (
    MAX_CHARACTERS,
    MAX_VALUES,
    bind_arguments,
    make_encodable,
    show_value,
)
from prowess.execution.stopping import Stopped, stoppable

pytestmark = pytest.mark.requirement("R70")

_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
_PLAIN = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
)


# Into functions


def _pass(value: object) -> Any:
    return bind_arguments(("a",), (value,), {})["a"]


@given(_PLAIN)
def test_plain_data_passes_as_it_is(value: Any) -> None:
    plain = _pass(value)
    assert plain == json.loads(json.dumps(plain))


def test_tuples_become_lists_and_half_characters_signs_of_it() -> None:
    assert _pass((1, ("a\ud800",), {"b": ()})) == [1, ["a\ufffd"], {"b": []}]


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({1, 2}, "argument 'a' must be of texts, numbers, True, False, None, lists and dicts"),
        (b"x", "argument 'a' must be of texts, numbers, True, False, None, lists and dicts"),
        ({1: 2}, "argument 'a' holds a dict with keys that are no texts"),
        ([math.nan], "argument 'a' holds a number that is not finite"),
        ([-math.inf], "argument 'a' holds a number that is not finite"),
        (2**2000, "argument 'a' holds a number that is too long"),
    ],
)
def test_other_values_are_refused(value: object, complaint: str) -> None:
    with pytest.raises(TypeError) as caught:
        _pass(value)
    assert str(caught.value) == complaint


def test_what_is_nested_too_deeply_is_refused() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(TypeError, match="argument 'a' is nested too deeply"):
        _pass(value)
    while value:  # Else the interpreter itself gets in trouble when it lets go of it.
        value = value[0]


_TOO_MANY = "the arguments hold more than 100,000 values: give less in one call"
_TOO_LONG = "the arguments hold more than 1,000,000 characters: give less in one call"


def _double(value: Any, times: int) -> Any:
    """Return a value of few objects that is very large once each is counted wherever it stands."""
    for _ in range(times):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        pytest.param([_double(1, 31)], _TOO_MANY, id="lists shared"),
        pytest.param([{"a": _double({"b": ()}, 28)}], _TOO_MANY, id="dicts shared"),
        pytest.param([[0] * MAX_VALUES], _TOO_MANY, id="long list"),
        pytest.param([[0] * (MAX_VALUES // 2)] * 2, _TOO_MANY, id="two arguments"),
        pytest.param([["é" * 10_000] * 1_000], _TOO_LONG, id="texts shared"),
        pytest.param(["a" * (MAX_CHARACTERS + 1)], _TOO_LONG, id="long text"),
        pytest.param([[{"k" * 10_000: 1}] * 1_000], _TOO_LONG, id="keys shared"),
        pytest.param(["a" * MAX_CHARACTERS, ""], _TOO_LONG, id="names"),
    ],
)
def test_arguments_that_are_too_large_together_are_refused(args: list[object], complaint: str) -> None:
    with pytest.raises(TypeError) as caught:
        bind_arguments(("a", "b"), args, {})
    assert str(caught.value) == complaint


def test_arguments_may_be_as_large_as_the_bound() -> None:
    assert _pass([0] * (MAX_VALUES - 1)) == [0] * (MAX_VALUES - 1)
    assert _pass("a" * (MAX_CHARACTERS - 1)) == "a" * (MAX_CHARACTERS - 1)  # The name counts too.


def test_large_arguments_are_not_gone_through_once_the_call_is_not_wanted() -> None:
    with pytest.raises(Stopped), stoppable(lambda: True):
        _pass([0] * 5_000)


def test_arguments_are_bound_as_python_binds_them() -> None:
    assert bind_arguments(("a", "b"), (1,), {"b": 2}) == {"a": 1, "b": 2}
    assert bind_arguments(("a", "b"), (), {"b": 2, "c-d": 3}) == {"b": 2, "c-d": 3}


@pytest.mark.parametrize(
    ("args", "kwargs", "complaint"),
    [
        ((1, 2, 3), {}, "takes 2 positional arguments but 3 were given"),
        ((1,), {"a": 2}, "got multiple values for argument 'a'"),
    ],
)
def test_wrong_call_is_refused(args: tuple[object, ...], kwargs: dict[str, object], complaint: str) -> None:
    with pytest.raises(TypeError) as caught:
        bind_arguments(("a", "b"), args, kwargs)
    assert str(caught.value) == complaint


# Out of a snippet


@given(_PLAIN.filter(lambda value: not isinstance(value, str)))
def test_value_is_written_as_python_writes_it(value: Any) -> None:
    shown, is_cut = show_value(value, limit=100_000)
    assert not is_cut
    assert ast.literal_eval(shown) == value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\nb", "a\nb"),
        pytest.param("a\ud800", "a\ufffd", id="half a character"),
        ((1,), "(1,)"),
        ((), "()"),
        ((1, "b"), "(1, 'b')"),
        ({3}, "{3}"),
        (set[int](), "set()"),
        (frozenset[int](), "frozenset()"),
        ({"a": [1, (2,)]}, "{'a': [1, (2,)]}"),
        (True, "True"),
        (b"x", "b'x'"),
        pytest.param(2**100_000, "<a whole number of about 30,103 digits>", id="long number"),
        ([2**100_000], "[<a whole number of about 30,103 digits>]"),
        (ValueError("x"), "ValueError('x')"),
        (ValueError(2**100_000), "<ValueError>"),
    ],
)
def test_value_is_shown(value: object, shown: str) -> None:
    assert show_value(value, limit=1_000) == (shown, False)


@given(st.lists(st.text(max_size=10) | st.integers()), st.integers(1, 50))
def test_value_takes_no_more_room_than_there_is(value: list[object], limit: int) -> None:
    shown, is_cut = show_value(value, limit=limit)
    whole = repr(value)
    assert is_cut == (len(whole) > limit)
    if is_cut:
        assert shown == make_encodable(whole[:limit]) + "\n[… the rest is cut …]"


def test_long_text_shows_its_beginning_and_its_end() -> None:
    assert show_value("a" * 50 + "b" * 50, limit=10) == ("aaaaa\n[… 90 characters cut …]\nbbbbb", True)
    assert cut_middle("abc", limit=3) == "abc"


def test_value_that_is_large_because_it_is_shared_is_shown_as_far_as_there_is_room() -> None:
    shown, is_cut = show_value(_double(1, 31), limit=1_000)
    assert (shown[:34], len(shown), is_cut) == ("[" * 31 + "1, ", 1_000 + len("\n[… the rest is cut …]"), True)
    shown, is_cut = show_value(["é" * (2 * MAX_CHARACTERS)], limit=2 * MAX_CHARACTERS)
    assert (shown, is_cut) == (f"['{'é' * MAX_CHARACTERS}'…]", False)


def test_value_of_many_levels_is_shown_as_far_as_it_goes() -> None:
    value: list[Any] = [1]
    for _ in range(200):
        value = [value]
    assert show_value(value, limit=1_000) == ("[" * 33 + "…" + "]" * 33, False)
