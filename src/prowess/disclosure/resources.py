"""The files of a skill as a model reads them: listed by path, read one at a time, within limits.

A path is taken apart before anything is opened, and the file is opened by a walk that cannot leave the skill. No
message names a path of the host.
"""

import codecs
import hashlib
import os
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass

from prowess.disclosure.agreed_files import check_bytes, find_most_bytes
from prowess.disclosure.line_ranges import ALL_LINES, LineRange, cut_text, parse_lines
from prowess.disclosure.media_types import binary_type, text_type
from prowess.disclosure.refusals import HINTS, REFUSALS
from prowess.errors import ToolInputError
from prowess.policy import BinaryResources
from prowess.skill.digest import SkillFile
from prowess.skill.skill import Skill
from prowess.sources.beneath import Obstacle, open_beneath
from prowess.sources.folders import SKILL_MD
from prowess.sources.open_folders import read_up_to
from prowess.sources.skill_files import list_skill_files
from prowess.sources.source import show_path

__all__ = [
    "MAX_BINARY_BYTES",
    "MAX_READ_BYTES",
    "PARTS",
    "LineRange",
    "Resource",
    "list_resources",
    "normalise_path",
    "parse_lines",
    "read_resource",
    "read_whole",
]

MAX_READ_BYTES = 16 << 20
"""No more of a file is ever read, whatever the settings say."""
MAX_BINARY_BYTES = 8 << 20
"""No larger binary is returned, whatever the settings say: one that is cut is worth nothing."""
PARTS = ("scripts", "references", "assets")
"""The folders that the standard gives a meaning."""

_MAX_PATH_LENGTH = 4_096
_MAX_NAMED = 5
_MAX_COMPARED = 1_000
_MAX_SHOWN_NAME = 200
_CHUNK = 1 << 20
_START = 4_096
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class Resource:
    """A file of a skill, or as much of it as the limits let through."""

    path: str
    """Below the skill's folder, with `/` and nothing to resolve; written so that it can be printed and sent."""
    content: str
    """The text, with the notice at its end if it was cut; or base64."""
    encoding: str
    """`utf-8` or `base64`."""
    mime: str
    size: int
    """Of the whole file, in bytes."""
    truncated: bool = False
    first_line: int | None = None
    """Lines count from 1; None for what is no text."""
    last_line: int | None = None
    total_lines: int | None = None
    """None also for a text that goes on beyond what was read."""
    notice: str = ""
    """What was cut, and how to get the rest."""


def normalise_path(text: str) -> str:
    """Return the path in its plain form, or raise if it could mean anything but a file below the skill's folder."""
    path = text.strip().replace("\\", "/")
    if not path:
        raise _error("missing-path", "Missing resource path.", f"give a path such as '{PARTS[1]}/guide.md'")
    if "\0" in path:
        raise _error("resource-unreadable", "Unable to read resource.", "a path holds no NUL character")
    if len(path) > _MAX_PATH_LENGTH:
        raise _error("invalid-path", "Invalid resource path.", f"a path has at most {_MAX_PATH_LENGTH:,} characters")
    plain = posixpath.normpath(path)
    if path.startswith("/") or _DRIVE.match(path) or _DRIVE.match(plain):
        hint = "give the path below the skill's folder, without its base directory"
        raise _error("absolute-path", "Absolute paths are not allowed", hint)
    if plain in (".", ".."):
        raise _error("invalid-path", "Invalid resource path.", "give the path of a file, not of a folder")
    if plain != plain.strip():
        raise _error("invalid-path", "Invalid resource path.", "a path neither begins nor ends with a blank")
    if plain.startswith("../"):
        raise _error("path-traversal", "Path traversal is not allowed", "only files of the skill itself can be read")
    return plain


def list_resources(files: Sequence[SkillFile], part: str | None = None) -> tuple[str, ...]:
    """Return the paths of a skill's files but its SKILL.md, as text; with a part only those in that folder."""
    if part is not None and part not in PARTS:
        raise _error("unknown-part", f"there is no part '{part[:40]}'", f"the parts are {', '.join(PARTS)}")
    folder = b"" if part is None else part.encode() + b"/"
    found = (file.path for file in files if file.path.startswith(folder) and file.path != SKILL_MD.encode())
    return tuple(show_path(os.fsdecode(path)) for path in found)


def read_resource(
    skill: Skill,
    path: str,
    *,
    limit_bytes: int,
    lines: LineRange | None = None,
    binary: BinaryResources,
    files: Sequence[SkillFile] = (),
) -> Resource:
    """Return one file of the skill; raise what its caller can act on if that cannot be done.

    `files` are those of the digest that was agreed to: the file must be one of them, to its end. Text is UTF-8 without
    NUL; it is cut at the limit, and the notice says so. Everything else is binary and returned whole or not at all.
    """
    plain = normalise_path(path)
    file = _open(skill, plain)
    on_disk = plain.encode("utf-8", "surrogateescape")
    try:
        status = os.fstat(file)
        raw = read_up_to(file, MAX_READ_BYTES + 1)
        sha256 = _hash_whole(file, raw, most_bytes=find_most_bytes(on_disk, files=files)) if files else ""
    except OSError:
        raise _refuse(Obstacle.UNREADABLE, skill, plain) from None  # Its text could name a path of the host.
    finally:
        os.close(file)
    if files:
        check_bytes(skill, sha256, path=on_disk, files=files)
    size = len(raw) if len(raw) <= MAX_READ_BYTES else max(status.st_size, len(raw))
    raw = raw[:MAX_READ_BYTES]
    text_bytes = _find_text(raw, size)
    if text_bytes is None:
        return _make_binary(plain, raw, size=size, limit_bytes=limit_bytes, lines=lines, binary=binary)
    return _make_text(plain, text_bytes, size=size, limit_bytes=limit_bytes, lines=lines or ALL_LINES)


