"""The folders of one user in Prowess' home: made with safe modes, and never something else that has their name."""

import os
import stat

from prowess.copies.disk_failures import telling
from prowess.copies.layout import Layout
from prowess.errors import WorldError
from prowess.sources.private_folders import make_private_folder
from prowess.sources.source import show_path

__all__ = ["ensure_plain_folder", "ensure_user_folders"]

_PRIVATE = 0o700
_READABLE = 0o755
"""For what is mounted: the user inside a container must be able to read it. The folders above keep others out."""


def ensure_user_folders(layout: Layout, user: str) -> None:
    """Make the folders for a user's own skills, their history and their copies, as far as they are missing.

    Those that are there keep their modes. A link or a file in the place of one is refused: what is written there would
    go somewhere else.
    """
    owner = layout.user_folder(user)
    with telling(f"the folders of the user '{user}' cannot be made"):
        make_private_folder(layout.home)
        for folder in (os.path.dirname(owner), owner, layout.skills_folder(user), layout.history(user)):
            ensure_plain_folder(folder)
        ensure_plain_folder(layout.personal(user))
        ensure_plain_folder(layout.active(user).folder, mode=_READABLE)


def ensure_plain_folder(path: str, *, mode: int = _PRIVATE) -> None:
    """Make a folder if there is nothing of its name; raise if what is there is no folder itself."""
    try:
        os.mkdir(path, mode)
        os.chmod(path, mode)  # Whatever the umask says.
    except FileExistsError:
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode):
            what = "a link" if stat.S_ISLNK(status.st_mode) else "not a folder"
            raise WorldError(
                f"{show_path(path)} is {what}",
                hint="Prowess writes only into folders of its own; move it away and try again",
                code="not-a-folder",
            ) from None
