"""What counts as a word, which words belong together, and what a mistyped one was meant to be."""

import sqlite3
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prowess.catalog.search.documents import SearchedText, find_headings, make_document
from prowess.catalog.search.spelling import Vocabulary, measure_distance
from prowess.catalog.search.stems import stem_word
from prowess.catalog.search.words import split_words, stem


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("Fill PDF-forms, v2!", ["fill", "pdf", "forms", "v2"], id="plain"),
        pytest.param("snake_case", ["snake", "case"], id="underscores"),
        pytest.param("Café — naïve Résumé", ["cafe", "naive", "resume"], id="accents"),
        pytest.param("Cafe\u0301", ["cafe"], id="an accent that stands alone"),
        pytest.param("ﬁle Ｆｏｒｍ", ["file", "form"], id="look-alike forms"),
        pytest.param("Straße ÄRGER", ["strasse", "arger"], id="German"),
        pytest.param("Ёлка", ["елка"], id="Russian"),
        pytest.param("表格処理", ["表格", "格処", "処理", "理"], id="no blanks"),
        pytest.param("PDFを作る pdf", ["pdf", "を作", "作る", "る", "pdf"], id="mixed"),
        pytest.param("ガ", ["ガ"], id="a mark that makes another letter"),
        pytest.param("일정 관리", ["일정", "정", "관리", "리"], id="Korean"),
        pytest.param("हिन्दी में", ["हिन्दी", "में"], id="vowel signs"),
        pytest.param("\0 \ud800 — ✅ _ ' \"", [], id="nothing"),
    ],
)
def test_text_is_split_into_folded_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@given(st.text())
def test_any_text_gives_words_that_split_no_further(text: str) -> None:
    for word in split_words(text):
        assert word
        assert split_words(word)[0] == word
        word.encode()


_ENDINGS = ["", "s", "es", "ies", "ed", "ing", "ational", "ization", "fulness", "ical", "ement", "ion", "ly", "y", "e"]


@example("i", "es")
@example("sse", "s")
@example("yy", "ed")
@example("byy", "e")
@given(st.text(string.ascii_lowercase, min_size=1, max_size=12), st.sampled_from(_ENDINGS))
def test_stems_are_those_of_the_database_that_everybody_has(start: str, ending: str) -> None:
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE VIRTUAL TABLE texts USING fts5(text, tokenize = 'porter ascii')")
        database.execute("CREATE VIRTUAL TABLE words USING fts5vocab(texts, 'row')")
        database.execute("INSERT INTO texts VALUES (?)", (start + ending,))
        (expected,) = database.execute("SELECT term FROM words").fetchone()
    database.close()
    assert stem_word(start + ending) == expected


def test_only_english_words_have_stems() -> None:
    assert [stem(word) for word in ("meetings", "schedules", "2026s", "формы", "x" * 50 + "ing")] == [
        *("meet", "schedul", "2026s", "формы", "x" * 50 + "ing")
    ]


# Spelling


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        *(("form", "form", 0), ("form", "forms", 1), ("fom", "form", 1), ("from", "form", 1), ("farm", "form", 1)),
        *(("shedule", "schedule", 1), ("calandre", "calendar", 3), ("abc", "xyz", 3), ("a", "abcdef", 3)),
    ],
)
def test_distance_counts_every_mistake_once(one: str, other: str, distance: int) -> None:
    assert measure_distance(one, other, most=2) == distance == measure_distance(other, one, most=2)


def _vocabulary(*words: str) -> tuple[Vocabulary, frozenset[str]]:
    vocabulary = Vocabulary()
    vocabulary.add(words)
    return vocabulary, frozenset(words)


@given(st.data(), st.lists(st.text("abcdef", min_size=3, max_size=9), min_size=1, max_size=8, unique=True))
def test_every_word_with_one_mistake_is_mended(data: st.DataObject, words: list[str]) -> None:
    vocabulary, among = _vocabulary(*words)
    meant = data.draw(st.sampled_from(words))
    at = data.draw(st.integers(0, len(meant) - 1))
    letter = data.draw(st.sampled_from("abcdefg"))
    typed = data.draw(
        st.sampled_from(
            [
                meant[:at] + meant[at + 1 :],
                meant[:at] + letter + meant[at:],
                meant[:at] + letter + meant[at + 1 :],
                meant[:at] + meant[at : at + 2][::-1] + meant[at + 2 :],
            ]
        )
    )
    if len(typed) >= 3:
        nearest = min(measure_distance(typed, word, most=2) for word in words)
        assert vocabulary.find_near(typed, among=among) == sorted(
            word for word in words if measure_distance(typed, word, most=2) == nearest
        )


def test_words_that_do_not_count_for_the_caller_are_not_given() -> None:
    vocabulary, _ = _vocabulary("form", "forms", "format", "farm")
    assert vocabulary.find_forms("forms", among={"form"}) == ["form"]
    assert list(vocabulary.find_beginnings("form", among={"form", "format"})) == ["format"]
    assert vocabulary.find_near("frm", among={"farm"}) == ["farm"]


@pytest.mark.parametrize("word", ["12345", "ab", "表格", "x" * 100])
def test_numbers_short_words_and_pairs_are_not_mended(word: str) -> None:
    vocabulary, among = _vocabulary("12346", "abc", "表示", "x" * 99)
    assert vocabulary.find_near(word, among=among) == []


# Documents


def test_headings_are_found_outside_of_code_only() -> None:
    shell = "```sh\n# comment\n~~~\n```\n"
    other = "~~~~\n# code\n~~~\n~~~~\n"
    body = f"# One\ntext # no\n{shell}  ## Two ##\n{other}#tag\n####### seven\n### Three"
    assert list(find_headings(body)) == ["One", "Two ##", "Three"]


def test_headings_are_bounded() -> None:
    assert len(list(find_headings("# x\n" * 5_000))) == 100


def test_word_weighs_more_in_a_name_than_in_a_label_than_in_text_than_in_a_heading() -> None:
    text = SearchedText(
        "name", "plain filler", tags=("tag",), triggers=("trigger",), category="kind", headings=("head",)
    )
    document = make_document(text)
    weights = dict(zip(document.words, document.weights, strict=True))
    assert (
        weights["name"] > weights["tag"] == weights["trigger"] > weights["plain"] == weights["kind"] > weights["head"]
    )
    assert min(weights.values()) > 0


def test_endless_text_gives_a_bounded_document() -> None:
    endless = " ".join(f"word{number}" for number in range(100_000))
    document = make_document(SearchedText("x", endless, tags=(endless,), headings=(endless,)))
    assert len(document.words) == len(document.weights) < 4_000
