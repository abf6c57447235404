"""Take secrets out of what a run says, in every form that a person would think of.

A value has many forms (`secret_forms`). RE2 searches for all of them at once, in linear time.
"""

import importlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

from prowess.errors import WorldError
from prowess.execution.secrecy.secret_forms import Unit, encode_value, list_forms

__all__ = ["Redactor", "StreamRedactor"]

_HEAD_UNITS = 8
"""How much of each form is looked for everywhere."""
_SHORT_UNITS = 128
"""How much of a form one pattern holds; most secrets are shorter than that."""
_MAX_STEPS = 2_000_000
"""That a search for one secret may take in all, besides RE2's; they take some seconds."""
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
        content = encode_value(text)
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

    __slots__ = ("_beginnings", "_heads", "_long", "_long_heads", "_longest", "_patience", "_short")

    def __init__(self, value: str) -> None:
        forms = list_forms(value)
        heads = [form.units[:_HEAD_UNITS] for form in forms]
        self._heads = _Pattern("|".join("".join(map(_render, head)) for head in heads))
        self._beginnings = _Pattern(rf"(?:{'|'.join(map(_render_begun, heads))})\z")
        short = [form.units for form in forms if len(form.units) <= _SHORT_UNITS]
        self._short = _Pattern("|".join("".join(map(_render, units)) for units in short)) if short else None
        self._long = [_Walk(form.units) for form in forms if len(form.units) > _SHORT_UNITS]
        long = [form.units[:_SHORT_UNITS] for form in forms if len(form.units) > _SHORT_UNITS]
        self._long_heads = _Pattern("|".join("".join(map(_render, units)) for units in long)) if long else None
        self._longest = max(form.longest for form in forms)
        self._patience = _MAX_STEPS

    def find(self, content: bytes, *, is_whole: bool) -> _Look:
        """Return for each place where a form begins the longest one; overlapping ones too."""
        certain = len(content) if is_whole else self._find_certain(content)
        spans: list[tuple[int, int]] = []
        start = self._heads.search(content, 0)
        while start is not None and start < certain:
            if self._patience <= 0:  # Somebody makes it look like a secret all over: then it counts as one.
                return _Look([*spans, (start, len(content))], len(content))
            if end := self._find_end(content, start):
                spans.append((start, end))
            start = self._heads.search(content, start + 1)
        return _Look(spans, certain)

    def _find_end(self, content: bytes, start: int) -> int | None:
        """Return where the longest form that begins at a place ends."""
        ends = [self._short.match(content, start)] if self._short else []
        self._patience -= 1
        if self._long_heads is not None and self._long_heads.match(content, start) is not None:
            for walk in self._long:
                end, steps = walk.find_end(content, start)
                ends.append(end)
                self._patience -= steps
        return max(filter(None, ends), default=None)

    def _find_certain(self, content: bytes) -> int:
        """Return the first place where the content may be the beginning of a form that goes on behind its end."""
        tail = max(0, len(content) - self._longest)
        begun = self._heads.search(content, tail)
        end = content[-self._longest :]
        place = self._beginnings.search(end, 0)
        just_begun = len(content) if place is None else len(content) - len(end) + place
        return just_begun if begun is None else min(begun, just_begun)


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

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self._steps: dict[int, list[re.Pattern[bytes]]] = {}
        """Patterns by the identity of a unit, of which there are few."""

    def find_end(self, content: bytes, start: int) -> tuple[int | None, int]:
        """Return where the form ends that begins at a place, None if it does not, and how many steps were taken."""
        places = [start]
        for number, unit in enumerate(self._units):
            steps = self._steps.get(id(unit)) or self._steps.setdefault(id(unit), _compile_steps(unit))
            found = (step.match(content, place) for place in places for step in steps)
            places = sorted({match.end() for match in found if match})[:_MAX_PLACES]
            if not places:
                return None, number
        return places[-1], len(self._units)


def _compile_steps(unit: Unit) -> list[re.Pattern[bytes]]:
    """Return one pattern for a unit if it is plain where it ends, else one for each way to write it."""
    ways = sorted(map("".join, unit.ways))
    if not any(after.startswith(before) for before, after in pairwise(ways)):
        ways = [f"(?:{'|'.join(ways)})"]
    gaps = dict.fromkeys((unit.gap.whole, unit.gap.frugal or unit.gap.whole))
    return [re.compile(f"{gap}{way}".encode("ascii")) for gap in gaps for way in ways]


def _render(unit: Unit) -> str:
    return f"{unit.gap.whole}(?:{'|'.join(map(''.join, unit.ways))})"


def _render_begun(units: Sequence[Unit]) -> str:
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


def _decode(content: bytes) -> str:
    try:
        return content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return content.decode("utf-8", "surrogateescape")
