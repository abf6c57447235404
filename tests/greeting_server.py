"""A server of this machine, for tests of who can reach it."""

import socket
import threading
from collections.abc import Iterator

import pytest

__all__ = ["port"]


@pytest.fixture
def port() -> Iterator[int]:
    """A server of this machine, which greets whoever reaches it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        over = threading.Event()

        def serve() -> None:
            while not over.is_set():
                try:
                    with server.accept()[0] as reached:
                        reached.sendall(b"welcome")
                except TimeoutError:
                    continue

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        over.set()
        thread.join()
