"""The variables of sessions, kept in memory as far as there is room."""

import pytest

from prowess.execution.inline.notebooks import MAX_LOST, MAX_NOTEBOOKS, Notebooks

pytestmark = pytest.mark.requirement("R70")


def test_session_finds_its_notebook_again() -> None:
    books = Notebooks()
    book = books.open("a")
    books.keep(book, b"state")
    assert books.open("a") is book
    assert books.open("b") is not book
    assert (book.state, book.is_lost) == (b"state", False)


def test_those_used_longest_ago_are_let_go_and_are_told() -> None:
    books = Notebooks(max_bytes=10)
    for key in "abc":
        books.keep(books.open(key), b"1234")
    assert [(books.open(key).state, books.open(key).is_lost) for key in "abc"] == [
        (None, True),
        (b"1234", False),
        (b"1234", False),
    ]


def test_what_is_kept_now_stays_even_if_it_is_too_large_for_all() -> None:
    books = Notebooks(max_bytes=3)
    book = books.open("a")
    books.keep(book, b"1234")
    assert book.state == b"1234"


def test_session_that_ends_is_forgotten() -> None:
    books = Notebooks()
    books.keep(books.open("a"), b"state")
    books.drop("a")
    books.drop("never there")
    assert books.open("a").state is None
    books.keep(books.open("a"), b"state")
    books.clear()
    assert books.open("a").state is None


def test_there_are_only_so_many() -> None:
    books = Notebooks()
    first = books.open("first")
    for number in range(MAX_NOTEBOOKS - 1):
        books.open(str(number))
    assert books.open("first") is first
    books.open("one more")
    books.open("and another")
    assert books.open("first") is first
    books.keep(books.open("0"), b"state")
    assert books.open("0").state == b"state"


def _fill(books: Notebooks, *, more: int = 0) -> None:
    for number in range(MAX_NOTEBOOKS + more):
        books.open(f"other {number}")


def test_session_whose_notebook_was_let_go_is_told_that_its_variables_are_lost() -> None:
    books = Notebooks()
    books.keep(books.open("with variables"), b"state")
    books.open("without")
    _fill(books)
    assert [(books.open(key).state, books.open(key).is_lost) for key in ("with variables", "without", "new")] == [
        (None, True),
        (None, False),
        (None, False),
    ]
    _fill(books)
    assert books.open("with variables").is_lost  # Nobody was told in between.


def test_session_that_ends_after_its_notebook_was_let_go_starts_anew() -> None:
    books = Notebooks()
    books.keep(books.open("a"), b"state")
    _fill(books)
    books.drop("a")
    assert not books.open("a").is_lost


@pytest.mark.slow
def test_losses_are_remembered_for_only_so_many_sessions() -> None:
    books = Notebooks()
    for number in range(MAX_NOTEBOOKS + MAX_LOST + 1):
        books.open(str(number)).state = b"state"
    assert [books.open(key).is_lost for key in ("0", "2")] == [False, True]


def test_notebook_that_is_being_written_in_is_not_let_go() -> None:
    books = Notebooks()
    book = books.open("a")
    with book.lock:
        _fill(books, more=5)
        assert books.open("a") is book


def test_variables_that_are_kept_again_are_not_lost() -> None:
    books = Notebooks(max_bytes=4)
    first = books.open("first")
    books.keep(first, b"1234")
    books.keep(books.open("second"), b"1234")
    assert first.is_lost
    books.keep(first, b"12")
    assert (first.state, first.is_lost) == (b"12", False)
