"""What hides or imitates is taken out of texts; honest text in any script stays."""

import pytest
from hypothesis import given

from prowess.skill.deception import CleanText, clean_text, make_printable
from tests.skill.strategies import any_text, clean_line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "safe \u202eterces\u202c text", CleanText("safe terces text", ("U+202E", "U+202C")), id="override"
        ),
        pytest.param("a\u2066b\u2069c", CleanText("abc", ("U+2066", "U+2069")), id="isolates"),
        pytest.param("a\u200fb\u061cc", CleanText("abc", ("U+200F", "U+061C")), id="marks"),
        pytest.param("pd\u200bf\u200b", CleanText("pdf", ("U+200B",)), id="zero-width space, each once"),
        pytest.param(
            "a\u200d\u200cb\u2060c\ufeffd", CleanText("abcd", ("U+200D", "U+200C", "U+2060", "U+FEFF")), id="joiners"
        ),
        pytest.param("hi\U000e0069\U000e0067", CleanText("hi", ("U+E0069", "U+E0067")), id="tags"),
        pytest.param("a\U000e0100b", CleanText("ab", ("U+E0100",)), id="variation selectors of the far plane"),
        pytest.param("co\xadop", CleanText("coop", ("U+00AD",)), id="soft hyphen"),
        pytest.param("a\u3164b\uffa0", CleanText("ab", ("U+3164", "U+FFA0")), id="fillers"),
        pytest.param(
            "\x1b[31mred\x07\x00\x9b", CleanText("[31mred", ("U+001B", "U+0007", "U+0000", "U+009B")), id="controls"
        ),
        pytest.param("a\ud800b", CleanText("ab", ("U+D800",)), id="half a character"),
        pytest.param("a\u2028b\u2029c", CleanText("abc", ("U+2028", "U+2029")), id="separators"),
    ],
)
def test_invisible_characters_are_removed_and_named(text: str, expected: CleanText) -> None:
    assert clean_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("log in to раypal now", CleanText("log in to paypal now", (), ("раypal",)), id="Cyrillic"),
        pytest.param("ΡayΡal", CleanText("PayPal", (), ("ΡayΡal",)), id="Greek capitals"),
        pytest.param("gοοgle", CleanText("google", (), ("gοοgle",)), id="Greek omicron"),
        pytest.param("Аpple Аpple Аdobe", CleanText("Apple Apple Adobe", (), ("Аpple", "Аdobe")), id="each word once"),
        pytest.param(
            "micrоsоft-оffice", CleanText("microsoft-office", (), ("micrоsоft", "оffice")), id="joined by a hyphen"
        ),
        pytest.param("р\u200bаypal", CleanText("paypal", ("U+200B",), ("раypal",)), id="hidden and imitated"),
    ],
)
def test_word_that_imitates_latin_letters_is_written_in_them(text: str, expected: CleanText) -> None:
    assert clean_text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("Fill PDF forms.", "naïve café, Größe, œuvre, Łódź", "техника безопасности", "навык со словом paypal рядом"),
        *(
            "Ελληνικά κείμενα",
            "ΑΒΓ",
            "技能を使う",
            "العربية والعبرية",
            "עברית",
            "हिंदी पाठ",
            "ไทย",
            "Հայերեն տեքստ",
            "한국어",
        ),
        *(
            "TNFα",
            "IFNγ and TGFβ1",
            "5 µm",
            "5 μm",
            "ΔG",
            "ΔΔG°",
            "Ω-3",
            "λx.x",
            "χ² test",
            "α-helix",
            "kΩ",
            "NFκB",
            "πr²",
        ),
        *("✅ done", "❤️ emoji", "≥ 3 → 4", "a—b “quoted” … ’", "x̄ and é", "①", "ﬁ"),
    ],
)
def test_honest_text_is_left_alone(text: str) -> None:
    assert clean_text(text) == CleanText(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a b  ", "a b"),
        ("a\nb", "a b"),
        ("a\r\n\tb\n\n c", "a b c"),
        ("é\n  é\xa0x", "é é x"),
        ("", ""),
        ("\n \t", ""),
    ],
)
def test_text_comes_out_on_one_line(text: str, expected: str) -> None:
    assert clean_text(text) == CleanText(expected)


def test_word_is_replaced_only_where_it_is_a_word() -> None:
    assert clean_text("аb жаbж").text == "ab жаbж"


@given(text=any_text)
def test_clean_text_is_clean(text: str) -> None:
    once = clean_text(text).text
    assert clean_text(once) == CleanText(once)
    assert len(once.splitlines()) <= 1
    assert once == once.strip()


@given(text=clean_line.filter(str.isascii))
def test_ascii_is_never_changed(text: str) -> None:
    assert clean_text(text) == CleanText(text)


# Texts for a person


@pytest.mark.requirement("K1")
@pytest.mark.parametrize(
    "char",
    [
        *"\u3164\u115f\u1160\u034f\u17b4\u17b5\uffa0\u2800\u180b\ufe00\ufe0f\U000e0100\U000e01ef",
        *"\n\x1b\u200b\u202e\u00a0\U000e0041",
    ],
    ids=lambda char: f"U+{ord(char):04X}",
)
def test_what_nobody_sees_is_written_out(char: str) -> None:
    escape = char.encode("unicode_escape").decode()
    assert make_printable(f"a{char}b {char}") == f"a{escape}b {escape}"
    assert make_printable(char) == escape


@pytest.mark.parametrize("text", ["", "a  b", "❤️ and 1️⃣", "☎︎", "©️", "हिंदी", "한국어", "é", "技能"])
def test_what_is_seen_stays(text: str) -> None:
    assert make_printable(text) == text


def test_second_selector_in_a_row_changes_nothing_and_is_written_out() -> None:
    assert make_printable("❤\ufe0f\ufe0f") == "❤\ufe0f\\ufe0f"


@given(text=any_text)
def test_printable_text_is_printable_and_stays_so(text: str) -> None:
    once = make_printable(text)
    assert once.isprintable()
    assert make_printable(once) == once
