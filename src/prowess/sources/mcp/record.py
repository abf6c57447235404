"""The record of a mirror: what the server listed last, and what went wrong with it, in one file."""

import os
from dataclasses import dataclass

from prowess.skill.problems import Problem
from prowess.sources.mcp.listed import Listed
from prowess.sources.private_folders import make_private_folder
from prowess.sources.stamps import Stamp, stamp_file
from prowess.sources.whole_files import write_whole

__all__ = ["MAX_LIST_BYTES", "Record", "RecordTooLarge", "encode_record", "read_record", "stamp_record", "write_record"]

_FILE = "record.json"
_FORMAT = 1
_MAX_BYTES = 64 << 20
MAX_LIST_BYTES = _MAX_BYTES // 2
"""Of what a server lists: the rest is room for what is found out about it later."""


class RecordTooLarge(Exception):
    """Raised for a record that nobody would read again; says how large it may be."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a server."""

    skills: tuple[Listed, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Of what it listed."""
    failure: Problem | None = None
    """Why the last attempt came to nothing; what was taken before it still counts."""
    listed_at: float = 0.0
    """When it last gave its list; 0 if it never did."""
    tried_at: float = 0.0
    """When it was last asked; 0 if it never was."""
    asked: str = ""
    """A mark of the server as it was asked: with another address or command, nothing of it counts."""
    format: int = _FORMAT

    def find(self, shelf: str, path: str) -> Listed | None:
        """Return the skill that is kept there."""
        return next((one for one in self.skills if (one.shelf, one.path) == (shelf, path)), None)


def stamp_record(folder: str) -> Stamp | None:
    """Return what changes whenever the record does; None if there is none."""
    try:
        return stamp_file(os.stat(os.path.join(folder, _FILE)))
    except OSError:
        return None


def read_record(folder: str) -> Record:
    """Return the record of a mirror; an empty one if there is none that can be used."""
    import msgspec

    try:
        with open(os.path.join(folder, _FILE), "rb") as file:
            raw = file.read(_MAX_BYTES + 1)
        if len(raw) > _MAX_BYTES:
            return Record()
        record = msgspec.json.decode(raw, type=Record)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return Record()
    return record if record.format == _FORMAT else Record()


def encode_record(record: Record, *, most: int = _MAX_BYTES) -> bytes:
    """Return the record as it is kept; raise `RecordTooLarge` if that takes more than so many bytes."""
    import msgspec

    raw = msgspec.json.encode(record)
    if len(raw) > most:
        raise RecordTooLarge(f"what is to be remembered of it takes more than {most:,} bytes")
    return raw


def write_record(folder: str, record: Record) -> None:
    """Replace the record in one step; raise `RecordTooLarge` if `read_record` would not take it."""
    raw = encode_record(record)
    make_private_folder(folder)
    write_whole(os.path.join(folder, _FILE), raw, mode=0o600)
