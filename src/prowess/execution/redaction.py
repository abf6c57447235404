"""Take secrets out of what a run says, in every form that a person would think of.

A value has many forms: as it is, escaped for one language or another, in base64, as a dump. Each is a row of units, and
a unit is what one letter or byte may look like, with what may stand before it. RE2 searches for all forms of a value at
once, in linear time.
"""

import importlib
import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from prowess.errors import WorldError

__all__ = ["Redactor", "StreamRedactor"]

_T = TypeVar("_T", bound=Hashable)

_SHORT_LENGTH = 4
"""A value with fewer characters is looked for only as it is; other forms would be found everywhere by chance."""
_WORDY_LENGTH = 8
"""Of a line that counts alone, and of a value that is found in any case and with signs between its letters."""
_HEAD_UNITS = 8
"""How much of each form is looked for everywhere."""
_SHORT_UNITS = 128
"""How much of a form one pattern holds; most secrets are shorter than that."""
_MAX_PLACES = 16
"""Where a walk through a long form may stand at once, if a text can be read in several ways."""
_MAX_MEMORY = 1 << 26
"""For the tables of one pattern, where a text needs so much."""
_PATIENCE = 16
"""What is held back is looked at again once it has grown by this part of it."""


class Redactor:
    """Knows the values, and puts `[secret NAME]` in the place of each.

    Every match counts, however they overlap: what any of them covers is taken out. Where several secrets cover one
    stretch, they are named from left to right and the longest first, but for those that add nothing to it.
    """

    __slots__ = ("_finders", "_names")

    def __init__(self, values: Mapping[str, str]) -> None:
        kept = {name: value for name, value in values.items() if value}
        self._names = tuple(kept)
        self._finders = tuple(map(_Finder, kept.values()))

    def redact(self, content: bytes) -> bytes:
        """Return the content without secrets."""
        return self.stream().finish(content)

    def redact_text(self, text: str) -> str:
        """Return the text without secrets."""
        content = _encode(text)
        redacted = self.redact(content)
        return text if redacted == content else _decode(redacted)

    def found(self, content: bytes) -> tuple[str, ...]:
        """Return the names of the secrets that the content holds."""
        pairs = zip(self._names, self._finders, strict=True)
        return tuple(name for name, finder in pairs if finder.find(content, is_whole=True).spans)

    def stream(self) -> "StreamRedactor":
        """Return what redacts content that comes in parts."""
        return StreamRedactor([f"[secret {name}]".encode() for name in self._names], self._finders)


class StreamRedactor:
    """Redacts content as it comes. All that it returns, put together, is what `redact` makes of the whole.

    It holds back only what may be the beginning of a secret, and so never much more than the longest form of one.
    """

    __slots__ = ("_covered", "_finders", "_held", "_labels", "_shown", "_unread", "_unread_bytes")

    def __init__(self, labels: Sequence[bytes], finders: Sequence["_Finder"]) -> None:
        self._labels = labels
        self._finders = finders
        self._held = b""
        self._unread: list[bytes] = []
        """Parts that came while much was held, and were not looked at yet."""
        self._unread_bytes = 0
        self._covered = 0
        """Up to where in what is held a secret reaches that was already named."""
        self._shown: set[bytes] = set()
        """The labels that were put in its place."""

    def feed(self, part: bytes) -> bytes:
        """Take the next part, and return what is certain by now."""
        self._unread.append(part)
        self._unread_bytes += len(part)
        if self._unread_bytes * _PATIENCE < len(self._held):
            return b""
        return self._advance(is_whole=False)

    def finish(self, part: bytes = b"") -> bytes:
        """Take the last part, and return all that is left."""
        self._unread.append(part)
        return self._advance(is_whole=True)

    def _advance(self, *, is_whole: bool) -> bytes:
        content = b"".join([self._held, *self._unread])
        self._unread, self._unread_bytes = [], 0
        looks = [finder.find(content, is_whole=is_whole) for finder in self._finders]
        certain = min((look.certain for look in looks), default=len(content))
        spans = [(start, -end, place) for place, look in enumerate(looks) for start, end in look.spans]
        said = b"".join(self._say(content, sorted(span for span in spans if span[0] < certain), certain))
        self._held = content[certain:]
        self._covered -= certain
        return said

    def _say(self, content: bytes, spans: Iterable[tuple[int, int, int]], certain: int) -> Iterator[bytes]:
        for start, negative_end, place in spans:
            if start >= self._covered:
                yield content[self._covered : start]
                self._shown.clear()
            elif -negative_end <= self._covered:
                continue
            if self._labels[place] not in self._shown:
                self._shown.add(self._labels[place])
                yield self._labels[place]
            self._covered = -negative_end
        if self._covered < certain:
            yield content[self._covered : certain]
            self._covered = certain


