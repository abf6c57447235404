"""How a server is to be reached, and the bounds that it keeps."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from prowess.errors import SettingsError
from prowess.surfaces.http.host_names import is_loopback, parse_given_host

__all__ = ["NEAR", "HttpLimits", "HttpOptions", "check_options"]

NEAR = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - they are compared with, not listened on
"""How a server on all addresses is reached from this machine."""
_LEAST_TOKEN = 16
"""Characters of a token that somebody chose."""


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What one process takes on."""

    body_bytes: int = 1_000_000
    body_seconds: float = 15.0
    """For the whole body of a request to come."""
    header_seconds: float = 10.0
    requests_per_second: float = 200.0
    """Of one client who is logged in, after a burst of twice as many; behind a proxy, of all of them together."""
    stranger_requests_per_second: float = 50.0
    """Of one address from which nobody is logged in, after a burst of twice as many."""
    logins_per_minute: float = 20.0
    """Wrong tokens of all clients together."""
    streams: int = 1_000
    streams_per_client: int = 512
    """Behind a proxy, of all clients together."""
    send_seconds: float = 30.0
    """For a client to take what was sent; a slower one is let go."""
    turns: int = 32
    """Answers under way at once."""
    question_seconds: float = 3_600.0
    """For a person to answer a question of consent."""
    beat_seconds: float = 1.0
    """Between two signs of life of whoever works on an answer; a third of that where several servers show it."""
    silence_seconds: float = 6.0
    """Without a sign of life, after which a server counts as dead, and another goes on with its answers."""
    stale_seconds: float = 900.0
    """After which such an answer is only brought to an end: nobody waits for it any more."""


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Where a server listens, and who may use it."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str = ""
    """What a client must know; empty: nothing, which only a loopback address allows."""
    public_url: str = ""
    """Under which browsers reach it, if a proxy stands before it."""
    hosts: tuple[str, ...] = ()
    """Further names that it answers to."""
    agent: str = ""
    model: str = ""
    """That answers unless another is chosen; empty for that of the settings."""
    limits: HttpLimits = HttpLimits()

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it over TLS, so that cookies must not travel without."""
        return urlsplit(self.public_url).scheme == "https"

    @property
    def url(self) -> str:
        """The address of the first page."""
        host = NEAR.get(self.host, self.host)
        shown = f"[{host}]" if ":" in host else host
        return f"{self.public_url.rstrip('/') or f'http://{shown}:{self.port}'}/"

    @property
    def login_url(self) -> str:
        """The address that lets a browser in."""
        return f"{self.url}login?token={self.token}" if self.token else self.url


def check_options(options: HttpOptions) -> None:
    """Raise `SettingsError` if a server must not be started like that."""
    if not options.token and not is_loopback(options.host):
        raise SettingsError(
            f"without a token, anybody who reaches {options.host} could use your skills",
            hint="leave --no-token out, or listen on 127.0.0.1",
            code="token-needed",
        )
    if not options.token and (options.public_url or options.hosts):
        raise SettingsError(
            "without a token, anybody who reaches this server by another name could use your skills",
            hint="leave --no-token out, or --public-url and --allow-host",
            code="token-needed",
        )
    if options.token and (
        len(options.token) < _LEAST_TOKEN or not (options.token.isascii() and options.token.isalnum())
    ):
        raise SettingsError(
            "the token is too easy to guess, or does not fit into an address",
            hint=f"take at least {_LEAST_TOKEN} letters and digits, or leave it out for one that is made for you",
            code="bad-token",
        )
    if options.public_url and not _is_web_address(options.public_url):
        raise SettingsError(
            f"'{options.public_url}' is not the address of a web site",
            hint="write it like https://skills.example.org",
            code="bad-address",
        )
    for name in options.hosts:
        if parse_given_host(name) is None:
            raise SettingsError(
                f"'{name}' is not the name of a machine, so no browser could ask for it",
                hint="give --allow-host and web.hosts names alone, like skills.example.org or box:8080",
                code="bad-host",
            )


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.path in {"", "/"} and parts.port != 0
        )
    except ValueError:  # A bracket that is not closed, or a port that is no number.
        return False
