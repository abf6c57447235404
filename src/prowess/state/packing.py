"""Any text as text that every database takes, and back.

Names on disk need not be text, and a model may write half a surrogate pair or a zero character, which PostgreSQL has no
place for. Such a text is kept by its bytes, behind a mark.
"""

from collections.abc import Iterable

from prowess.sources.source import is_text
from prowess.state.database import Row

__all__ = ["pack", "pack_texts", "unpack", "unpack_texts"]

_BYTES = "bytes:"
"""Marks text whose odd characters stand for the bytes of a name on disk."""
_UNITS = "utf-16:"
"""Marks text that not even that can express."""


def pack(*values: object) -> tuple[object, ...]:
    """Return the values of a row as a database takes them."""
    return tuple(_pack_text(value) if isinstance(value, str) else value for value in values)


def unpack(row: Row) -> Row:
    """Return a row's values as they were given to `pack`."""
    return tuple(_unpack_text(value) if isinstance(value, str) else value for value in row)


def pack_texts(texts: Iterable[str]) -> str:
    """Return several texts as one."""
    import msgspec

    return msgspec.json.encode(pack(*texts)).decode()


def unpack_texts(text: str) -> tuple[str, ...]:
    """Return the texts that `pack_texts` was given."""
    import msgspec

    return unpack(msgspec.json.decode(text, type=tuple[str, ...]))


def _pack_text(text: str) -> str:
    if is_text(text) and "\0" not in text and not text.startswith((_BYTES, _UNITS)):
        return text
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = b""
    if raw.decode("utf-8", "surrogateescape") == text:
        return _BYTES + raw.hex()
    return _UNITS + text.encode("utf-16-be", "surrogatepass").hex()


def _unpack_text(text: str) -> str:
    if text.startswith(_BYTES):
        return bytes.fromhex(text.removeprefix(_BYTES)).decode("utf-8", "surrogateescape")
    if text.startswith(_UNITS):
        return bytes.fromhex(text.removeprefix(_UNITS)).decode("utf-16-be", "surrogatepass")
    return text