class _Look(NamedTuple):
    """What was found of one secret."""

    spans: list[tuple[int, int]]
    certain: int
    """Before this place, what follows the content can change nothing."""


class _Finder:
    """Finds one value in all its forms.

    RE2 looks for how any form begins. From there, it tries those of usual length all at once; longer ones would make
    its tables too large, and are walked through unit by unit.
    """

    __slots__ = ("_beginnings", "_heads", "_long", "_longest", "_short")

    def __init__(self, value: str) -> None:
        forms = _list_forms(value)
        heads = [form.units[:_HEAD_UNITS] for form in forms]
        self._heads = _Pattern("|".join("".join(map(_render, head)) for head in heads))
        self._beginnings = _Pattern(rf"(?:{'|'.join(map(_render_begun, heads))})\z")
        short = [form.units for form in forms if len(form.units) <= _SHORT_UNITS]
        self._short = _Pattern("|".join("".join(map(_render, units)) for units in short)) if short else None
        self._long = [_Walk(form.units) for form in forms if len(form.units) > _SHORT_UNITS]
        self._longest = max(form.longest for form in forms)

    def find(self, content: bytes, *, is_whole: bool) -> _Look:
        """Return for each place where a form begins the longest one; overlapping ones too."""
        certain = len(content) if is_whole else self._find_certain(content)
        spans: list[tuple[int, int]] = []
        start = self._heads.search(content, 0)
        while start is not None and start < certain:
            ends = [walk.find_end(content, start) for walk in self._long]
            if self._short:
                ends.append(self._short.match(content, start))
            if end := max(filter(None, ends), default=None):
                spans.append((start, end))
            start = self._heads.search(content, start + 1)
        return _Look(spans, certain)

    def _find_certain(self, content: bytes) -> int:
        """Return the first place where the content may be the beginning of a form that goes on behind its end."""
        tail = max(0, len(content) - self._longest)
        begun = self._heads.search(content, tail)
        end = content[-self._longest :]
        place = self._beginnings.search(end, 0)
        just_begun = len(content) if place is None else len(content) - len(end) + place
        return just_begun if begun is None else min(begun, just_begun)


class _Gap(NamedTuple):
    """What may stand between two units."""

    whole: str = ""
    begun: str = ""
    """All of it, or its beginning."""
    longest: int = 0
    frugal: str = ""
    """The whole, but no more than will do; given where what follows may look the same."""


class _Unit(NamedTuple):
    """One letter or byte of a value, with each way to write it as patterns of single bytes."""

    gap: _Gap
    ways: tuple[tuple[str, ...], ...]


class _Form(NamedTuple):
    """One way to write a value."""

    units: list[_Unit]
    longest: int
    """In bytes."""


