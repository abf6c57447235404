"""List Prowess among the servers of another program: what would change in its file, and the change itself.

While it is listed, a copy beside the file has it as it was before, perhaps with another server of that name. The undo
gives that back, and sets the copy aside: whatever is there from then on is not ours.
"""

import json
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prowess.errors import Refused, WorldError
from prowess.settings.toml_text import parse_toml, remove_toml_table, set_toml_table
from prowess.sources.whole_files import write_whole
from prowess.surfaces.mcp.clients import ClientFile, ServerCommand
from prowess.surfaces.mcp.jsonc_text import TextFault, parse_jsonc, remove_json_member, set_json_member
from prowess.surfaces.text_manners import make_like, make_plain

__all__ = ["FileChange", "apply_change", "plan_install", "plan_uninstall"]

_MAX_BYTES = 16 << 20
_COPY = ".before-prowess"
_OLD = ".old"
"""Follows the name of a copy whose server is not listed any more."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What would become of a file."""

    path: Path
    before: str | None
    """None if there is no such file."""
    after: str
    copy: Path
    """Where a former text is kept beside the file."""
    kept: str | None
    """That text: the file as it was before the server was listed, which may be just now; None if it was not there."""
    outdated: Path | None = None
    """A copy that counts no more once the change is made."""

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
    before, copy = _read(path), _find_copy(path, name)
    first = _read(copy)

    def change(values: dict[str, Any]) -> None:
        values.setdefault(client.table, {})[name] = entry

    set_ = set_toml_table if client.is_toml else set_json_member
    try:
        after = _change(client, before or "", lambda text: set_(text, client.table, name, entry), change)
    except TextFault as error:
        raise _cannot(client, path, error, name, entry) from None
    if first is not None and before is None:
        return FileChange(path, before, after, _find_old(copy), first, outdated=copy)
    is_listed = first is not None and client.is_own(_find_entry(client, before, name))
    return FileChange(path, before, after, copy, first if is_listed else before)


def plan_uninstall(client: ClientFile, path: Path, name: str) -> FileChange:
    """Return the change that takes a server out of a client's file, and gives back what it replaced."""
    before, copy = _read(path), _find_copy(path, name)
    first = _read(copy)
    if first is not None and not client.is_own(_find_entry(client, before, name)):
        first = None  # Somebody has put another entry in the place of ours.
    try:
        after = _give_back(client, before or "", first, name) if first is not None else None
        after = _take_out(client, before or "", name) if after is None else after
    except TextFault as error:
        replaced = f"; what it has replaced is in {copy}" if first is not None else ""
        raise Refused(
            f"{path} cannot be changed safely: {error}",
            hint=f"take '{name}' out of '{client.table}' yourself{replaced}",
            code="bad-client-file",
        ) from None
    if first is None:
        return FileChange(path, before, after, _find_old(copy), before)
    return FileChange(path, before, after, _find_old(copy), first, outdated=copy)


def _give_back(client: ClientFile, text: str, first: str, name: str) -> str | None:
    """Return the text with the entry that ours has replaced; None if it has replaced none."""
    entry, former = _find_entry(client, text, name), _find_entry(client, first, name)
    if former == entry:
        return None
    set_ = set_toml_table if client.is_toml else set_json_member
    with suppress(TextFault, TypeError):
        if make_like(first, set_(make_plain(first), client.table, name, entry)) == text:
            return first  # Nothing else has changed since: not one character.
    if former is None:
        return None

    def edit(text: str) -> str:
        try:
            return set_(text, client.table, name, former)
        except TypeError as error:  # TOML has values that JSON has not.
            raise TextFault(str(error)) from None

    def change(values: dict[str, Any]) -> None:
        values[client.table][name] = former

    return _change(client, text, edit, change)


def _take_out(client: ClientFile, text: str, name: str) -> str:
    def change(values: dict[str, Any]) -> None:
        table = values.get(client.table)
        if isinstance(table, dict):
            table.pop(name, None)  # pyright: ignore[reportUnknownMemberType]

    remove = remove_toml_table if client.is_toml else remove_json_member
    return _change(client, text, lambda text: remove(text, client.table, name), change)


def _find_entry(client: ClientFile, text: str | None, name: str) -> Any:
    """Return what a text says of a server; None if that is nothing."""
    try:
        table = (parse_toml if client.is_toml else parse_jsonc)(make_plain(text or "")).get(client.table)
    except TextFault:
        return None
    return table.get(name) if isinstance(table, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]


def _find_copy(path: Path, name: str) -> Path:
    """Return where the copy for a server lies: beside the file itself, if the path is a link to it."""
    real = Path(os.path.realpath(path))
    return real.with_name(f"{real.name}{_COPY}{'' if name == 'prowess' else f'-{name}'}")


def _find_old(copy: Path) -> Path:
    return copy.with_name(copy.name + _OLD)


def _change(client: ClientFile, text: str, edit: Callable[[str], str], change: Callable[[dict[str, Any]], None]) -> str:
    """Return the edited text, which holds what the text held, but for the one change; else raise."""
    parse = parse_toml if client.is_toml else parse_jsonc
    plain = make_plain(text)
    expected = parse(plain)
    try:
        change(expected)
    except (AttributeError, TypeError):
        raise TextFault(f"'{client.table}' is not a table of servers") from None
    after = edit(plain)
    if _list_tables(client, parse(after)) != _list_tables(client, expected):
        raise TextFault("more than this one server would change")
    return make_like(text, after)


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
        if change.kept is not None:
            write_whole(str(change.copy), _encode(change.kept), mode=mode)
        write_whole(str(path), _encode(change.after), mode=mode)
        if change.outdated is not None:
            change.outdated.unlink(missing_ok=True)
    except OSError as error:
        raise WorldError(
            f"{path} cannot be written: {error.strerror or error}", hint="nothing was changed", code="disk"
        ) from error
    return change.copy if change.kept is not None else None


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
