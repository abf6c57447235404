"""Clean the texts that reach a model of what could deceive the person beside it.

Removed: control, bidirectional, zero-width and tag characters. Replaced: letters of another script that look Latin,
in a word that also has Latin letters. Text in one script is left alone, whatever the script.
"""

import re
import unicodedata
from dataclasses import dataclass

from prowess.skill.yaml_values import YamlValue

__all__ = [
    "CleanText",
    "clean_text",
    "has_only_joiners",
    "is_clean",
    "is_harmless",
    "make_encodable",
    "make_printable",
    "replace_look_alikes",
    "strip_invisible",
]

_INVISIBLE = re.compile(
    "["
    "\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"  # controls (tab and line breaks become blanks)
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners and fillers
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"  # zero-width, bidirectional, separators, invisible operators
    "\ufe00-\ufe0e\ufeff\uffa0\ufff0-\uffff"  # variation selectors (but the emoji one), marks, specials
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # shorthand, musical, tags
    "\ud800-\udfff"
    "]"
)
_LATIN_LIKE = "аеорсухіјѕһԁԛԝӏАВЕКМНОРСТХУІЈЅΑΒΕΖΗΙΚΜΝΟΡΤΥΧοօհոսɡ"
_JOINING = re.compile("(?<=[^\x00-\x7f\u200b-\u200f])[\u200c-\u200f]")
_SUSPECT = re.compile(f"[{_LATIN_LIKE}]")
_ASCII = bytes(range(128))
# What `str.isprintable` lets pass although nobody sees it, and the look-alikes.
_UNSEEN = re.compile(
    f"[{_LATIN_LIKE}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0e\uffa0\ufff0-\uffff\U000e0100-\U000e01ef]"
)
# What `str.isprintable` lets pass and what takes room or hides without being seen. A selector is in its place after
# a character that it can change: after a letter or blank of ASCII, or another selector, it changes nothing.
_BLANKS = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\U00016fe4\U0001d159\U000e0100-\U000e01ef"
_UNPRINTABLE = re.compile(
    f"[{_BLANKS}]"
    f"|(?<![^\\x00-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f{_BLANKS}])[\ufe00-\ufe0f](?!\u20e3)"
)
_HALF = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"[^\W\d_]{2,}")

# Letters that most typefaces draw like a Latin one. Greek small letters are left out: science mixes them (TNFα, µm).
_LOOK_ALIKES = str.maketrans(
    dict(
        zip(
            _LATIN_LIKE,
            "aeopcyxijshdqwlABEKMHOPCTXYIJSABEZHIKMNOPTYXoohnug",
            strict=True,
        )
    )
)


@dataclass(frozen=True, slots=True)
class CleanText:
    """A text as a model may see it, and what was taken out of it."""

    text: str
    invisible: tuple[str, ...] = ()
    """The removed characters, each once, as U+XXXX."""
    look_alikes: tuple[str, ...] = ()
    """The words that mixed scripts, as they were written."""


def is_harmless(printable: str) -> bool:
    """Whether a text that `str.isprintable` has passed holds nothing to clean: the quick answer for most texts."""
    return printable.isascii() or not _UNSEEN.search(printable.encode().translate(None, _ASCII).decode())


def clean_text(text: str) -> CleanText:
    """Return `text` on one line, without characters that hide or imitate."""
    if text.isprintable() and is_harmless(text):
        return CleanText(text.strip())
    removed: tuple[str, ...] = ()
    if _INVISIBLE.search(text):
        removed = tuple(dict.fromkeys(f"U+{ord(char):04X}" for char in _INVISIBLE.findall(text)))
        text = _INVISIBLE.sub("", text)
    visible = " ".join(text.split())
    if not _SUSPECT.search(visible):
        return CleanText(visible, removed)
    mixed = [word for word in dict.fromkeys(_WORD.findall(visible)) if _imitates(word)]
    latin = {word: word.translate(_LOOK_ALIKES) for word in mixed}
    return CleanText(_WORD.sub(lambda found: latin.get(found[0], found[0]), visible), removed, tuple(mixed))


def has_only_joiners(text: str) -> bool:
    """Whether all that nobody sees in a text is there to shape it.

    That is a joiner or a mark of direction by itself, after a letter or sign beyond ASCII, as emojis and many scripts
    have them.
    """
    return not _INVISIBLE.search(_JOINING.sub("", text))


def replace_look_alikes(text: str) -> str:
    """Return `text` with every letter that only looks Latin replaced by the Latin one."""
    return text.translate(_LOOK_ALIKES)


def strip_invisible(text: str) -> tuple[str, int]:
    """Return a text of many lines without characters that nobody sees, and how many there were."""
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text, 0
    return _INVISIBLE.subn("", text)


def make_encodable(text: str) -> str:
    """Return `text` with a sign in the place of half characters, which can be neither stored nor sent."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def make_printable(text: str) -> str:
    """Return `text` with everything that a terminal might obey, or nobody would see, written as an escape."""
    if text.isascii() and text.isprintable():
        return text
    if not text.isprintable():  # First, since what follows goes by the character before.
        text = "".join(char if char.isprintable() else _escape(char) for char in text)
    return _UNPRINTABLE.sub(lambda found: _escape(found[0]), text)


def is_clean(value: YamlValue) -> bool:
    """Whether no text anywhere in a value holds invisible characters."""
    if isinstance(value, str):
        return (value.isascii() and value.isprintable()) or not _INVISIBLE.search(value)
    items = value.values() if isinstance(value, dict) else value
    return all(is_clean(item) for item in items)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


def _imitates(word: str) -> bool:
    """Whether the word has Latin letters and, besides them, only letters that look Latin."""
    foreign = [char for char in word if not _is_latin(char) or ord(char) in _LOOK_ALIKES]
    return 0 < len(foreign) < len(word) and all(ord(char) in _LOOK_ALIKES for char in foreign)


def _is_latin(char: str) -> bool:
    return char.isascii() or unicodedata.name(char, "").startswith("LATIN")
