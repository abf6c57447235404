"""The rule for names in its two readings, and the rewriting of names that break it."""

import unicodedata

import pytest
from hypothesis import given

from prowess.skill.names import (
    MAX_NAME_LENGTH,
    follows_unicode_rule,
    is_standard_name,
    normalise_name,
    sanitise_name,
)
from tests.skill.strategies import any_text


@pytest.mark.requirement("R3")
@pytest.mark.parametrize("name", ["hello", "skill123", "hello-world", "a", "1", "3d-print", "a-b-c-d", "a" * 64])
def test_names_of_the_standard_follow_both_readings(name: str) -> None:
    assert (is_standard_name(name), follows_unicode_rule(name)) == (True, True)


@pytest.mark.requirement("R3")
@pytest.mark.parametrize(
    "name",
    [
        *("", "-", "Hello", "SKILL", "-hello", "hello-", "hello--world", "hello_world", "hello.world", "hello@world"),
        *(
            "hello world",
            " hello",
            "hello\n",
            "a/b",
            "../pwn",
            "ns:skill",
            "НАВЫК",
            "ǅ",
            "rocket-🚀",
            "हिंदी",
            "a\u200db",
        ),
    ],
)
def test_names_that_break_the_rule_follow_neither_reading(name: str) -> None:
    assert (is_standard_name(name), follows_unicode_rule(name)) == (False, False)


@pytest.mark.requirement("R3")
@pytest.mark.parametrize("name", ["技能", "мой-навык", "café", "skill-١٢", "größe"])
def test_letters_of_other_scripts_follow_the_wider_reading_only(name: str) -> None:
    assert (is_standard_name(name), follows_unicode_rule(name)) == (False, True)


def test_two_spellings_of_the_same_characters_become_one() -> None:
    composed, decomposed = unicodedata.normalize("NFC", "café"), unicodedata.normalize("NFD", "café")
    assert composed != decomposed
    assert normalise_name(decomposed) == normalise_name(composed) == composed
    assert normalise_name("ﬁle") == "file"
    assert normalise_name("pdf-fill") == "pdf-fill"


@pytest.mark.requirement("R14")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pdf-fill", "pdf-fill"),
        ("root skill", "root-skill"),
        ("PDF Fill", "pdf-fill"),
        ("  My_Skill (v2)! ", "my-skill-v2"),
        ("../../etc/passwd", "etc-passwd"),
        ("Café Größe", "cafe-gro-e"),
        ("a---b", "a-b"),
        ("ＡＢＣ", "abc"),
        ("技能", ""),
        ("🚀", ""),
        ("---", ""),
        ("", ""),
        ("a" * 70, "a" * MAX_NAME_LENGTH),
        ("a" * 63 + "-b", "a" * 63),
    ],
)
def test_name_is_rewritten_to_the_rule(name: str, expected: str) -> None:
    assert sanitise_name(name) == expected


@pytest.mark.requirement("R14")
@given(name=any_text)
def test_rewritten_name_is_empty_or_follows_the_rule_and_stays(name: str) -> None:
    sane = sanitise_name(name)
    assert sane == "" or (is_standard_name(sane) and len(sane) <= MAX_NAME_LENGTH)
    assert sanitise_name(sane) == sane
