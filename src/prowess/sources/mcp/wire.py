"""Skills on the wire of MCP: the entries, file records, addresses and limits of the skills extension.

Everything here is a value or a pure function, so that the server that publishes skills and the host that takes them
mean the same. What a peer sends is parsed into a value or a `Fault`; nothing in it is believed.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote, unquote_to_bytes

from prowess.skill.names import MAX_NAME_LENGTH, is_standard_name

__all__ = [
    "DIRECTORY_METHOD",
    "DIRECTORY_TYPE",
    "EXTENSION",
    "GET_METHOD",
    "LIST_METHOD",
    "MAX_RESOURCES",
    "MAX_SKILL_BYTES",
    "SCHEME",
    "SKILL_MD",
    "Fault",
    "FileRecord",
    "SkillEntry",
    "find_excess",
    "find_path",
    "make_distinct_root",
    "make_file_uri",
    "make_skill_root",
    "parse_entry",
    "render_entry",
]

EXTENSION = "io.modelcontextprotocol/skills"
LIST_METHOD = "skills/list"
GET_METHOD = "skills/get"
DIRECTORY_METHOD = "resources/directory/read"
DIRECTORY_TYPE = "inode/directory"
SKILL_MD = "SKILL.md"
MAX_RESOURCES = 512
"""Files of one skill, its SKILL.md included."""
MAX_SKILL_BYTES = 16 << 20
"""Of all files of one skill together."""
MAX_URI_LENGTH = 4_096
_DYNAMIC = "dynamic"
SCHEME = "skill://"
_APART = "="
"""A segment that no name on disk gives, since that sign is escaped in all of them."""
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[!-~]+")
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with something that a peer sent."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file of a skill as an entry lists it."""

    uri: str
    sha256: str
    """64 hexadecimal digits, of the raw bytes."""
    size: int


@dataclass(frozen=True, slots=True)
class SkillEntry:
    """One skill as a server publishes it."""

    uri: str
    """Of its SKILL.md."""
    frontmatter: Mapping[str, Any]
    """As JSON has it; `name` and `description` are texts in it."""
    resources: tuple[FileRecord, ...] | None
    """Every file, sorted as the server has them; None for a skill whose content is made anew for each reader."""

    @property
    def name(self) -> str:
        """The skill's name: a label, and no key."""
        return str(self.frontmatter["name"])

    @property
    def description(self) -> str:
        """What it does and when to use it."""
        return str(self.frontmatter["description"])

    @property
    def root(self) -> str:
        """The address of its folder, without a slash at the end."""
        return self.uri.removesuffix(f"/{SKILL_MD}")

    @property
    def size(self) -> int:
        """Of all files together, in bytes."""
        return sum(record.size for record in self.resources or ())


# Addresses


def make_skill_root(skill_id: str, name: str) -> str:
    """Return the address of a skill's folder: `project:office/pdf` gives `skill://project/office/pdf`.

    It ends with the skill's name. Where the folder has another one, that follows after a segment `=`, so that no two
    ids have the same address.
    """
    kind, _, path = skill_id.partition(":")
    return SCHEME + "/".join(_make_segments((kind, *path.split("/")), name))


