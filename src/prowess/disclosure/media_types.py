"""The media type of a resource, by its first bytes and its name, the same on every machine."""

from prowess.sources.name_types import BINARY, PLAIN_TEXT, name_type

__all__ = ["BINARY", "PLAIN_TEXT", "binary_type", "name_type", "text_type"]

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
_KNOWN_BY_MAGIC = frozenset({"image/webp", *(kind for _, kind in _MAGIC)})
_TEXTUAL = ("text/", "application/json", "application/toml", "application/yaml", "application/xml")


def text_type(path: str, start: str) -> str:
    """Return the type of a text that begins with `start`; plain text if the name says nothing better."""
    kind = name_type(path)
    if kind == "image/svg+xml":
        return kind if "<svg" in start else PLAIN_TEXT
    return kind if kind.startswith(_TEXTUAL) or kind.endswith(("+xml", "+json")) else PLAIN_TEXT


def binary_type(path: str, start: bytes) -> str:
    """Return the type of bytes that are no text. A picture is only what begins like one, whatever its name."""
    for magic, kind in _MAGIC:
        if start.startswith(magic):
            return kind
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "image/webp"
    kind = name_type(path)
    return BINARY if kind.startswith(_TEXTUAL) or kind in _KNOWN_BY_MAGIC else kind
