"""Activation keys: the name of a folder for each skill id, so that no two ids share one."""

import hashlib
import re
from functools import lru_cache

from prowess.errors import ToolInputError

__all__ = ["make_activation_key"]

_FOREIGN = re.compile(r"[^A-Za-z0-9._-]+")
_PLAIN_PART = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._]+(?:-[A-Za-z0-9._]+)*")
"""Parts of an id that can be read back from its key: nothing odd, no `--`, no hyphen at an end, no `.` or `..`."""
_SEPARATOR = "---"
"""Stands before the digits of an id that cannot be read back, and in no other key."""
_DIGITS = 8
_MAX_LENGTH = 200
"""Of the part before the digits: a file system takes names of 255 bytes."""


@lru_cache(maxsize=1 << 16)
def make_activation_key(skill_id: str) -> str:
    """Return the key of an id: `core:scheduling` gives `core--scheduling`.

    Where that form could stand for another id as well, digits of the id's SHA-256 follow.
    """
    key = _FOREIGN.sub("", skill_id.replace(":", "--").replace("/", "--"))
    if not key.strip("-."):
        raise ToolInputError(f"no folder can be named after the id '{skill_id}'", code="bad-id")
    if _is_readable_back(skill_id) and len(key) <= _MAX_LENGTH:
        return key
    digits = hashlib.sha256(skill_id.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{key[:_MAX_LENGTH]}{_SEPARATOR}{digits}"


def _is_readable_back(skill_id: str) -> bool:
    """Whether the id is `kind:part/part` or a single part, so that no other id gives the same key."""
    kind, colon, path = skill_id.partition(":")
    return all(_PLAIN_PART.fullmatch(part) for part in ((kind, *path.split("/")) if colon else (kind,)))
