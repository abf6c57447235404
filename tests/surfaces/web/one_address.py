"""One address before several servers, as a proxy is: each connection goes to the first that lives."""

import contextlib
import socket
import threading
from types import TracebackType

__all__ = ["OneAddress"]


class OneAddress:
    """Passes connections on, byte by byte, while it is open."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.behind: list[int] = []
        """Ports, in the order in which they are tried."""
        self._open: set[socket.socket] = set()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "OneAddress":
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A listener that somebody waits on must be woken before it is closed.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            _hang_up(connection)

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = self._find()
            if server is None:
                client.close()
                continue
            self._open |= {client, server}
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    def _find(self) -> socket.socket | None:
        for port in self.behind:
            with contextlib.suppress(OSError):
                return socket.create_connection(("127.0.0.1", port), timeout=60)
        return None

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(1 << 16):
                target.sendall(part)
        for one in (source, target):
            _hang_up(one)
            self._open.discard(one)


def _hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
