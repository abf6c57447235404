"""How often something may happen: token buckets, of all or of each client, in bounded memory."""

import ipaddress
from collections import OrderedDict
from collections.abc import Callable

__all__ = ["Bucket", "ClientBuckets", "client_key"]

_MAX_CLIENTS = 4_096
_NETWORK_BITS = 64
"""Of an IPv6 address: below that, one client has as many addresses as it likes."""


class Bucket:
    """Fills at a steady rate up to a burst; each thing that happens takes one out."""

    __slots__ = ("_at", "_burst", "_level", "_rate")

    def __init__(self, rate_per_second: float, *, burst: float, now: float) -> None:
        self._rate = rate_per_second
        self._burst = burst
        self._level = burst
        self._at = now

    def take(self, now: float) -> float:
        """Take one out; return 0, or after how many seconds there will be one if there is none."""
        self._level = min(self._burst, self._level + (now - self._at) * self._rate)
        self._at = now
        if self._level < 1:
            return (1 - self._level) / self._rate
        self._level -= 1
        return 0.0


class ClientBuckets:
    """A bucket for each client; of too many clients, those that were away for longest are forgotten."""

    def __init__(self, rate_per_second: float, *, burst: float, clock: Callable[[], float]) -> None:
        self._rate = rate_per_second
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, client: str) -> float:
        """Count one of a client; return 0, or after how many seconds it may come again."""
        now, key = self._clock(), client_key(client)
        bucket = self._buckets.get(key)
        if bucket is None:
            if len(self._buckets) >= _MAX_CLIENTS:
                self._buckets.popitem(last=False)
            bucket = self._buckets[key] = Bucket(self._rate, burst=self._burst, now=now)
        self._buckets.move_to_end(key)
        return bucket.take(now)


def client_key(client: str) -> str:
    """Return what an address counts as: itself, or its network where one client has many."""
    try:
        address = ipaddress.ip_address(client.partition("%")[0])
    except ValueError:
        return client
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _NETWORK_BITS), strict=False))
