"""The manners of a text that others have written: a byte-order mark, and the line ends of Windows.

Whoever changes it does so without them, and they stay.
"""

__all__ = ["make_like", "make_plain"]

_MARK = "\ufeff"


def make_plain(text: str) -> str:
    """Return a text without a byte-order mark, and with plain line ends where all that it has are those of Windows."""
    text = text.removeprefix(_MARK)
    return text.replace("\r\n", "\n") if _is_of_windows(text) else text


def make_like(model: str, plain: str) -> str:
    """Return a plain text with the manners of the one that it was made of."""
    text = plain.replace("\n", "\r\n") if _is_of_windows(model) else plain
    return _MARK + text if model.startswith(_MARK) else text


def _is_of_windows(text: str) -> bool:
    return "\n" in text and text.count("\n") == text.count("\r\n")
