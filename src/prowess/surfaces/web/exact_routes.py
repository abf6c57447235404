"""Routes for names of any kind: `%2F` in an address is a slash within a name, and does not end it."""

import re
from urllib.parse import unquote, unquote_to_bytes

from starlette.routing import Match, Route
from starlette.types import Scope

__all__ = ["ExactRoute"]

_SLASH = re.compile(b"%2f", re.IGNORECASE)


class ExactRoute(Route):
    """A route whose parameters are what was meant before it was made fit for an address.

    The ids of conversations and skills may hold slashes. The path that a server hands on is unquoted already, and has
    lost the difference.
    """

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        raw: bytes = scope.get("raw_path") or b""
        if not _SLASH.search(raw):
            return super().matches(scope)
        twice_quoted = _SLASH.sub(b"%252F", raw.replace(b"%25", b"%2525"))
        path = unquote_to_bytes(twice_quoted).decode("utf-8", "replace")
        match, found = super().matches({**scope, "path": path})
        if match is not Match.NONE:
            found["path_params"] = {name: unquote(value) for name, value in found["path_params"].items()}
        return match, found
