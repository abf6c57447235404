"""Arguments in instructions."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.disclosure.arguments import MAX_POSITION, split_arguments, substitute_arguments

_SIGNS = st.text(st.sampled_from("ab1${}\\ARGUMENTS-_ \n\"'"), max_size=40)


@pytest.mark.parametrize(
    ("body", "arguments", "expected"),
    [
        pytest.param("Do $ARGUMENTS now.", "a 'b c'", "Do a 'b c' now.", id="all of them"),
        pytest.param("Do ${ARGUMENTS}s.", "task", "Do tasks.", id="all of them in braces"),
        pytest.param("$1 and $2", "a 'b c'", "a and b c", id="words"),
        pytest.param("${1}0", "a", "a0", id="word in braces"),
        pytest.param("$10|$1", "1 2 3 4 5 6 7 8 9 ten", "ten|1", id="the tenth word"),
        pytest.param("[$2]", "only", "[]\nARGUMENTS: only", id="word that was not given"),
        pytest.param("[$1][$2]", "", "[][]", id="nothing given"),
        pytest.param("$source to $target-file", "a b", "a to b-file", id="names"),
        pytest.param("${target}s", "a b", "bs", id="name in braces"),
        pytest.param("$dry-run|$dry", "a b yes no", "yes|no", id="longest name first"),
        pytest.param("$dry-runs", "a b yes no", "no-runs", id="name up to a hyphen"),
        pytest.param("$HOME ${HOME} $x $ $$ ${", "", "$HOME ${HOME} $x $ $$ ${", id="unknown stays"),
        pytest.param("$ARGUMENTSX $ARGUMENTS_ $1st $01 $0", "a", None, id="longer words are other words"),
        pytest.param("$100 and $1", "a", "$100 and a", id="price"),
        pytest.param(r"\$1 is $1", "a", "$1 is a", id="escaped"),
        pytest.param(r"\${1} \$ARGUMENTS", "", "${1} $ARGUMENTS", id="only escaped"),
        pytest.param(r"\$HOME of $1", "a", "$HOME of a", id="escape of anything, where there are places"),
        pytest.param(r"echo \$HOME", "", r"echo \$HOME", id="no place, nothing changes"),
        pytest.param("$1", "$2 $ARGUMENTS", "$2", id="value is not looked at again"),
        pytest.param("$ARGUMENTS", r"\$1 $1", r"\$1 $1", id="all are not looked at again"),
        pytest.param("$$1", "a", "$a", id="two signs"),
        pytest.param("$1$2", "a b", "ab", id="next to each other"),
        pytest.param("$1-$2", "a b", "a-b", id="with a hyphen between"),
        pytest.param("$1", "it's", "it's", id="quotes that do not close"),
        pytest.param("Do it.", "a b", "Do it.\nARGUMENTS: a b", id="no place"),
        pytest.param("Do it.\n", " a b \n", "Do it.\nARGUMENTS: a b", id="no place, with a line break"),
        pytest.param("", "a", "ARGUMENTS: a", id="no instructions"),
        pytest.param(r"\$1", "a", "$1\nARGUMENTS: a", id="escaped is no use of them"),
        pytest.param("Do it.\n", " \n", "Do it.\n", id="blank arguments are none"),
    ],
)
def test_arguments_are_put_in_their_places(body: str, arguments: str, expected: str | None) -> None:
    names = ("source", "target", "dry-run", "dry")
    assert substitute_arguments(body, arguments, names=names) == (
        f"{body}\nARGUMENTS: {arguments}" if expected is None else expected
    )


def test_meaning_of_numbers_and_all_cannot_be_declared_away() -> None:
    assert substitute_arguments("$1 $ARGUMENTS $a", "x y", names=("a", "1", "ARGUMENTS", "a", "")) == "x x y x"
    assert substitute_arguments(f"${MAX_POSITION}", "a " * MAX_POSITION) == "a"


@given(st.text(st.characters(exclude_characters="$")) | _SIGNS.map(lambda text: text.replace("$", "")))
def test_body_without_a_sign_is_unchanged(body: str) -> None:
    assert substitute_arguments(body, "") == body


@given(_SIGNS, _SIGNS)
def test_value_appears_as_it_is_and_only_once(before: str, value: str) -> None:
    plain = before.replace("$", "").replace("\\", "")
    expected = value.strip()
    assert substitute_arguments(f"{plain} $ARGUMENTS!", value) == f"{plain} {expected}!"


@given(_SIGNS, st.lists(st.text(st.sampled_from("xyz"), min_size=1), min_size=1))
def test_arguments_are_not_lost(body: str, words: list[str]) -> None:
    """No body has such words: they come from a place that took one of them up, or stand at the end."""
    result = substitute_arguments(body, " ".join(words))
    assert any(word in result for word in words)


@given(st.text(st.sampled_from("ab \t\r\n\\'\"é"), max_size=30))
def test_words_are_those_of_a_shell(text: str) -> None:
    try:
        expected = shlex.split(text)
    except ValueError:
        expected = text.split()
    assert split_arguments(text) == expected


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["$", "\\$", "$a", "$a-", "${", "${a", "'", '"', "\\", "a\\"])
def test_millions_of_signs_take_no_more_than_their_turn(sign: str) -> None:
    text = sign * 300_000
    assert substitute_arguments(text, "") == text
    assert substitute_arguments("$1", f"x {text}") == "x"
