"""Bytes that others wrote, as answers that no browser takes for anything but bytes or a plain picture."""

from urllib.parse import quote

from starlette.responses import Response

from prowess.errors import Refused

__all__ = ["dispose", "find_picture_type", "make_attachment", "make_picture"]

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
}
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_LONGEST_NAME = 150


def find_picture_type(raw: bytes) -> str:
    """Return the type of a picture made of dots, by its first bytes; empty for everything else."""
    for magic, kind in _MAGIC:
        if raw.startswith(magic):
            return kind
    return "image/webp" if raw.startswith(b"RIFF") and raw[8:12] == b"WEBP" else ""


def make_attachment(raw: bytes, name: str, *, media: str = "application/octet-stream") -> Response:
    """Return bytes to be saved under a name, whatever they are."""
    return Response(raw, media_type=media, headers={**_HEADERS, "Content-Disposition": dispose(name)})


def make_picture(raw: bytes) -> Response:
    """Return a picture to be shown. What is none is refused: SVG and HTML could act."""
    kind = find_picture_type(raw)
    if not kind:
        hint = "PNG, JPEG, GIF and WebP are; leave `as` out to save the file"
        raise Refused("this file is not a picture that is shown", hint=hint, code="not-a-picture")
    return Response(raw, media_type=kind, headers={**_HEADERS, "Content-Disposition": "inline"})


def dispose(name: str) -> str:
    """Return the header of RFC 6266 for a name: in ASCII for old programs, and as it is for all others."""
    last = name.rpartition("/")[2]
    shown = "".join(sign if sign.isprintable() and sign not in '\\/:*?"<>|' else "_" for sign in last)
    shown = shown[-_LONGEST_NAME:].strip(" .") or "file"
    plain = "".join(sign if sign.isascii() and sign not in "%'" else "_" for sign in shown)
    encoded = quote(shown.encode("utf-8", "replace"), safe="")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}"
