"""Which names the server answers to, and which pages may call it: against rebound names and foreign pages."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from prowess.surfaces.http.authorities import Authorities
from prowess.surfaces.http.host_names import Authority, is_loopback, parse_authority
from prowess.surfaces.http.refusals import RequestRefused
from prowess.surfaces.web.site import Site
from prowess.surfaces.web.telemetry.health import PROBES

__all__ = ["HostGuard"]

_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_PROXIED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
_OWN_SITES = frozenset({"same-origin", "none"})
"""What browsers say of requests by our pages, and of those that a person typed. Other ports are `same-site`."""


class HostGuard:
    """Refuses requests that are for another name, or that a page from elsewhere has made.

    Sets `prowess.local` in the scope: whether whoever asks sits at this very machine.
    """

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app = app
        self._authorities = Authorities(site.options)
        self._is_behind_proxy = bool(site.options.public_url)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["prowess.local"] = False
        if scope["path"] not in PROBES:  # Whoever looks after containers asks by address.
            headers = Headers(scope=scope)
            host = self._check_host(headers)
            self._check_origin(headers, host=host)
            _check_site(headers, method=scope["method"])
            # A proxy on this machine may pass for a local client in every respect.
            scope["prowess.local"] = not self._is_behind_proxy and _is_local(scope, headers, host=host)
        await self.app(scope, receive, send)

    def _check_host(self, headers: Headers) -> Authority:
        given = headers.getlist("host")
        host = parse_authority(given[0]) if len(given) == 1 else None
        if host is None or not self._authorities.includes(host):
            raise RequestRefused(
                "this server does not answer to the name in the address",
                status=421,
                code="wrong-host",
                hint="use the address that `prowess serve` printed, or start it with --allow-host NAME",
            )
        return host

    def _check_origin(self, headers: Headers, *, host: Authority) -> None:
        given = headers.getlist("origin")
        if len(given) > 1 or any(not self._authorities.is_own_origin(origin, host=host) for origin in given):
            raise _foreign("a page from elsewhere has sent this request")


def _check_site(headers: Headers, *, method: str) -> None:
    """Refuse what a browser says that another site has caused, but for a link that somebody followed."""
    site = headers.get("sec-fetch-site")
    if site is not None and site not in _OWN_SITES and not _is_followed_link(headers, method=method):
        raise _foreign("a page from elsewhere has sent this request")
    if method in _READING or site == "same-origin" or "origin" in headers:
        return
    if not headers.get("authorization", "").lower().startswith("bearer "):
        raise _foreign("it cannot be told which page has sent this request")


def _is_followed_link(headers: Headers, *, method: str) -> bool:
    is_page = headers.get("sec-fetch-dest", "document") == "document"
    return method == "GET" and headers.get("sec-fetch-mode") == "navigate" and is_page


def _foreign(message: str) -> RequestRefused:
    return RequestRefused(
        message,
        status=403,
        code="foreign-origin",
        hint="use Prowess' own pages; programs send Authorization: Bearer TOKEN and no Origin",
    )


def _is_local(scope: Scope, headers: Headers, *, host: Authority) -> bool:
    """Whether a request comes from this machine: by address, by name, and through no proxy."""
    client = scope.get("client")
    if not client or not is_loopback(client[0]) or not host.is_loopback:
        return False
    return not any(name in headers for name in _PROXIED)
