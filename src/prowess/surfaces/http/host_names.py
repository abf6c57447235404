"""Names of machines, with or without a port: as browsers send them, and as they are given in settings."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = [
    "LOOPBACK_NAMES",
    "PORTS",
    "Authority",
    "is_loopback",
    "parse_authority",
    "parse_given_host",
    "parse_origin",
]

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
PORTS = {"http": 80, "https": 443}
_MAX_LENGTH = 300
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")


def is_loopback(host: str) -> bool:
    """Whether an address or a name is this machine's own."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return host.lower().rstrip(".") == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


@dataclass(frozen=True, slots=True)
class Authority:
    """A name or an address, and a port if one is given."""

    host: str
    port: int | None = None

    @property
    def is_address(self) -> bool:
        """Whether it is the address of a machine, which no name server can bend."""
        return _find_address(self.host) is not None

    @property
    def is_loopback(self) -> bool:
        """Whether it names this very machine."""
        return is_loopback(self.host)


def parse_authority(text: str) -> Authority | None:
    """Return what a Host header says; None if it cannot be one."""
    if not text or len(text) > _MAX_LENGTH or not text.isascii() or any(sign in text for sign in "/?#@\\ \t,"):
        return None
    try:
        parts = urlsplit(f"//{text}")
        port = parts.port
    except ValueError:
        return None
    host = (parts.hostname or "").rstrip(".").lower()
    if not host or text.endswith(":"):
        return None
    address = _find_address(host)
    return Authority(host if address is None else str(address), port)


def parse_given_host(text: str) -> Authority | None:
    """Return a name that somebody has given; None if no browser could ask for it.

    An IPv6 address may stand without its brackets.
    """
    found = parse_authority(text) or parse_authority(f"[{text}]")
    if found is None or not (found.is_address or _NAME.fullmatch(found.host)):
        return None
    return found


def parse_origin(text: str) -> tuple[str, Authority] | None:
    """Return the scheme of an Origin header, and the name with its port filled in; None for `null` and the like."""
    scheme, found, rest = text.partition("://")
    authority = parse_authority(rest) if found else None
    if authority is None or scheme not in PORTS:
        return None
    return scheme, Authority(authority.host, authority.port or PORTS[scheme])


def _find_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
