"""The ledger: what was exported into a folder, so that a later export knows what is its own."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from prowess.copies.disk_failures import telling
from prowess.errors import Refused
from prowess.sources.source import show_path
from prowess.surfaces.export.options import Overwriting
from prowess.surfaces.export.reports import Change

__all__ = ["LEDGER", "Ledger", "decide_change", "hash_file", "read_ledger", "refuse_place", "write_file"]

LEDGER = ".prowess-export.json"
_MOST_BYTES = 16 << 20
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was exported into a folder: from names in it to digests."""

    folder: str
    digests: Mapping[str, str]

    def with_digest(self, name: str, digest: str) -> "Ledger":
        """Return it with one more name."""
        return Ledger(self.folder, {**self.digests, name: digest})

    def write(self) -> None:
        """Keep it in the folder."""
        record = {"version": _VERSION, "exported": dict(sorted(self.digests.items()))}
        write_file(os.path.join(self.folder, LEDGER), json.dumps(record, indent=2).encode() + b"\n")


def read_ledger(folder: str) -> Ledger:
    """Return the ledger of a folder. A damaged one, or a link, says nothing: then nothing there is Prowess' own."""
    path = os.path.join(folder, LEDGER)
    try:
        if os.path.islink(path) or os.path.getsize(path) > _MOST_BYTES:
            return Ledger(folder, {})
        with open(path, "rb") as file:
            record: object = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return Ledger(folder, {})
    exported = cast("dict[str, object]", record).get("exported") if isinstance(record, dict) else None
    known = cast("dict[str, object]", exported) if isinstance(exported, dict) else {}
    return Ledger(folder, {name: digest for name, digest in known.items() if isinstance(digest, str)})


def decide_change(*, recorded: str | None, present: str | None, wanted: str, overwriting: Overwriting) -> Change | str:
    """Return what writing would change, or why it must not be written.

    `recorded` is the digest in the ledger, `present` that of what is there: None for nothing, empty for what has none.
    """
    if present is None:
        return Change.NEW
    if present == wanted:
        return Change.UNCHANGED
    if overwriting is Overwriting.ANYTHING or (recorded is not None and present == recorded):
        return Change.REPLACED
    return "it was changed since it was exported" if recorded is not None else "something else has its place"


def refuse_place(path: str, why: str) -> Refused:
    """Return the refusal for a place that an export must not take."""
    return Refused(f"{show_path(path)}: {why}", hint="--force replaces it; --out names another", code="exists")


def hash_file(path: str) -> str | None:
    """Return the SHA-256 of what is there: None for nothing, empty for a link or what is no file."""
    if not os.path.lexists(path):
        return None
    if os.path.islink(path) or not os.path.isfile(path):
        return ""
    with telling(f"{show_path(path)} cannot be read"), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_file(path: str, content: bytes) -> None:
    """Put a file in its place in one step, on disk when this returns. A link of this name is replaced, not followed."""
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f".{name}.{os.urandom(6).hex()}")
    with telling(f"{show_path(path)} cannot be written"):
        os.makedirs(folder, exist_ok=True)
        try:
            with open(draft, "xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        finally:
            if os.path.lexists(draft):
                os.unlink(draft)
