"""A process that carries out one order and ends: `python -m prowess.sources.mcp.worker`.

A server may send what takes much memory to read, and its answers may never end. In a process of its own, neither slows
a turn down, and all of it can be ended at once. The order comes on standard input, the outcome goes to standard output.
"""

import logging
import os
import signal
import sys

import anyio
import msgspec

from prowess.sources.mcp.orders import Order
from prowess.sources.mcp.work import carry_out

__all__ = ["main"]

_MAX_MEMORY_BYTES = 1 << 30
"""For the data of this process; that of the server that it has started is its own affair."""


def main() -> None:
    """Carry out the order."""
    logging.disable()  # Libraries log what a server sends, at any length; what matters is in the outcome.
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    outcome = anyio.run(lambda: carry_out(order, opened=_limit_memory))
    sys.stdout.buffer.write(msgspec.json.encode(outcome))
    sys.stdout.flush()
    _end_group()


def _limit_memory() -> None:
    if sys.platform == "win32":
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most == resource.RLIM_INFINITY or most > _MAX_MEMORY_BYTES:
        resource.setrlimit(resource.RLIMIT_DATA, (_MAX_MEMORY_BYTES, most))


def _end_group() -> None:
    """End whatever the server has left running, and with it this process, which was started to lead the group."""
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
