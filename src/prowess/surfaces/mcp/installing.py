"""List Prowess among the servers of another program: what would change in its file, and the change itself."""

import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prowess.errors import Refused, WorldError
from prowess.settings.toml_text import parse_toml, remove_toml_table, set_toml_table
from prowess.sources.whole_files import write_whole
from prowess.surfaces.mcp.clients import ClientFile, ServerCommand
from prowess.surfaces.mcp.jsonc_text import TextFault, parse_jsonc, remove_json_member, set_json_member

__all__ = ["FileChange", "apply_change", "plan_install", "plan_uninstall"]

_MAX_BYTES = 16 << 20
_BACKUP = ".before-prowess"


@dataclass(frozen=True, slots=True)
class FileChange:
    """What would become of a file."""

    path: Path
    before: str | None
    """None if there is no such file."""
    after: str

    @property
    def is_needed(self) -> bool:
        """Whether anything is to be changed."""
        return (self.before or "") != self.after

    def diff(self) -> str:
        """Return the change as a unified diff."""
        import difflib

        name = str(self.path)
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            name if self.before is not None else os.devnull,
            name,
        )
        return "".join(line if line.endswith("\n") else f"{line}\n\\ no line break at the end\n" for line in lines)


def plan_install(client: ClientFile, path: Path, name: str, server: ServerCommand) -> FileChange:
    """Return the change that lists a server in a client's file. Raise `Refused` if it cannot be made safely."""
    entry = client.describe(server)
    before = _read(path)

    def change(values: dict[str, Any]) -> None:
        values.setdefault(client.table, {})[name] = entry

    set_ = set_toml_table if client.is_toml else set_json_member
    try:
        after = _change(client, before or "", lambda text: set_(text, client.table, name, entry), change)
    except TextFault as error:
        raise _cannot(client, path, error, name, entry) from None
    return FileChange(path, before, after)


def plan_uninstall(client: ClientFile, path: Path, name: str) -> FileChange:
    """Return the change that takes a server out of a client's file."""
    before = _read(path)

    def change(values: dict[str, Any]) -> None:
        table = values.get(client.table)
        if isinstance(table, dict):
            table.pop(name, None)  # pyright: ignore[reportUnknownMemberType]

    remove = remove_toml_table if client.is_toml else remove_json_member
    try:
        after = _change(client, before or "", lambda text: remove(text, client.table, name), change)
    except TextFault as error:
        raise Refused(
            f"{path} cannot be changed safely: {error}",
            hint=f"take '{name}' out of '{client.table}' yourself",
            code="bad-client-file",
        ) from None
    return FileChange(path, before, after)


def _change(client: ClientFile, text: str, edit: Callable[[str], str], change: Callable[[dict[str, Any]], None]) -> str:
    """Return the edited text, which holds what the text held, but for the one change; else raise."""
    parse = parse_toml if client.is_toml else parse_jsonc
    expected = parse(text)
    try:
        change(expected)
    except (AttributeError, TypeError):
        raise TextFault(f"'{client.table}' is not a table of servers") from None
    after = edit(text)
    if _list_tables(client, parse(after)) != _list_tables(client, expected):
        raise TextFault("more than this one server would change")
    return after


def _list_tables(client: ClientFile, values: dict[str, Any]) -> dict[str, Any]:
    """Return what a file holds. In TOML an empty table of servers may stand there or not: it says the same."""
    is_left_out = client.is_toml and values.get(client.table) == {}
    return {key: value for key, value in values.items() if not (is_left_out and key == client.table)}


def apply_change(change: FileChange) -> Path | None:
    """Write the file whole or not at all; return where the one is kept that was there first, if there was one."""
    path = Path(os.path.realpath(change.path))  # Whoever keeps it elsewhere, behind a link, goes on doing so.
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if _read(path) != change.before:
            raise Refused(f"{path} was changed meanwhile", hint="try again", code="file-changed")
        mode = stat.S_IMODE(path.stat().st_mode) if change.before is not None else 0o600
        backup = path.with_name(path.name + _BACKUP) if change.before is not None else None
        if backup is not None and change.before is not None and not os.path.lexists(backup):
            write_whole(str(backup), _encode(change.before), mode=mode)
        write_whole(str(path), _encode(change.after), mode=mode)
    except OSError as error:
        raise WorldError(
            f"{path} cannot be written: {error.strerror or error}", hint="nothing was changed", code="disk"
        ) from error
    return backup


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _read(path: Path) -> str | None:
    try:
        with open(path, "rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorldError(f"{path} cannot be read: {error.strerror or error}", code="disk") from error
    if len(raw) > _MAX_BYTES:
        raise Refused(
            f"{path} has more than {_MAX_BYTES:,} bytes", hint="is it the right file?", code="bad-client-file"
        )
    return raw.decode("utf-8", "surrogateescape")


def _cannot(client: ClientFile, path: Path, error: TextFault, name: str, entry: Mapping[str, Any]) -> Refused:
    pasted = (
        set_toml_table("", client.table, name, entry)
        if client.is_toml
        else json.dumps({client.table: {name: entry}}, indent=2)
    )
    return Refused(
        f"{path} cannot be changed safely: {error}",
        hint=f"mend the file, or put this into it yourself:\n{pasted}",
        code="bad-client-file",
    )
