"""What a runtime does about skills from MCP servers, beyond what it does about all skills."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from prowess.catalog.views import Reason
from prowess.settings import Settings
from prowess.skill.skill import Skill
from prowess.sources.mcp.placeholders import is_placeholder

if TYPE_CHECKING:
    from prowess.sources.mcp.hosting import Hosting
    from prowess.sources.mcp.mirror import Mirror

__all__ = ["explain_origin", "find_mirror", "open_hosting"]


def open_hosting(settings: Settings) -> "Hosting | None":
    """Return the servers that the settings name; None if they name none that is switched on."""
    if not settings.policy.enabled or not any(server.enabled for server in settings.mcp_servers):
        return None
    from prowess.sources.mcp.hosting import Hosting  # Loads what starts processes.

    return Hosting(settings.mcp_servers, folder=_find_folder(settings.place.prowess_home))


def find_mirror(prowess_home: str, server: str) -> "Mirror":
    """Return the mirror of the server of this name, whatever the settings say of it."""
    from prowess.sources.mcp.mirror import Mirror

    return Mirror(os.path.join(_find_folder(prowess_home), server))


def _find_folder(prowess_home: str) -> str:
    return os.path.join(os.path.realpath(os.path.join(prowess_home, "cache")), "mcp")


def explain_origin(skill: Skill) -> Iterator[Reason]:
    """Say that a skill comes from a server, and what that means."""
    server = skill.server
    if not server:
        return
    yield Reason("from-mcp", f"it comes from the MCP server '{server}', and gets a name only if no other skill has it")
    if is_placeholder(skill):
        yield Reason("not-fetched", f"its files are fetched from '{server}' when it is used; no copy is made before")
