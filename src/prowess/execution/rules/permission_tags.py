"""The tags by which permissions are asked for: `@network`, `@events`, `@workspace`, `@read:<path>`, `@write:<path>`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from prowess.errors import ToolInputError

__all__ = ["MAX_TAGS", "PermissionKind", "PermissionTag", "normalise_tags", "parse_tag"]

MAX_TAGS = 100
"""That can be asked for at once."""

_MALFORMED = "Permission must be @network, @events, @workspace, @read:<path>, or @write:<path>."
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class PermissionKind(StrEnum):
    """What a permission is for."""

    NETWORK = "network"
    EVENTS = "events"
    WORKSPACE = "workspace"
    """To write in the workspace."""
    READ = "read"
    WRITE = "write"


_WITH_PATH = {PermissionKind.READ: "Read", PermissionKind.WRITE: "Write"}


@dataclass(frozen=True, slots=True)
class PermissionTag:
    """One permission; as text, it is the tag in its plainest spelling."""

    kind: PermissionKind
    path: str = ""
    """For reading and writing: absolute, without `.`, `..`, or a slash too many."""

    def __str__(self) -> str:
        return f"@{self.kind}:{self.path}" if self.path else f"@{self.kind}"


def parse_tag(text: str) -> PermissionTag:
    """Return the permission that a tag names; raise `ToolInputError` if it names none."""
    stripped = text.strip()
    if not stripped.startswith("@") or _CONTROL.search(stripped):
        raise ToolInputError(_MALFORMED)
    name, colon, path = stripped[1:].partition(":")
    kind = next((kind for kind in PermissionKind if kind == name), None)
    if kind is None or (kind in _WITH_PATH) != bool(colon):
        raise ToolInputError(_MALFORMED)
    return PermissionTag(kind, _parse_path(path.strip(), kind) if kind in _WITH_PATH else "")


def normalise_tags(texts: Sequence[str] | None) -> tuple[PermissionTag, ...]:
    """Return the permissions that tags name, in order and each once; none for None."""
    if texts is None:
        return ()
    if len(texts) > MAX_TAGS:
        raise ToolInputError(f"At most {MAX_TAGS} permissions can be asked for at once, not {len(texts)}.")
    return tuple(dict.fromkeys(map(parse_tag, texts)))


def _parse_path(path: str, kind: PermissionKind) -> str:
    if not path:
        raise ToolInputError(f"{_WITH_PATH[kind]} permission requires a path.")
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if not path.startswith("/") or ".." in parts:
        raise ToolInputError(f"Permission path must be absolute: {path}", hint="Write it from the root, without '..'.")
    return "/" + "/".join(parts)
