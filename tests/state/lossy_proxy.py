"""A way to a server that breaks at a chosen moment: around a COMMIT."""

import select
import socket
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from enum import Enum
from urllib.parse import urlsplit

__all__ = ["Loss", "LossyProxy", "lossy_proxy"]


class Loss(Enum):
    """What is lost with the connection."""

    COMMIT = "the server never hears of the COMMIT"
    ANSWER = "the server commits, but its answer is lost"


class LossyProxy:
    """Passes bytes both ways, and loses the next COMMITs as it is told."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._server = (parts.hostname, parts.port)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = parts._replace(netloc=f"{parts.username}@127.0.0.1:{self._socket.getsockname()[1]}").geturl()
        self._losses: list[Loss] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def lose(self, losses: Sequence[Loss]) -> None:
        """Lose the next COMMITs so; those that were to be lost before have been."""
        self.expect_all_lost()
        self._losses = list(losses)

    def expect_all_lost(self) -> None:
        assert self._losses == []

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._server) as server:
            while True:
                for end in select.select([client, server], [], [])[0]:
                    other = server if end is client else client
                    data = end.recv(65536)
                    if not data:
                        return
                    if end is client and b"COMMIT\0" in data and self._losses:
                        if self._losses.pop(0) is Loss.ANSWER:
                            server.sendall(data)
                            server.recv(65536)
                        return
                    other.sendall(data)


@contextmanager
def lossy_proxy(target: str) -> Generator[LossyProxy]:
    """A proxy to the server at this address."""
    proxy = LossyProxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
