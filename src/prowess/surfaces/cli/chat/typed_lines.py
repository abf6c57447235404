"""Read a line from the terminal while an event loop runs, so that it can be given up."""

import os
import sys

import anyio
import anyio.to_thread

__all__ = ["read_typed_line"]

_MAX_BYTES = 4_096
"""As much as a terminal gives of one line."""


async def read_typed_line() -> str | None:
    """Return the next line that is typed; None at the end of input."""
    if sys.platform == "win32":
        return await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True) or None
    handle = sys.stdin.fileno()
    await anyio.wait_readable(handle)
    raw = os.read(handle, _MAX_BYTES)
    return raw.decode("utf-8", "replace") if raw else None
