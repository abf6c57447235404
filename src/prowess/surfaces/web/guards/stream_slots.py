"""How many streams are open at once, in all and to one client."""

from collections import Counter
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

from prowess.errors import Refused
from prowess.surfaces.http.options import HttpLimits
from prowess.surfaces.web.guards.rates import client_key

__all__ = ["StreamSlots"]


class StreamSlots:
    """Counts open streams. For one event loop."""

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._clients: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._clients.total()

    def take(self, client: str) -> AbstractContextManager[None]:
        """Return what counts one more stream to a client (`prowess.client` of the scope) while its block lasts.

        Raises `Refused` at once if there are too many: by the time the block begins, the answer has begun.
        """
        key = client_key(client)
        if len(self) >= self._limits.streams or self._clients[key] >= self._limits.streams_per_client:
            raise Refused(
                f"{len(self)} streams are open, {self._clients[key]} of them to you",
                hint="close some pages, or try again later",
                code="too-many-streams",
            )
        return self._hold(key)

    @contextmanager
    def _hold(self, key: str) -> Generator[None]:
        self._clients[key] += 1
        try:
            yield
        finally:
            self._clients[key] -= 1
            if not self._clients[key]:
                del self._clients[key]
