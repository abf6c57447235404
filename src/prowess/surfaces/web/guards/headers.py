"""Headers that every answer carries, whatever makes it."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prowess.surfaces.web.site import Site

__all__ = ["CONTENT_SECURITY_POLICY", "HeaderGuard"]

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_CLOSED_FEATURES = (
    "accelerometer",
    "autoplay",
    "camera",
    "clipboard-read",
    "display-capture",
    "encrypted-media",
    "fullscreen",
    "gamepad",
    "geolocation",
    "gyroscope",
    "hid",
    "idle-detection",
    "local-fonts",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "picture-in-picture",
    "publickey-credentials-get",
    "screen-wake-lock",
    "serial",
    "storage-access",
    "usb",
    "window-management",
    "xr-spatial-tracking",
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # With no-referrer, browsers would send our own forms with the Origin `null`.
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in _CLOSED_FEATURES),
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "Server": "prowess",  # Without one, the server puts its own there.
}
_SECURE = {"Strict-Transport-Security": "max-age=31536000"}


class HeaderGuard:
    """Adds what is missing; an answer that brings its own keeps it."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self.app = app
        self._headers = {**_HEADERS, **(_SECURE if site.options.is_secure else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers)
