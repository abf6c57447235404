"""Change the settings file, one at a time and in one step."""

import os
import stat
from collections.abc import Callable

from prowess.errors import WorldError
from prowess.settings.loading import find_prowess_home, find_settings_file
from prowess.sources.locks import Hold, hold_lock
from prowess.sources.private_folders import make_private_folder
from prowess.sources.whole_files import write_whole

__all__ = ["edit_settings_file"]

_LOCK = "cache/settings.lock"
_PRIVATE = 0o600


def edit_settings_file(config: str | None, change: Callable[[str], str]) -> str:
    """Put in place what `change` makes of the settings file, with the rights that it had; return its path.

    The file may be missing, and may hold what cannot be loaded: what it holds is for `change` to judge. Of two who
    change it at the same time, the second changes what the first has written. A link stays one.
    """
    path = os.path.realpath(find_settings_file(config))
    try:
        with hold_lock(os.path.join(find_prowess_home(), *_LOCK.split("/")), Hold.ALONE):
            text, mode = _read(path)
            changed = change(text)
            make_private_folder(os.path.dirname(path))
            write_whole(path, changed.encode(), mode=mode)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise WorldError(f"{path} cannot be changed: {reason}", hint="nothing was changed", code="disk") from error
    return path


def _read(path: str) -> tuple[str, int]:
    """Return what a file holds, and its rights; those of a private one if there is none."""
    try:
        with open(path, "rb") as file:
            return file.read().decode(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except FileNotFoundError:
        return "", _PRIVATE
