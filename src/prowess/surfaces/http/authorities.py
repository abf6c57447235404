"""Which names and ports a server answers to, and which origins are its own."""

from collections.abc import Iterator

from prowess.surfaces.http.host_names import LOOPBACK_NAMES, PORTS, Authority, parse_given_host, parse_origin
from prowess.surfaces.http.options import NEAR, HttpOptions

__all__ = ["Authorities"]


class Authorities:
    """What a server answers to, and which origins are its own pages."""

    def __init__(self, options: HttpOptions) -> None:
        self._takes_addresses = options.host in NEAR
        self._exact = frozenset(_list_exact(options))
        self._names = frozenset(one.host for one in _list_further(options) if one.port is None)
        self._public = parse_origin(options.public_url.rstrip("/"))

    def includes(self, host: Authority) -> bool:
        """Whether a request to this name is for us.

        A page elsewhere can have its own name lead here, but neither an address nor a name of ours.
        """
        if host in self._exact or host.host in self._names:
            return True
        return self._takes_addresses and (host.is_address or host.is_loopback)

    def is_own_origin(self, origin: str, *, host: Authority) -> bool:
        """Whether a page from there is one of ours: it has the very name and port that the request is for."""
        parsed = parse_origin(origin)
        if parsed is None:
            return False
        if parsed == self._public:
            return True
        scheme, authority = parsed
        if self._public is not None and host.host == self._public[1].host:
            return False
        return authority == Authority(host.host, host.port or PORTS[scheme])


def _list_exact(options: HttpOptions) -> Iterator[Authority]:
    for name in (*LOOPBACK_NAMES, options.host.lower()):
        yield Authority(name, options.port)
        if options.port == PORTS["http"]:
            yield Authority(name)
    yield from (one for one in _list_further(options) if one.port is not None)
    public = parse_origin(options.public_url.rstrip("/"))
    if public is not None:
        scheme, authority = public
        yield authority
        if authority.port == PORTS[scheme]:
            yield Authority(authority.host)


def _list_further(options: HttpOptions) -> Iterator[Authority]:
    for name in options.hosts:
        authority = parse_given_host(name)
        if authority is not None:
            yield authority
