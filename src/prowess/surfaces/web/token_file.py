"""The login token, made once and kept in a file for its owner alone, so that browsers stay logged in over restarts."""

import os
import secrets
import stat

from prowess.errors import SettingsError, WorldError
from prowess.sources.private_folders import make_private_folder

__all__ = ["make_token", "read_token"]

_NAME = "web-token"
_MODE = 0o600
_MAX_BYTES = 4_096
_TOKEN_BYTES = 24
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def read_token(home: str) -> str:
    """Return the token that is kept in Prowess' home; one is made if there is none."""
    path = os.path.join(home, _NAME)
    try:
        with os.fdopen(os.open(path, _READ), "rb") as file:
            status = os.fstat(file.fileno())
            _check(path, status)
            return file.read(_MAX_BYTES).decode("ascii").strip() or make_token(home)
    except FileNotFoundError:
        return make_token(home)
    except UnicodeDecodeError:
        raise _unfit(path, "holds no token") from None
    except OSError as error:
        raise _unfit(path, "is a link or cannot be read") from error


def make_token(home: str) -> str:
    """Make a new token, and keep it instead of the one before; whoever was logged in by that is so no more."""
    token = secrets.token_hex(_TOKEN_BYTES)
    path = os.path.join(home, _NAME)
    draft = f"{path}.{secrets.token_hex(4)}"
    try:
        make_private_folder(home)
        with os.fdopen(os.open(draft, _MAKE, _MODE), "w", encoding="ascii") as file:
            file.write(token + "\n")
        os.replace(draft, path)  # It takes the place of a link, and does not follow one.
    except OSError as error:
        raise WorldError(
            f"the login token cannot be kept in {path}: {error.strerror}",
            hint="make the folder writable, or set PROWESS_TOKEN",
            code="token-not-kept",
        ) from error
    return token


def _check(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _unfit(path, "is no file")
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077):
        raise _unfit(path, "can be read or written by others")


def _unfit(path: str, what: str) -> SettingsError:
    return SettingsError(
        f"{path} {what}", hint="`prowess serve --new-token` makes it anew, or set PROWESS_TOKEN", code="bad-token-file"
    )
