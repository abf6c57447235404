"""Lists that are sent page by page."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from prowess.surfaces.mcp.faults import no_such

__all__ = ["cut_page", "fill_page"]

_T = TypeVar("_T")
_U = TypeVar("_U")
_MAX_DIGITS = 9


def cut_page(items: Sequence[_T], cursor: str | None, *, size: int) -> tuple[Sequence[_T], str | None]:
    """Return the items of a page, and the cursor of the next; None at the end."""
    begin = _read_cursor(cursor)
    end = begin + size
    return items[begin:end], str(end) if end < len(items) else None


def fill_page(
    items: Sequence[_T], cursor: str | None, *, make: Callable[[_T], Sequence[_U]], size: int
) -> tuple[list[_U], str | None]:
    """Return what is made of as many items as fill a page, each of them whole, and the cursor of the next."""
    found: list[_U] = []
    for index in range(_read_cursor(cursor), len(items)):
        if len(found) >= size:
            return found, str(index)
        found += make(items[index])
    return found, None


def _read_cursor(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= _MAX_DIGITS):
        raise no_such("the cursor is none that this server gave; begin anew without one")
    return int(cursor)
