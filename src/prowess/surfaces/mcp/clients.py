"""The programs that list MCP servers in a file: where that lies, and how a server is written there."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

__all__ = ["CLIENTS", "ClientFile", "Scope", "ServerCommand", "find_file"]


class Scope(StrEnum):
    """For whom a server is listed."""

    USER = "user"
    """For the user, in all projects."""
    PROJECT = "project"
    """For everybody who works in this folder."""


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How the server is started."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClientFile:
    """How one program lists its servers."""

    title: str
    user: str
    """Its file below the user's home, unless `home_variable` names the folder that it is in."""
    project: str
    """Its file below the project."""
    table: str
    """Under which key the servers stand."""
    names_type: bool = False
    """Whether an entry says that it is reached by standard input and output."""
    home_variable: str = ""
    """Names the folder that the file is in, if that was moved."""

    @property
    def is_toml(self) -> bool:
        """Whether the file is TOML; else it is JSON, in which there may be comments."""
        return self.user.endswith(".toml")

    def describe(self, server: ServerCommand) -> dict[str, Any]:
        """Return the entry of a server."""
        entry: dict[str, Any] = {"type": "stdio"} if self.names_type else {}
        entry |= {"command": server.command, "args": list(server.args)}
        return entry | ({"env": dict(server.env)} if server.env else {})

    def is_own(self, entry: Any) -> bool:
        """Whether an entry is like those that `describe` returns for Prowess."""
        if not isinstance(entry, dict):
            return False
        known = cast("dict[str, Any]", entry)
        command, args = known.get("command"), known.get("args")
        return isinstance(command, str) and "prowess" in command and isinstance(args, list) and args[-1:] == ["mcp"]


def _find_code_folder() -> str:
    if sys.platform == "darwin":
        return "Library/Application Support/Code/User"
    return "AppData/Roaming/Code/User" if os.name == "nt" else ".config/Code/User"


CLIENTS: dict[str, ClientFile] = {
    "claude": ClientFile(
        "Claude Code",
        ".claude.json",
        ".mcp.json",
        "mcpServers",
        names_type=True,
        home_variable="CLAUDE_CONFIG_DIR",
    ),
    "cursor": ClientFile("Cursor", ".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "vscode": ClientFile("VS Code", f"{_find_code_folder()}/mcp.json", ".vscode/mcp.json", "servers", names_type=True),
    "codex": ClientFile("Codex", ".codex/config.toml", ".codex/config.toml", "mcp_servers", home_variable="CODEX_HOME"),
    "gemini": ClientFile("Gemini CLI", ".gemini/settings.json", ".gemini/settings.json", "mcpServers"),
}


def find_file(client: ClientFile, scope: Scope, *, home: Path, project: Path, environment: Mapping[str, str]) -> Path:
    """Return the file in which a client lists its servers."""
    if scope is Scope.PROJECT:
        return project / client.project
    moved = environment.get(client.home_variable, "") if client.home_variable else ""
    return Path(moved) / Path(client.user).name if moved else home / client.user
