"""What every sandbox on this machine shows of it to a run, and as whom and within which bounds it lets that work."""

import os
from collections.abc import Callable, Sequence

from prowess.containers.mounts import Access, Mount
from prowess.execution.sandbox import NoSandbox

__all__ = ["CERTIFICATES", "MAX_OPEN_FILES", "NAME_SERVICE", "OF_THE_HOST", "find_owner"]

MAX_OPEN_FILES = 1_024
"""Of one process."""
OF_THE_HOST = ("/etc/ld.so.cache", "/etc/alternatives")
"""What programs of this machine need besides /usr."""
CERTIFICATES = ("/etc/ssl/certs", "/etc/ca-certificates", "/etc/pki")
"""What they need besides where there is a network."""
NAME_SERVICE = "passwd: files\ngroup: files\nhosts: files dns\n"
"""Of /etc/nsswitch.conf."""


def find_owner(mounts: Sequence[Mount], *, may_be_root: Callable[[], bool] = lambda: False) -> tuple[int, int] | None:
    """Return the user and the group that own what a run may write, as whom it must work; None if it may write nothing.

    Raise if that is root, unless `may_be_root`, which is asked only then.
    """
    for mount in mounts:
        if mount.access is Access.READ_WRITE:
            status = os.stat(mount.host)
            if status.st_uid == 0 and not may_be_root():
                raise NoSandbox(
                    f"{mount.host} belongs to root, and no script is run as root",
                    hint="give the folder to another user, or run Prowess as the user who works there",
                    code="workspace-of-root",
                )
            return status.st_uid, status.st_gid
    return None
