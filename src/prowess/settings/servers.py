"""The tables of a settings file that name MCP servers."""

from collections.abc import Callable
from typing import Any, cast

from prowess.settings.file import SettingsFile
from prowess.settings.vocabulary import WrongValue, read_flag, read_positive, read_text, read_texts
from prowess.sources.mcp.servers import SERVER_NAME_HINT, McpServer, is_server_name

__all__ = ["FOR_ADDRESSES", "SERVER_SETTINGS", "read_servers"]

_TABLE = "mcp.servers"


def _read_command(value: object) -> tuple[str, ...]:
    command = read_texts(value)
    if not command or not command[0] or any("\0" in part for part in command):
        raise WrongValue("a list of texts, the first of which is a program")
    return command


def _read_url(value: object) -> str:
    url = read_text(value)
    if not url.startswith(("http://", "https://")) or not url.isprintable() or "@" in url.split("/")[2]:
        raise WrongValue("an address that begins with https:// or http://, without a name or password in it")
    return url


def _is_private(url: str) -> bool:
    """Whether nobody can listen to what is sent there: it is encrypted, or does not leave the machine."""
    import ipaddress
    from urllib.parse import urlsplit

    if not url.startswith("http://"):
        return True
    try:
        host = urlsplit(url).hostname or ""
        return host.rstrip(".") == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _read_headers(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in cast("dict[str, Any]", value).values()):
        raise WrongValue('a table from headers to names of variables, such as { Authorization = "ACME_TOKEN" }')
    return tuple(cast("dict[str, str]", value).items())


SERVER_SETTINGS: dict[str, tuple[Callable[[object], object], str, str]] = {
    "command": (_read_command, "what starts the server, if it talks by standard input and output", '["acme-mcp"]'),
    "url": (_read_url, "where the server is, if it is reached by HTTP", '"https://mcp.example.org/mcp"'),
    "headers_from": (
        _read_headers,
        "headers for the address, each with the variable of the environment that holds its value",
        '{ Authorization = "ACME_TOKEN" }',
    ),
    "variables": (read_texts, "variables of the environment that the command is started with", '["ACME_TOKEN"]'),
    "skills": (
        read_texts,
        "addresses of skills that are taken although the server does not list them",
        '["skill://refunds/SKILL.md"]',
    ),
    "enabled": (read_flag, "whether skills are taken from it", "true"),
    "refresh_seconds": (read_positive, "how long its list of skills counts as new", "300"),
    "timeout_seconds": (read_positive, "how long any one answer may take", "10"),
}
"""From a key of a server's table to how it is read, what it is about, and a sample."""


FOR_ADDRESSES = frozenset({"url", "headers_from"})
"""What only a server that is reached by HTTP has; the others that have a command."""


def read_servers(file: SettingsFile) -> tuple[McpServer, ...]:
    """Return the servers that a file names, in its order."""
    outer: object = file.values.get("mcp", {})
    tables: object = cast("dict[str, object]", outer).get("servers", {}) if isinstance(outer, dict) else {}
    if not isinstance(tables, dict):
        raise file.fail(_TABLE, f"'{_TABLE}' is not a table", f"write a table for each server: [{_TABLE}.NAME]")
    return tuple(_read_server(file, name, table) for name, table in cast("dict[str, object]", tables).items())


def _read_server(file: SettingsFile, name: str, table: object) -> McpServer:
    place = f"{_TABLE}.{name}"
    if not is_server_name(name):
        raise file.fail(place, f"'{name}' cannot be a server's name", SERVER_NAME_HINT)
    if not isinstance(table, dict):
        raise file.fail(place, f"'{place}' is not a table", f"write [{place}]")
    found: dict[str, Any] = {}
    for key, value in cast("dict[str, object]", table).items():
        if key not in SERVER_SETTINGS:
            raise file.fail(f"{place}.{key}", f"unknown setting '{place}.{key}'", ", ".join(SERVER_SETTINGS))
        try:
            found[key] = SERVER_SETTINGS[key][0](value)
        except WrongValue as wrong:
            raise file.fail(f"{place}.{key}", f"'{place}.{key}' is {value!r}", f"it should be {wrong}") from None
    if ("command" in found) == ("url" in found):
        raise file.fail(place, f"'{place}' needs either a command or a url", "give one of them")
    if found.get("headers_from") and not _is_private(found.get("url", "")):
        what = f"'{place}.headers_from' would be sent to '{found['url']}' for everybody on the way to read"
        raise file.fail(f"{place}.headers_from", what, "use https://, or an address of this machine")
    return McpServer(name, **found)
