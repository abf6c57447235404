"""The forms of a value: as it is, escaped for one language or another, in base64, as a dump.

Each is a row of units; a unit is what one letter or byte may look like, with what may stand before it.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

__all__ = ["Form", "Gap", "Unit", "encode_value", "list_forms"]

_T = TypeVar("_T", bound=Hashable)

_SHORT_LENGTH = 4
"""A value with fewer characters is looked for only as it is; other forms would be found everywhere by chance."""
_WORDY_LENGTH = 8
"""Of a line that counts alone, and of a value that is found in any case and with signs between its letters."""


class Gap(NamedTuple):
    """What may stand between two units."""

    whole: str = ""
    begun: str = ""
    """All of it, or its beginning."""
    longest: int = 0
    frugal: str = ""
    """The whole, but no more than will do; given where what follows may look the same."""


class Unit(NamedTuple):
    """One letter or byte of a value, with each way to write it as patterns of single bytes."""

    gap: Gap
    ways: tuple[tuple[str, ...], ...]


class Form(NamedTuple):
    """One way to write a value."""

    units: list[Unit]
    longest: int
    """In bytes."""


def encode_value(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


# What may stand between units.


def _some(signs: str, most: int, *, least: int = 0) -> Gap:
    return Gap(f"[{signs}]{{{least},{most}}}", f"[{signs}]{{0,{most}}}", most, f"[{signs}]{{{least},{most}}}?")


def _or_new_row(gap: Gap) -> Gap:
    """Return the gap, or the end of one row of a dump and the address of the next."""
    whole = r"(?: {2}[ -~]{1,18})?\r?\n[0-9a-fA-F]{6,8}:? {1,4}"
    begun = r"(?: {1,2}|  [ -~]{1,18})?\r?(?:\n[0-9a-fA-F]{0,8}:? {0,4})?"
    frugal = f"(?:{gap.frugal}|{whole})" if gap.frugal else ""
    return Gap(f"(?:{gap.whole}|{whole})", f"(?:{gap.begun}|{begun})", max(gap.longest, 35), frugal)


_NO_GAP = Gap()
_SIGNS = r" \t\r\n,:;_=.|\x22'\-"
_BETWEEN_HEX = _or_new_row(
    Gap(rf"[{_SIGNS}]{{0,12}}(?:0[xX]|\\{{1,2}}x|%)?", rf"[{_SIGNS}]{{0,12}}(?:0[xX]?|\\{{1,2}}x?|%)?", 15)
)
_BETWEEN_NUMBERS = _or_new_row(_some(r" \t\r\n,;", 12, least=1))
_BETWEEN_LETTERS = _or_new_row(_some(rf"{_SIGNS}/*+&\\", 8))
_BETWEEN_DIGITS = Gap(r"(?:\\r)?(?:\\n)?[ \t\r\n]{0,10}", r"(?:\\r)?(?:\\n)?(?:\\|[ \t\r\n]{0,10})", 14)
_REST_OF_ROW = Gap(r"(?:[ 0-9a-fA-F]{0,45}  [ -~]{1,18})?", r"[ 0-9a-fA-F]{0,47}[ -~]{0,18}", 65)
"""After the last byte of a value in a dump: the bytes after it, and the letters that the row stands for."""


# The forms of a value.

_ANY_BYTE = ("[0-9a-fA-F]", "[0-9a-fA-F]")
_LETTER_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f", "\v": "v", "\a": "a", "\0": "0", "\x1b": "e"}
_MORE_ESCAPES: dict[str, tuple[str, ...]] = {
    " ": ("+",),
    "\n": ("\r\n", " ", "%0d%0a", r"\r\n"),
    "'": ("'\"'\"'", r"'\''", "''", "&apos;"),
    '"': ('""', r"\\\""),
    "\\": (r"\\\\",),
    "$": ("$$",),
    "%": ("%%",),
}
"""For web forms, shells, tables and queries, and for a text in quotes inside of a text in quotes."""


def list_forms(value: str) -> list[Form]:
    """Return all forms of a value."""
    forms = [_spell(encode_value(value))]
    for text in sorted({value, value.strip()}):
        if len(text) >= _SHORT_LENGTH:
            forms += _list_forms_of_text(text)
    lines = {line.strip() for line in value.splitlines()} - {value}
    forms += [_spell(encode_value(line)) for line in sorted(lines) if len(line) >= _WORDY_LENGTH]
    return forms


def _list_forms_of_text(text: str) -> Iterator[Form]:
    content = encode_value(text)
    yield _make_form(text, _list_escapes)
    yield from map(_spell, _list_variants(text))
    if len(text) >= _WORDY_LENGTH:
        yield _make_form(text, _list_cases, gap=_BETWEEN_LETTERS)
    for dump in (list(map(_hex, content)), _dump_words(content), _dump_words(content, before=1)):
        yield _make_form(dump, lambda shown: [shown], gap=_BETWEEN_HEX, rest=_REST_OF_ROW)
    for numbers in ([f"{byte:03o}" for byte in content], [*map(str, content)], [str(ord(letter)) for letter in text]):
        yield _make_form(numbers, lambda number: [tuple(number)], gap=_BETWEEN_NUMBERS)
    yield from _write_digits(content, _BASE64)
    yield from _write_digits(content, _BASE32)


def _make_form(
    parts: Sequence[_T],
    list_ways: Callable[[_T], Iterable[tuple[str, ...]]],
    *,
    gap: Gap = _NO_GAP,
    rest: Gap = _NO_GAP,
) -> Form:
    """Return a form of parts, each with the ways to write it; equal parts share a unit."""
    ways = {part: tuple(sorted(set(list_ways(part)))) for part in set(parts)}
    units = {part: Unit(gap, ways[part]) for part in ways}
    longest = sum(count * (gap.longest + max(map(len, ways[part]))) for part, count in Counter(parts).items())
    last = [Unit(rest, ((),))] if rest.whole else []
    return Form([Unit(_NO_GAP, ways[parts[0]]), *(units[part] for part in parts[1:]), *last], longest + rest.longest)


def _spell(content: bytes) -> Form:
    return _make_form(content, lambda byte: [(_atom(byte),)])


def _list_variants(text: str) -> Iterator[bytes]:
    """Return texts that show the whole value, turned round or in other letters."""
    yield encode_value(text[::-1])
    yield text.encode("utf-16-le", "surrogatepass")
    yield text.encode("utf-16-be", "surrogatepass")
    if len(text) >= _WORDY_LENGTH:
        yield encode_value(text.upper())
        yield encode_value(text.lower())


def _list_escapes(letter: str) -> Iterator[tuple[str, ...]]:
    """Return the ways in which languages write a letter."""
    yield tuple(map(_atom, encode_value(letter)))
    escapes = [*_list_numbered_escapes(letter), *_MORE_ESCAPES.get(letter, ())]
    if letter in _LETTER_ESCAPES:
        escapes += [f"\\{_LETTER_ESCAPES[letter]}", f"\\\\{_LETTER_ESCAPES[letter]}"]
    if letter.isascii() and not letter.isalnum():
        escapes.append(f"\\{letter}")
    yield from (tuple(map(_atom_in_any_case, escape)) for escape in escapes)


def _list_numbered_escapes(letter: str) -> Iterator[str]:
    from html.entities import codepoint2name

    number, content = ord(letter), encode_value(letter)
    wide = letter.encode("utf-16-be", "surrogatepass").hex()
    for lead in ("%", "%25", "=", r"\x", r"\\x"):
        yield "".join(f"{lead}{byte:02x}" for byte in content)
    for lead in (r"\u", r"\\u"):
        yield "".join(lead + wide[at : at + 4] for at in range(0, len(wide), 4))
    yield "".join(rf"\{byte:03o}" for byte in content)
    yield from (rf"\x{number:02x}", rf"\u{{{number:x}}}", rf"\U{number:08x}")
    yield from (f"&#{number};", f"&#{number:03};", f"&#x{number:x};")
    if number in codepoint2name:
        yield f"&{codepoint2name[number]};"


def _list_cases(letter: str) -> Iterator[tuple[str, ...]]:
    """Return a letter in both cases, or as programs show one that cannot be seen."""
    for variant in (letter, letter.upper(), letter.lower()):
        yield tuple(map(_atom, encode_value(variant)))
    if letter in _LETTER_ESCAPES:
        yield tuple(map(_atom_in_any_case, f"\\{_LETTER_ESCAPES[letter]}"))


def _dump_words(content: bytes, *, before: int = 0) -> list[tuple[str, ...]]:
    """Return the bytes as a dump of words shows them, the second byte of each word first."""
    shown = [_ANY_BYTE] * before + [*map(_hex, content)]
    shown += [_ANY_BYTE] * (len(shown) % 2)
    return [second + first for first, second in zip(shown[::2], shown[1::2], strict=True)]


class _Digits(NamedTuple):
    """The digits of an encoding, each with the ways to write it, and what may follow the last."""

    width_bits: int
    ways: tuple[tuple[tuple[str, ...], ...], ...]
    ends: tuple[tuple[str, ...], ...]

    def list_ways(self, bits: str) -> Iterator[tuple[str, ...]]:
        """Return how to write the bits of one digit, with or without a digit next to it of which some are unknown."""
        groups = _group(bits, self.width_bits)
        own = next(group for group in groups if "?" not in group)
        leads = [(self._match_partly(groups[0]),)] if "?" in groups[0] else []
        ends = [(self._match_partly(groups[-1]), *end) for end in self.ends] if "?" in groups[-1] else []
        for way in self.ways[int(own, 2)]:
            yield from ((*lead, *way, *end) for lead in ((), *leads) for end in ((), *ends))

    def _match_partly(self, bits: str) -> str:
        numbers = [f"{number:0{self.width_bits}b}" for number in range(len(self.ways))]
        fits = [all(known in {"?", bit} for known, bit in zip(bits, number, strict=True)) for number in numbers]
        return f"(?:{'|'.join(ways[0][0] for ways, fit in zip(self.ways, fits, strict=True) if fit)})"


def _group(bits: str, width: int) -> list[str]:
    return [bits[at : at + width] for at in range(0, len(bits), width)]


def _write_digits(content: bytes, digits: _Digits) -> Iterator[Form]:
    """Return the bytes in these digits, for each way in which they can lie among other bytes.

    Digits that the bytes alone determine must be there; those that they share with others are taken along.
    """
    width = digits.width_bits
    bits = f"{int.from_bytes(content, 'big'):0{8 * len(content)}b}"
    for before in range(math.lcm(8, width) // 8):
        known = "?" * (8 * before % width) + bits
        groups = _group(known + "?" * (-len(known) % width), width)
        if "?" in groups[0]:
            groups[:2] = ["".join(groups[:2])]
        if "?" in groups[-1]:
            groups[-2:] = ["".join(groups[-2:])]
        yield _make_form(groups, digits.list_ways, gap=_BETWEEN_DIGITS)


def _atom(byte: int) -> str:
    """Return a pattern for one byte."""
    return chr(byte) if byte < 128 and chr(byte).isalnum() else f"\\x{byte:02x}"


def _atom_in_any_case(sign: str) -> str:
    return f"[{sign.lower()}{sign.upper()}]" if sign.isalpha() and sign.isascii() else _atom(ord(sign))


def _hex(byte: int) -> tuple[str, ...]:
    return tuple(map(_atom_in_any_case, f"{byte:02x}"))


def _padding(most: int) -> tuple[tuple[str, ...], ...]:
    return tuple(sign * count for sign in (("=",), ("%", "3", "[dD]")) for count in range(most + 1))


_LATIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BASE64 = _Digits(
    6,
    (
        *(((digit,),) for digit in f"{_LATIN}{_LATIN.lower()}0123456789"),
        ((r"[+\-]",), ("%", "2", "[bB]")),
        (("[/_]",), (r"\\", "/"), ("%", "2", "[fF]")),
    ),
    _padding(2),
)
_BASE32 = _Digits(5, tuple(((_atom_in_any_case(digit),),) for digit in f"{_LATIN}234567"), _padding(6))