def read_whole(skill: Skill, path: bytes, *, files: Sequence[SkillFile] = ()) -> bytes:
    """Return all bytes of one file of the skill, by its path as it is on disk; `files` are as for `read_resource`."""
    plain = path.decode("utf-8", "surrogateescape")
    if normalise_path(plain) != plain:
        raise _refuse(Obstacle.MISSING, skill, show_path(plain))
    file = _open(skill, plain)
    try:
        raw = read_up_to(file, MAX_READ_BYTES + 1)
    except OSError:
        raise _refuse(Obstacle.UNREADABLE, skill, plain) from None  # Its text could name a path of the host.
    finally:
        os.close(file)
    if len(raw) > MAX_READ_BYTES:
        message = f"{show_path(plain)} has more than {MAX_READ_BYTES:,} bytes"
        raise _error("resource-too-large", message, "use it by its path instead of reading it")
    if files:
        check_bytes(skill, hashlib.sha256(raw).hexdigest(), path=path, files=files)
    return raw


def _open(skill: Skill, path: str) -> int:
    try:
        found = open_beneath(skill.real, path=path.encode("utf-8", "surrogateescape"), apart=skill.apart)
    except UnicodeEncodeError:
        found = Obstacle.MISSING  # No name on any disk.
    if isinstance(found, Obstacle):
        raise _refuse(found, skill, path)
    return found


def _hash_whole(file: int, raw: bytes, *, most_bytes: int) -> str:
    """Return the hash of a file whose beginning was read; if it has more than `most_bytes`, that of no file."""
    whole, size = hashlib.sha256(raw), len(raw)
    while MAX_READ_BYTES < size <= most_bytes and (part := os.read(file, _CHUNK)):
        whole.update(part)
        size += len(part)
    return whole.hexdigest()


def _find_text(raw: bytes, size: int) -> bytes | None:
    """Return the text's bytes, without a mark at their start or half a character at their end; None if binary."""
    if b"\0" in raw:
        return None
    try:
        _, complete = codecs.utf_8_decode(raw, "strict", len(raw) >= size)
    except UnicodeDecodeError:
        return None
    return raw[:complete].removeprefix(codecs.BOM_UTF8)


def _make_text(path: str, raw: bytes, *, size: int, limit_bytes: int, lines: LineRange) -> Resource:
    # Up to a byte order mark and half a character, what was read may be smaller than the file and yet be all of it.
    size_of_text = len(raw) if size <= MAX_READ_BYTES else size
    found = cut_text(raw, size_bytes=size_of_text, lines=lines, limit_bytes=min(limit_bytes, MAX_READ_BYTES))
    content = f"{found.text}\n\n[{found.notice}]" if found.notice else found.text
    return Resource(
        show_path(path),
        content,
        "utf-8",
        text_type(path, raw[:_START].decode("utf-8", "ignore")),
        size,
        truncated=bool(found.notice),
        first_line=found.first_line,
        last_line=found.last_line,
        total_lines=found.total_lines,
        notice=found.notice,
    )


def _make_binary(
    path: str, raw: bytes, *, size: int, limit_bytes: int, lines: LineRange | None, binary: BinaryResources
) -> Resource:
    mime = binary_type(path, raw)
    if binary is BinaryResources.REFUSE:
        hint = f"it is {mime} and has {size:,} bytes; use it by its path instead of reading it"
        raise _error("binary-not-supported", "binary not supported", hint)
    if lines is not None:
        raise _error("binary-has-no-lines", f"{show_path(path)} is {mime} and has no lines", "ask for it without lines")
    cap = min(limit_bytes, MAX_BINARY_BYTES)
    if size > cap:
        message = f"{show_path(path)} is {mime} and has {size:,} bytes; at most {cap:,} bytes of a binary can be read"
        raise _error("resource-too-large", message, "use it by its path instead of reading it")
    import base64

    return Resource(show_path(path), base64.b64encode(raw).decode("ascii"), "base64", mime, size)


def _refuse(obstacle: Obstacle, skill: Skill, path: str) -> ToolInputError:
    code, message = REFUSALS[obstacle]
    return _error(code, message, HINTS.get(obstacle) or _name_others(skill, path))


def _name_others(skill: Skill, path: str) -> str:
    """Return which files the caller may have meant: those in the folder, else those with a similar name, else some."""
    names = [
        name
        for name in list_resources(list_skill_files(skill.real, apart=skill.apart).files)
        if len(name) <= _MAX_SHOWN_NAME
    ]
    if not names:
        return "the skill has no other files"
    below = [name for name in names if name.startswith(f"{path}/")]
    same = [name for name in names if posixpath.basename(name).lower() == posixpath.basename(path).lower()]
    if near := below or same or _find_similar(path, names):
        return f"did you mean {', '.join(near[:_MAX_NAMED])}?"
    more = len(names) - _MAX_NAMED
    return f"the skill has {', '.join(names[:_MAX_NAMED])}" + (f" and {more:,} more" if more > 0 else "")


def _find_similar(path: str, names: Sequence[str]) -> list[str]:
    import difflib

    by_lower = {name.lower(): name for name in names[:_MAX_COMPARED]}
    near = difflib.get_close_matches(path[:_MAX_SHOWN_NAME].lower(), by_lower, n=_MAX_NAMED)
    return [by_lower[name] for name in near]


def _error(code: str, message: str, hint: str) -> ToolInputError:
    return ToolInputError(message, hint=hint, code=code)
