"""The MCP servers that skills are taken from, as the settings name them."""

import hashlib
import re
from dataclasses import dataclass

__all__ = ["SERVER_NAME_HINT", "McpServer", "is_server_name", "mark_server"]

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
SERVER_NAME_HINT = "use small letters, digits, '-' and '_', and begin with a letter or a digit"


@dataclass(frozen=True, slots=True)
class McpServer:
    """One server. It is known by the name that the settings give it, whatever it calls itself."""

    name: str
    command: tuple[str, ...] = ()
    """What starts it, if it talks by standard input and output."""
    url: str = ""
    """Where it is, if it is reached by HTTP."""
    headers_from: tuple[tuple[str, str], ...] = ()
    """Headers, each with the variable of the environment that holds its value; for a URL."""
    variables: tuple[str, ...] = ()
    """Variables of the environment that it is started with, besides the usual ones; for a command."""
    skills: tuple[str, ...] = ()
    """Addresses of skills that are taken from it although it does not list them."""
    enabled: bool = True
    refresh_seconds: int = 300
    """How long its list of skills counts as new."""
    timeout_seconds: int = 10
    """How long any one answer may take."""


def is_server_name(name: str) -> bool:
    """Whether a server can have this name: it is part of ids, and a folder is named after it."""
    return _NAME.fullmatch(name) is not None


def mark_server(server: McpServer) -> str:
    """Return a mark that is another one if another server, or something else of it, is asked for."""
    asked = repr((server.command, server.url, server.skills)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(asked).hexdigest()[:32]
