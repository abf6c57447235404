"""The words of a text as triggers compare them: without case and accents, in any script.

Where words are written without blanks between them (Chinese, Japanese, Thai …) or with endings joined to them (Korean),
every character is a word, so that a keyword is found inside a sentence.
"""

import re
import unicodedata
from typing import NamedTuple

__all__ = ["Word", "find_words", "inflect_verb"]

_ALONE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Burmese, Khmer
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kana and Han
    "\uac00-\ud7a3"  # Hangul
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
"""Accents and vowel signs, which Python does not count to a word; with them, the letters of India's scripts."""
_WORD = re.compile(rf"[{_ALONE}]|(?:[^\W{_ALONE}]++|[{_MARKS}]++)++")
_IS_ALONE = re.compile(rf"[{_ALONE}]")

_VOWELS = "aeiou"
_SIBILANTS = ("s", "x", "z", "ch", "sh", "o")


class Word(NamedTuple):
    """A word, with its place in the text."""

    folded: str
    start: int
    end: int


def find_words(text: str) -> list[Word]:
    """Return the words of a text that is in Unicode's composed form (NFC)."""
    found = ((match[0], match.start(), match.end()) for match in _WORD.finditer(text))
    folded = (Word(_fold(word), start, end) for word, start, end in found)
    return [word for word in folded if word.folded]


def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()
    if _IS_ALONE.match(word):
        return word
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char)).casefold()


def inflect_verb(verb: str) -> tuple[str, ...]:
    """Return a folded verb with its regular English forms, and sometimes one too many: `visitted` hurts nobody."""
    stem = verb[:-1]
    if len(verb) < 2 or not verb.isascii():
        return (verb,)
    if verb.endswith("ie"):
        return (verb, f"{verb}s", f"{verb}d", f"{verb[:-2]}ying")
    if verb.endswith("e"):
        return (verb, f"{verb}s", f"{verb}d", f"{stem}ing", f"{verb}ing")
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return (verb, f"{stem}ies", f"{stem}ied", f"{verb}ing")
    third = f"{verb}es" if verb.endswith(_SIBILANTS) else f"{verb}s"
    regular = (verb, third, f"{verb}ed", f"{verb}ing")
    doubles = len(verb) > 2 and verb[-1] not in f"{_VOWELS}wxy" and verb[-2] in _VOWELS and verb[-3] not in _VOWELS
    return (*regular, f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing") if doubles else regular
