"""How many streams are open at once, in all and to one client."""

from collections import Counter
from contextlib import ExitStack

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

    def take(self, client: str) -> ExitStack:
        """Count one more stream to a client (`prowess.client` of the scope) until what is returned is closed.

        Raises `Refused` if there are too many. It counts from now on: what asks at the same time is counted, too.
        """
        key = client_key(client)
        if len(self) >= self._limits.streams or self._clients[key] >= self._limits.streams_per_client:
            raise Refused(
                f"{len(self)} streams are open, {self._clients[key]} of them to you",
                hint="close some pages, or try again later",
                code="too-many-streams",
            )
        self._clients[key] += 1
        slot = ExitStack()
        slot.callback(self._give_back, key)
        return slot

    def _give_back(self, key: str) -> None:
        self._clients[key] -= 1
        if not self._clients[key]:
            del self._clients[key]
