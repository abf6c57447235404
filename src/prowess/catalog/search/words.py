"""From text to the words that are searched: folded, split, and brought to their stems."""

import re
import unicodedata
from functools import lru_cache

from prowess.catalog.search.stems import stem_word

__all__ = ["FUNCTION_WORDS", "fold_text", "is_solid", "split_words", "stem"]

_LONGEST_STEMMED = 40
FUNCTION_WORDS = frozenset(
    (
        *("a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from", "has", "have"),
        *("how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "no", "not", "of", "on", "or", "our"),
        *("please", "so", "such", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to"),
        *("us", "want", "was", "we", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you"),
        "your",
    )
)
"""Words that say little of what is asked for. Among a handful of skills they may look as rare as the words that do."""

# Accents of Latin, Greek and Cyrillic, points of Hebrew, vowel signs of Arabic. Marks that make another letter, as in
# Japanese or Thai, are no accents.
_MARKS = "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
_ACCENTS = re.compile(f"[{_MARKS}]")
_SOLID = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Letters of scripts that put no blanks between words, and of Korean, which ties endings to them."""
_PLAIN_WORD = re.compile("[a-z0-9]+")
_INDIC = "\u0900-\u0dff"
"""Scripts whose vowel signs are no letters to Python."""
_RUN = re.compile(rf"[\w{_INDIC}{_SOLID}]+")
_PART = re.compile(rf"[{_SOLID}]+|[^{_SOLID}]+")
_ODD = re.compile("[^\x00-\x7f]+")
_ODD_LETTER = re.compile(rf"[\w{_INDIC}{_SOLID}{_MARKS}]")
_SOLID_RUN = re.compile(f"[{_SOLID}]+")


def fold_text(text: str) -> str:
    """Return the text without capitals and accents, look-alike forms of a letter made one."""
    return text.lower() if text.isascii() else _ODD.sub(_fold_odd, text).lower()


def _fold_odd(run: re.Match[str]) -> str:
    odd = run[0]
    if not _ODD_LETTER.search(odd):  # Dashes, quotes and emojis are far more common than letters.
        return " "
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", odd))
    return unicodedata.normalize("NFKC", bare.casefold())


def split_words(text: str) -> list[str]:
    """Return the words in their order. A run without blanks gives every pair of neighbours, and its last letter."""
    folded = fold_text(text)
    if folded.isascii():
        return _PLAIN_WORD.findall(folded)
    words: list[str] = []
    for run in _RUN.findall(folded.replace("_", " ")):
        if run.isascii():
            words.append(run)
            continue
        for part in _PART.findall(run):
            words += [part[at : at + 2] for at in range(len(part))] if is_solid(part) else [part]
    return words


def is_solid(word: str) -> bool:
    """Whether a word is of a script without blanks."""
    return not word.isascii() and _SOLID_RUN.match(word) is not None


def stem(word: str) -> str:
    """Return what the forms of an English word have in common; other words are returned as they are."""
    return _stem(word) if len(word) <= _LONGEST_STEMMED and word.isascii() and word.isalpha() else word


_stem = lru_cache(maxsize=1 << 16)(stem_word)
