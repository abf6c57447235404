"""How the MCP server is to be reached, and the bounds that it keeps."""

from dataclasses import dataclass, field

from prowess.surfaces.http.options import HttpOptions

__all__ = ["McpLimits", "McpOptions"]


@dataclass(frozen=True, slots=True)
class McpLimits:
    """What one process takes on."""

    sessions: int = 256
    """Of clients over HTTP that are open at once."""
    idle_seconds: float = 1_800.0
    """After which a session over HTTP that nobody uses ends."""
    body_bytes: int = 1_000_000
    calls: int = 64
    """Requests that work, or wait for a person, at once; further ones wait. Lists have threads of their own."""
    calls_per_client: int = 16
    """So many of them for a client that is asked in between."""
    lists: int = 16
    """Requests that ask nobody, at once; further ones wait."""
    questions_per_client: int = 8
    """Forms that one client may show at once; what would need another is refused."""
    question_seconds: float = 3_600.0
    """For a person to fill in a form; then nobody was there."""
    subscriptions: int = 1_024
    questions: int = 1_000
    """That wait for their answers; older ones are forgotten."""


@dataclass(frozen=True, slots=True)
class McpOptions:
    """For whom the server works, and where it listens."""

    agent: str = ""
    session: str = ""
    """The one session of all clients; empty: each has its own, which ends with it."""
    http: HttpOptions | None = None
    """Where it listens; None: on standard input and output."""
    limits: McpLimits = field(default_factory=McpLimits)
