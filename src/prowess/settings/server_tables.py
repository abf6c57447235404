"""Put the table of an MCP server into a settings file, and take it out, leaving everything else as it is."""

from dataclasses import fields
from typing import Any, cast

from prowess.errors import NotFound, Refused
from prowess.settings.toml_text import TextFault, parse_toml, remove_toml_table, set_toml_table
from prowess.sources.mcp.servers import McpServer

__all__ = ["add_server_table", "remove_server_table"]

_TABLE = "mcp.servers"
_DEFAULTS = McpServer("")


def add_server_table(text: str, server: McpServer) -> str:
    """Return the file with a table for a server; raise `Refused` if it names that server already."""
    before = _read(text)
    if server.name in _list_servers(before):
        hint = f"`prowess mcp servers remove {server.name}` removes it"
        raise Refused(f"there is a server '{server.name}' already", hint=hint, code="exists")
    return _check(before, set_toml_table(text, _TABLE, server.name, _describe(server)), server.name, "added")


def remove_server_table(text: str, name: str) -> str:
    """Return the file without the table of a server, and without the lines that belong to it."""
    before = _read(text)
    if name not in (known := _list_servers(before)):
        names = ", ".join(known) or "none"
        raise NotFound(f"no server '{name}' is configured", hint=f"servers: {names}", code="unknown-server")
    after = remove_toml_table(text, _TABLE, name)
    if after == text:
        raise _by_hand(name, "removed")
    return _check(before, after, name, "removed")


def _describe(server: McpServer) -> dict[str, Any]:
    values = {field.name: getattr(server, field.name) for field in fields(server) if field.name != "name"}
    told = {key: value for key, value in values.items() if value != getattr(_DEFAULTS, key)}
    return {key: dict(value) if key == "headers_from" else value for key, value in told.items()}


def _check(before: dict[str, Any], after: str, name: str, what: str) -> str:
    """Return the text after a change if it says the same as before, but for one server."""
    try:
        is_same = _leave_out(parse_toml(after), name) == _leave_out(before, name)
    except TextFault:
        is_same = False
    if not is_same:
        raise _by_hand(name, what)
    return after


def _read(text: str) -> dict[str, Any]:
    try:
        return parse_toml(text)
    except TextFault as error:
        raise Refused(
            f"the settings file is not valid TOML: {error}", hint="correct it first", code="bad-toml"
        ) from None


def _list_servers(values: dict[str, Any]) -> dict[str, Any]:
    outer: object = values.get("mcp")
    servers = cast("dict[str, object]", outer).get("servers") if isinstance(outer, dict) else None
    return cast("dict[str, Any]", servers) if isinstance(servers, dict) else {}


def _leave_out(values: dict[str, Any], name: str) -> dict[str, Any]:
    """Return what a file says besides of one server. Empty tables around it say the same as none."""
    if not _list_servers(values):
        if values.get("mcp") in ({}, {"servers": {}}):
            return {key: value for key, value in values.items() if key != "mcp"}
        return values
    kept = {key: value for key, value in _list_servers(values).items() if key != name}
    outer = {key: value for key, value in values["mcp"].items() if key != "servers"} | (
        {"servers": kept} if kept else {}
    )
    return {key: value for key, value in values.items() if key != "mcp"} | ({"mcp": outer} if outer else {})


def _by_hand(name: str, what: str) -> Refused:
    return Refused(
        f"the table of the server '{name}' cannot be {what} without touching other settings",
        hint="edit the file by hand",
        code="settings-unusual",
    )
