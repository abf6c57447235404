"""Read what a process writes to its end, and keep only the end of it."""

import os
import threading
from typing import IO

__all__ = ["Drain"]

_CHUNK = 1 << 16
_PATIENCE_SECONDS = 1.0
"""For what is left in a pipe whose writers are gone."""


class Drain:
    """Reads a pipe in a thread, so that whoever writes never waits, and little of it takes memory."""

    def __init__(self, stream: IO[bytes], *, most: int) -> None:
        self._stream = stream
        self._most = most
        self._kept = b""
        self._thread = threading.Thread(target=self._read, name="prowess-drain", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            while part := os.read(self._stream.fileno(), _CHUNK):
                self._kept = (self._kept + part)[-self._most :]

    def wait(self, seconds: float) -> bool:
        """Wait until everybody who writes has ended; say whether they have."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def finish(self) -> bytes:
        """Return the last bytes that were written, when everybody who writes has been ended."""
        self._thread.join(_PATIENCE_SECONDS)
        return self._kept
