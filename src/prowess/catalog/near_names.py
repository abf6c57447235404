"""What was probably meant by a name that nobody has, in time that a person does not notice."""

from collections.abc import Collection, Iterator, Sequence
from heapq import nsmallest
from itertools import islice

__all__ = ["find_near_names"]

_MOST = 3
_ALIKE = 0.6
_MAX_COMPARED = 300
"""Names that are compared letter by letter."""
_LONGEST = 256
"""Characters beyond which a name is not taken for a slip."""
_PIECES = 4
"""Two slips leave half of so many pieces whole."""


def find_near_names(name: str, *, names: Collection[str], ids: Collection[str]) -> list[str]:
    """Return the few names or ids that are most alike, in large letters or small, the nearest first.

    Where there are more than can be compared letter by letter, only those that share a piece with the name are, and of
    ids only if the name looks like one.
    """
    import difflib  # Wanted only when something was not found.

    if not name or len(name) > _LONGEST:
        return []
    name = name.casefold()
    known: Sequence[str] = [*names, *ids]
    if len(known) > _MAX_COMPARED:
        known = list(islice(_find_likely(name, ids if ":" in name else names), _MAX_COMPARED))
    folded: dict[str, list[str]] = {}
    for one in known:
        folded.setdefault(one.casefold(), []).append(one)
    near = difflib.get_close_matches(name, folded, n=_MOST, cutoff=_ALIKE)
    return [one for key in near for one in folded[key]][:_MOST]


def _find_likely(name: str, known: Collection[str]) -> Iterator[str]:
    """Return the names that share pieces with this one: most pieces first, and then the most alike in length."""
    rest = name.rpartition(":")[2]  # What stands before it, many ids have.
    size = max(1, -(-len(rest) // _PIECES))
    first, second, third, fourth = (rest[at * size : (at + 1) * size] or rest[-size:] for at in range(_PIECES))
    sharing: tuple[list[str], ...] = ([], [], [], [], [])
    for one in known:
        folded = one.casefold()
        sharing[(first in folded) + (second in folded) + (third in folded) + (fourth in folded)].append(one)
    for group in reversed(sharing[1:]):
        yield from nsmallest(_MAX_COMPARED, group, key=lambda one: abs(len(one) - len(name)))
