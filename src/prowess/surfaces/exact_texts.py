"""Files as texts, where they are texts."""

__all__ = ["find_exact_text"]


def find_exact_text(raw: bytes) -> str | None:
    """Return bytes as the text that has these very bytes in UTF-8; None if there is none."""
    if b"\0" in raw:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None
