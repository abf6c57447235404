r"""Put the arguments of an invocation into the instructions.

`$ARGUMENTS` stands for all of them, `$1` for the first word, `$name` for the word of a declared argument; `${…}` is the
same where letters follow. `\$` is a plain `$`. What is put in is not looked at again. Instructions without any such
place are never changed, so that `\$HOME` in their examples stays what it is.
"""

import re
from collections.abc import Mapping, Sequence

__all__ = ["MAX_ADDED_CHARACTERS", "MAX_POSITION", "split_arguments", "substitute_arguments"]

MAX_POSITION = 99
"""The last `$n` that means a word: `$100` is a price."""
MAX_ADDED_CHARACTERS = 1_000_000
"""What arguments may add to the instructions; further places stay empty."""

_ALL = "ARGUMENTS"
_DOLLAR = re.compile(r"(?P<escape>\\)?\$(?:\{(?P<braced>[\w-]++)\}|(?P<bare>\w++(?:-\w++)*+))?")
_PIECE = re.compile(
    r"""
    (?P<blank>[ \t\r\n]++)
    | (?P<plain>[^ \t\r\n'"\\]++)
    | '(?P<single>[^']*+)'
    | "(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*+)"
    | \\(?P<escaped>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPED_IN_QUOTES = re.compile(r'\\(["\\])')


def substitute_arguments(body: str, arguments: str, *, names: Sequence[str] = ()) -> str:
    """Return the instructions with the arguments in their places; a word that was not given is empty.

    Arguments that no place has taken up are added as a last line. `names` are the declared arguments in their order.
    """
    given = arguments.strip()
    places = _number_places(names)
    longest = max(map(len, places))
    values: dict[int, str] = {}
    used = False
    room = MAX_ADDED_CHARACTERS

    def fill(dollar: re.Match[str]) -> str:
        nonlocal used, room
        place = _find_place(dollar, places, longest)
        if dollar["escape"] or place is None:
            return dollar[0].removeprefix("\\")
        if not values:
            values.update(enumerate((given, *split_arguments(given))))
        used = used or places[place] in values
        rest = "" if dollar["bare"] is None else dollar["bare"].removeprefix(place)
        value = values.get(places[place], "")[: max(room, 0)]
        room -= len(value)
        return value + rest

    if any(_find_place(dollar, places, longest) for dollar in _DOLLAR.finditer(body)):
        body = _DOLLAR.sub(fill, body)
    if used or not given:
        return body
    line_break = "" if not body or body.endswith("\n") else "\n"
    return f"{body}{line_break}{_ALL}: {given}"


def split_arguments(text: str) -> list[str]:
    """Return the words of the text as a shell divides them; if its quotes do not close, as blanks do."""
    words: list[list[str]] = []
    inside = False
    position = 0
    while position < len(text):
        piece = _PIECE.match(text, position)
        if piece is None:
            return text.split()
        position = piece.end()
        if piece.lastgroup == "blank":
            inside = False
            continue
        if not inside:
            words.append([])
            inside = True
        words[-1].append(_read_piece(piece))
    return ["".join(parts) for parts in words]


def _read_piece(piece: re.Match[str]) -> str:
    if piece.lastgroup == "double":
        return _ESCAPED_IN_QUOTES.sub(r"\1", piece["double"])
    return piece[piece.lastgroup or 0]


def _number_places(names: Sequence[str]) -> dict[str, int]:
    """Return what each place stands for: the word of this number, and 0 for all of them."""
    named = {name: number for number, name in reversed([*enumerate(names, start=1)]) if name}
    numbered = {str(number): number for number in range(1, MAX_POSITION + 1)}
    return named | numbered | {_ALL: 0}


def _find_place(dollar: re.Match[str], places: Mapping[str, int], longest: int) -> str | None:
    """Return the place that is meant after the sign. Names may have hyphens: `$a-b` is `a-b`, or else `a` and `-b`."""
    braced, bare = dollar["braced"], dollar["bare"]
    if braced is not None:
        return braced if braced in places else None
    if bare is None or bare in places:
        return bare
    found, end = None, bare.find("-")
    while 0 <= end <= longest:
        found = bare[:end] if bare[:end] in places else found
        end = bare.find("-", end + 1)
    return found
