"""The media type that the name of a file suggests, the same on every machine."""

import posixpath
from functools import cache

__all__ = ["BINARY", "PLAIN_TEXT", "name_type"]

BINARY = "application/octet-stream"
PLAIN_TEXT = "text/plain"

_BY_SUFFIX = {
    ".gz": "application/gzip",
    ".json": "application/json",
    ".md": "text/markdown",
    ".toml": "application/toml",
    ".ts": PLAIN_TEXT,
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
"""Where Python's own table says nothing, or takes TypeScript for a film."""


def name_type(path: str) -> str:
    """Return the type that a name suggests, of a file that nobody has opened."""
    suffix = posixpath.splitext(path)[1].lower()
    return _BY_SUFFIX.get(suffix) or _common_types().get(suffix, BINARY)


@cache
def _common_types() -> dict[str, str]:
    """Return Python's own table, without what this machine adds to it."""
    import mimetypes

    return dict(mimetypes.MimeTypes().types_map[True])
