"""Porter's algorithm: the stem that the forms of an English word share.

M. F. Porter, "An algorithm for suffix stripping", 1980, with the two endings that he added later; the rules stand below
as tables.
"""

__all__ = ["stem_word"]

_KINDS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "vcccvcccvcccccvcccccvcccyc")
_SECOND = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "logi": "log", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_THIRD = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_FOURTH = {
    "al": "", "ance": "", "ence": "", "er": "", "ic": "", "able": "", "ible": "", "ant": "", "ement": "", "ment": "",
    "ent": "", "sion": "s", "tion": "t", "ou": "", "ism": "", "ate": "", "iti": "", "ous": "", "ive": "", "ize": "",
}  # fmt: skip


def stem_word(word: str) -> str:
    """Return the stem of a word in small letters."""
    if len(word) < 3:
        return word
    word = _strip_plural(word)
    word = _strip_past(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _SECOND, least=1)
    word = _replace(word, _THIRD, least=1)
    word = _replace(word, _FOURTH, least=2)
    return _tidy(word)


def _shape(stem: str) -> str:
    """Return a v for each vowel and a c for each consonant; a y is a vowel after a consonant only, be that a y too."""
    shape = stem.translate(_KINDS)
    while "y" in shape:
        before, _, after = shape.partition("y")
        shape = before + ("v" if before.endswith("c") else "c") + after
    return shape


def _measure(stem: str) -> int:
    """Return how many times a vowel is followed by a consonant."""
    return _shape(stem).count("vc")


def _ends_short(stem: str) -> bool:
    """Whether a stem ends with a vowel between consonants, as that of hop and of file does."""
    return _shape(stem).endswith("cvc") and stem[-1] not in "wxy"


def _strip_plural(word: str) -> str:
    if (len(word) > 4 and word.endswith("sses")) or (len(word) > 3 and word.endswith("ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _strip_past(word: str) -> str:
    if len(word) > 3 and word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = next((ending for ending in ("ed", "ing") if word.endswith(ending)), "")
    bare = word.removesuffix(ending)
    if not ending or "v" not in _shape(bare):
        return word
    if bare.endswith(("at", "bl", "iz")):
        return bare + "e"
    if len(bare) > 1 and bare[-1] == bare[-2] and bare[-1] not in "aeioulsz":
        return bare[:-1]
    return bare + "e" if _measure(bare) == 1 and _ends_short(bare) else bare


def _replace(word: str, endings: dict[str, str], *, least: int) -> str:
    """Replace the longest ending that fits, if the rest is long enough."""
    for length in range(min(7, len(word)), 1, -1):
        new = endings.get(word[-length:])
        if new is not None:
            rest = word[:-length]
            return rest + new if _measure(rest + new if new in ("s", "t") else rest) >= least else word
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        bare = word[:-1]
        measure = _measure(bare)
        if measure > 1 or (measure == 1 and not _ends_short(bare)):
            word = bare
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
