"""Replace a file as a whole: whoever reads it sees the old one or the new one, also after a crash."""

import os
import tempfile
from contextlib import suppress

from prowess.sources.durable_names import fsync_folder

__all__ = ["write_whole"]


def write_whole(path: str, content: bytes, *, mode: int) -> None:
    """Put a file in its place in one step, on disk when this returns. A link of this name is replaced, not followed."""
    folder, name = os.path.split(path)
    handle, draft = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, mode)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    fsync_folder(folder or ".")