def make_distinct_root(skill_id: str, name: str) -> str:
    """Return another address of a skill's folder, which lies below that of no other skill."""
    kind, _, path = skill_id.partition(":")
    digits = hashlib.sha256(skill_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return SCHEME + "/".join((_make_segment(kind), f"{_APART}{digits}", *_make_segments(path.split("/"), name)))


def make_file_uri(root: str, path: bytes) -> str:
    """Return the address of a file or folder in a skill, by its path as it is on disk, with `/`."""
    return f"{root}/{quote(path, safe='/')}" if path else root


def find_path(root: str, uri: str) -> bytes | None:
    """Return the path of a file below a skill's folder; None if the address means anything else, or not only that."""
    if not uri.startswith(f"{root}/") or len(uri) > MAX_URI_LENGTH or not _ADDRESS.fullmatch(uri):
        return None
    given = uri[len(root) + 1 :]
    if any(sign in given for sign in "?#\\"):
        return None
    path = unquote_to_bytes(given)
    steps = path.split(b"/")
    is_plain = b"\0" not in path and b"\\" not in path and not any(step in (b"", b".", b"..") for step in steps)
    return path if is_plain and len(steps) == given.count("/") + 1 else None


def _make_segments(parts: Iterable[str], name: str) -> list[str]:
    parts = list(parts)
    segments = [_make_segment(part) for part in parts]
    return segments if parts[-1] == name else [*segments, _APART, _make_segment(name)]


def _make_segment(part: str) -> str:
    if part in ("", ".", ".."):  # On the way, somebody may leave them out, or go by them.
        return f"{_APART}{part}"
    return quote(part.encode("utf-8", "surrogateescape"), safe="")


# Entries


def render_entry(entry: SkillEntry) -> dict[str, Any]:
    """Return an entry as it is sent."""
    if entry.resources is None:
        resources: Any = _DYNAMIC
    else:
        resources = [
            {"uri": record.uri, "digest": f"sha256:{record.sha256}", "size": record.size} for record in entry.resources
        ]
    return {"uri": entry.uri, "frontmatter": dict(entry.frontmatter), "resources": resources}


def parse_entry(value: object) -> SkillEntry | Fault:
    """Return the entry that a server sent, or what is wrong with it. Its size is judged by `find_excess`."""
    if not isinstance(value, dict):
        return Fault("bad-entry", "the entry is no object")
    given = cast("dict[str, Any]", value)
    uri, frontmatter = given.get("uri"), given.get("frontmatter")
    if not isinstance(uri, str) or not _is_address(uri) or not uri.endswith(f"/{SKILL_MD}"):
        return Fault("bad-uri", f"the entry's uri is not the address of a {SKILL_MD}: {str(uri)[:_SHOWN]!r}")
    if not isinstance(frontmatter, dict):
        return Fault("bad-frontmatter", f"the entry of {_show(uri)} has no frontmatter")
    fault = _judge_names(uri, cast("dict[str, Any]", frontmatter))
    if fault is not None:
        return fault
    resources = _parse_resources(uri, given.get("resources"))
    if isinstance(resources, Fault):
        return resources
    return SkillEntry(uri, cast("dict[str, Any]", frontmatter), resources)


def find_excess(entry: SkillEntry) -> Fault | None:
    """Return which limit of the extension an entry exceeds; None if it keeps both."""
    count, size = len(entry.resources or ()), entry.size
    if count > MAX_RESOURCES:
        return Fault("too-many-files", f"{_show(entry.uri)} has {count:,} files; at most {MAX_RESOURCES} are allowed")
    if size > MAX_SKILL_BYTES:
        return Fault(
            "files-too-large",
            f"the files of {_show(entry.uri)} have {size:,} bytes; at most {MAX_SKILL_BYTES:,} are allowed",
        )
    return None


def _judge_names(uri: str, frontmatter: Mapping[str, Any]) -> Fault | None:
    name, description = frontmatter.get("name"), frontmatter.get("description")
    if not isinstance(name, str) or not isinstance(description, str) or not description.strip():
        return Fault("bad-frontmatter", f"the frontmatter of {_show(uri)} lacks a name or a description")
    if not is_standard_name(name) or len(name) > MAX_NAME_LENGTH:
        return Fault("bad-name", f"the name of {_show(uri)} breaks the rule for names: {name[:_SHOWN]!r}")
    if unquote_to_bytes(uri.split("/")[-2]) != name.encode():
        return Fault("bad-name", f"the address {_show(uri)} does not end with the skill's name '{name}'")
    return None


def _parse_resources(uri: str, value: object) -> tuple[FileRecord, ...] | Fault | None:
    if value == _DYNAMIC:
        return None
    if not isinstance(value, list):
        return Fault("bad-resources", f"the entry of {_show(uri)} has no list of its files")
    root = uri.removesuffix(f"/{SKILL_MD}")
    found: dict[bytes, FileRecord] = {}
    for one in cast("list[object]", value):
        record = _parse_record(one)
        path = find_path(root, record.uri) if record is not None else None
        if record is None or path is None:
            return Fault("bad-resources", f"the entry of {_show(uri)} lists what is no file of it: {str(one)[:_SHOWN]}")
        if path in found:
            return Fault("bad-resources", f"the entry of {_show(uri)} lists a file twice: {_show(record.uri)}")
        found[path] = record
    if SKILL_MD.encode() not in found:
        return Fault("bad-resources", f"the entry of {_show(uri)} does not list its own {SKILL_MD}")
    return tuple(found.values())


def _parse_record(value: object) -> FileRecord | None:
    if not isinstance(value, dict):
        return None
    given = cast("dict[str, Any]", value)
    uri, digest, size = given.get("uri"), given.get("digest"), given.get("size")
    if not isinstance(uri, str) or not isinstance(digest, str) or not isinstance(size, int):
        return None
    matched = _DIGEST.fullmatch(digest)
    if matched is None or isinstance(size, bool) or size < 0:
        return None
    return FileRecord(uri, matched[1], size)


def _is_address(uri: str) -> bool:
    return len(uri) <= MAX_URI_LENGTH and _ADDRESS.fullmatch(uri) is not None and "?" not in uri and "#" not in uri


def _show(uri: str) -> str:
    return uri if len(uri) <= _SHOWN else f"{uri[:_SHOWN]}…"