class _Pattern:
    """A pattern, compiled when it is first needed."""

    __slots__ = ("_compiled", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._compiled: Any = None

    def search(self, content: bytes, start: int) -> int | None:
        found = self._compile().search(content, start)
        return found.start() if found else None

    def match(self, content: bytes, start: int) -> int | None:
        found = self._compile().match(content, start)
        return found.end() if found else None

    def _compile(self) -> Any:
        """Compile it once. Nothing of it may be kept or told by others: not by RE2's log, its cache, or an error."""
        if self._compiled is not None:
            return self._compiled
        re2: Any = importlib.import_module("re2")
        options = re2.Options()
        options.encoding = re2.Options.Encoding.LATIN1
        options.longest_match = True
        options.never_capture = True
        options.log_errors = False
        options.max_mem = _MAX_MEMORY
        with suppress(re2.error):  # It may quote the pattern, so that nothing is raised from it.
            self._compiled = re2.compile(self._text.encode("ascii"), options)
        re2.purge()
        if self._compiled is None:
            raise WorldError("a secret is too complex to be found in output", code="secret-too-complex")
        return self._compiled


class _Walk:
    """Follows a long form through a text."""

    __slots__ = ("_steps", "_units")

    def __init__(self, units: Sequence[_Unit]) -> None:
        self._units = units
        self._steps: dict[int, list[re.Pattern[bytes]]] = {}
        """Patterns by the identity of a unit, of which there are few."""

    def find_end(self, content: bytes, start: int) -> int | None:
        places = [start]
        for unit in self._units:
            steps = self._steps.get(id(unit)) or self._steps.setdefault(id(unit), _compile_steps(unit))
            found = (step.match(content, place) for place in places for step in steps)
            places = sorted({match.end() for match in found if match})[:_MAX_PLACES]
            if not places:
                return None
        return places[-1]


def _compile_steps(unit: _Unit) -> list[re.Pattern[bytes]]:
    """Return one pattern for a unit if it is plain where it ends, else one for each way to write it."""
    ways = sorted(map("".join, unit.ways))
    if not any(after.startswith(before) for before, after in pairwise(ways)):
        ways = [f"(?:{'|'.join(ways)})"]
    gaps = dict.fromkeys((unit.gap.whole, unit.gap.frugal or unit.gap.whole))
    return [re.compile(f"{gap}{way}".encode("ascii")) for gap in gaps for way in ways]


def _render(unit: _Unit) -> str:
    return f"{unit.gap.whole}(?:{'|'.join(map(''.join, unit.ways))})"


def _render_begun(units: Sequence[_Unit]) -> str:
    """Return a pattern for all beginnings of some units, the whole included."""
    pattern = ""
    for gap, ways in reversed(units):
        begun = [*filter(None, map(_render_cut_short, ways)), f"(?:{'|'.join(map(''.join, ways))}){pattern}"]
        pattern = f"(?:{gap.begun}|{gap.whole}(?:{'|'.join(begun)}))"
    return pattern


def _render_cut_short(way: Sequence[str]) -> str:
    """Return a pattern for the beginnings of a way to write a unit; empty if it is a single byte."""
    pattern = ""
    for atom in reversed(way[:-1]):
        pattern = f"{atom}(?:{pattern})?" if pattern else atom
    return pattern


def _encode(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _decode(content: bytes) -> str:
    try:
        return content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return content.decode("utf-8", "surrogateescape")


# What may stand between units.


def _some(signs: str, most: int, *, least: int = 0) -> _Gap:
    return _Gap(f"[{signs}]{{{least},{most}}}", f"[{signs}]{{0,{most}}}", most, f"[{signs}]{{{least},{most}}}?")


def _or_new_row(gap: _Gap) -> _Gap:
    """Return the gap, or the end of one row of a dump and the address of the next."""
    whole = r"(?: {2}[ -~]{1,18})?\r?\n[0-9a-fA-F]{6,8}:? {1,4}"
    begun = r"(?: {1,2}|  [ -~]{1,18})?\r?(?:\n[0-9a-fA-F]{0,8}:? {0,4})?"
    frugal = f"(?:{gap.frugal}|{whole})" if gap.frugal else ""
    return _Gap(f"(?:{gap.whole}|{whole})", f"(?:{gap.begun}|{begun})", max(gap.longest, 35), frugal)


_NO_GAP = _Gap()
_SIGNS = r" \t\r\n,:;_=.|\x22'\-"
_BETWEEN_HEX = _or_new_row(
    _Gap(rf"[{_SIGNS}]{{0,12}}(?:0[xX]|\\{{1,2}}x|%)?", rf"[{_SIGNS}]{{0,12}}(?:0[xX]?|\\{{1,2}}x?|%)?", 15)
)
_BETWEEN_NUMBERS = _or_new_row(_some(r" \t\r\n,;", 12, least=1))
_BETWEEN_LETTERS = _or_new_row(_some(rf"{_SIGNS}/*+&\\", 8))
_BETWEEN_DIGITS = _Gap(r"(?:\\r)?(?:\\n)?[ \t\r\n]{0,10}", r"(?:\\r)?(?:\\n)?(?:\\|[ \t\r\n]{0,10})", 14)
_REST_OF_ROW = _Gap(r"(?:[ 0-9a-fA-F]{0,45}  [ -~]{1,18})?", r"[ 0-9a-fA-F]{0,47}[ -~]{0,18}", 65)
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


def _list_forms(value: str) -> list[_Form]:
    """Return all forms of a value."""
    forms = [_spell(_encode(value))]
    for text in sorted({value, value.strip()}):
        if len(text) >= _SHORT_LENGTH:
            forms += _list_forms_of_text(text)
    lines = {line.strip() for line in value.splitlines()} - {value}
    forms += [_spell(_encode(line)) for line in sorted(lines) if len(line) >= _WORDY_LENGTH]
    return forms


def _list_forms_of_text(text: str) -> Iterator[_Form]:
    content = _encode(text)
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
    gap: _Gap = _NO_GAP,
    rest: _Gap = _NO_GAP,
) -> _Form:
    """Return a form of parts, each with the ways to write it; equal parts share a unit."""
    ways = {part: tuple(sorted(set(list_ways(part)))) for part in set(parts)}
    units = {part: _Unit(gap, ways[part]) for part in ways}
    longest = sum(count * (gap.longest + max(map(len, ways[part]))) for part, count in Counter(parts).items())
    last = [_Unit(rest, ((),))] if rest.whole else []
    return _Form([_Unit(_NO_GAP, ways[parts[0]]), *(units[part] for part in parts[1:]), *last], longest + rest.longest)


def _spell(content: bytes) -> _Form:
    return _make_form(content, lambda byte: [(_atom(byte),)])


def _list_variants(text: str) -> Iterator[bytes]:
    """Return texts that show the whole value, turned round or in other letters."""
    yield _encode(text[::-1])
    yield text.encode("utf-16-le", "surrogatepass")
    yield text.encode("utf-16-be", "surrogatepass")
    if len(text) >= _WORDY_LENGTH:
        yield _encode(text.upper())
        yield _encode(text.lower())


def _list_escapes(letter: str) -> Iterator[tuple[str, ...]]:
    """Return the ways in which languages write a letter."""
    yield tuple(map(_atom, _encode(letter)))
    escapes = [*_list_numbered_escapes(letter), *_MORE_ESCAPES.get(letter, ())]
    if letter in _LETTER_ESCAPES:
        escapes += [f"\\{_LETTER_ESCAPES[letter]}", f"\\\\{_LETTER_ESCAPES[letter]}"]
    if letter.isascii() and not letter.isalnum():
        escapes.append(f"\\{letter}")
    yield from (tuple(map(_atom_in_any_case, escape)) for escape in escapes)


def _list_numbered_escapes(letter: str) -> Iterator[str]:
    from html.entities import codepoint2name

    number, content = ord(letter), _encode(letter)
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
        yield tuple(map(_atom, _encode(variant)))
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


def _write_digits(content: bytes, digits: _Digits) -> Iterator[_Form]:
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
