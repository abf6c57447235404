"""Everything that steers a runtime, as values."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from prowess.catalog.switches import Switch
from prowess.errors import SettingsError
from prowess.policy import DEFAULT_PROFILE, PROFILES, Policy
from prowess.sources.mcp.servers import McpServer
from prowess.sources.places import USER_NAME_HINT, Place, is_user_name

__all__ = ["AgentSettings", "Settings", "WebSettings"]


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """What the settings say of one agent."""

    skills: tuple[str, ...] | None = None
    """Names or ids that it may see. None and `*`: all. Empty: none."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Where the web app is reached."""

    host: str = "127.0.0.1"
    port: int = 8765
    public_url: str = ""
    """Under which browsers reach it, if a proxy stands before it."""
    hosts: tuple[str, ...] = ()
    """Further names that it answers to."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that steers a runtime."""

    policy: Policy
    place: Place
    profile: str = DEFAULT_PROFILE
    file: str = ""
    """The file that was read; empty if there is none."""
    says_enabled: bool = field(default=False, compare=False)
    """Whether the file itself says if there are skills at all."""
    directories: tuple[str, ...] | None = None
    """Folders that take the place of the profile's sources."""
    extra_directories: tuple[str, ...] = ()
    """Folders that are searched before the profile's sources."""
    database: str = ""
    """Where state is kept: empty for a file in Prowess' home, `memory`, or the address of a database."""
    model: str = "offline"
    """The model that answers: `offline`, or `provider:name`."""
    model_url: str = ""
    """The address of a server that speaks OpenAI's protocol; empty for the provider's own."""
    models: tuple[str, ...] = ()
    """Further ones to choose from."""
    keep_receipts_days: int = 365
    durable_copies: bool = True
    """Whether copies are on the disk, and not only in memory, before they are used."""
    switches: Mapping[tuple[str, str], Switch] = field(default_factory=dict[tuple[str, str], Switch])
    agents: Mapping[str, AgentSettings] = field(default_factory=dict[str, AgentSettings])
    web: WebSettings = WebSettings()
    mcp_servers: tuple[McpServer, ...] = ()
    """Servers that skills are taken from, in the order of the file."""

    def for_user(self, user: str) -> "Settings":
        """Return the same settings for another user."""
        if not is_user_name(user):
            raise SettingsError(f"'{user}' cannot be a user's name", hint=USER_NAME_HINT, code="bad-user")
        return replace(self, place=replace(self.place, user=user))

    def with_named_folders(self) -> "Settings":
        """Return the same settings for folders that somebody names: a profile that waits to be configured now is."""
        profile = PROFILES.get(self.profile)
        if self.says_enabled or profile is None or profile.enabled:
            return self
        return replace(self, policy=replace(self.policy, enabled=True))

    @property
    def cache_folder(self) -> str:
        """Where caches lie: always safe to delete."""
        return os.path.join(self.place.prowess_home, "cache")

    @property
    def state_file(self) -> str:
        """Where decisions of people are kept."""
        return os.path.join(self.place.prowess_home, "state.db")
