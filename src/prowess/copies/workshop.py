"""The workshop: where folders lie that are on their way in or out, outside of everything that is mounted.

What is taken out of a root is *retired*: it stays for a while, since somebody may have opened it and still read in it.
"""

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import suppress

from prowess.copies.entries import list_names
from prowess.copies.trees import remove_tree, unlock_folder
from prowess.sources.private_folders import make_private_folder

__all__ = ["GRACE_SECONDS", "MOST_AT_ONCE", "Workshop"]

GRACE_SECONDS = 60
"""How long a retired copy stays for those who have opened it."""
_MAX_RETIRED = 2_000
"""How many of them stay at most."""
MOST_AT_ONCE = 500
"""How much is cleared away before one turn: who removes thousands of skills does not wait for all of it."""
_LEAST_SECONDS = 5
"""How long even too many of them stay."""
_DRAFT, _SWAP = "draft-", "swap-"
_NO_DIGEST = "-"
_RETIRED = re.compile(r"(\d{1,20})-([0-9a-f]{64}|-)-[0-9a-f]+")


class Workshop:
    """Folders in transit on one file system."""

    def __init__(self, folder: str) -> None:
        self._staging = os.path.join(folder, "staging")
        self._retired = os.path.join(folder, "retired")

    def new_draft(self) -> str:
        """Return a path for something that nobody sees before it is done, or any more; nothing is there yet."""
        return self._new_staging(_DRAFT)

    def new_swap(self) -> str:
        """Return a path for something that changes places with what others may have opened."""
        return self._new_staging(_SWAP)

    def _new_staging(self, kind: str) -> str:
        make_private_folder(self._staging)
        return os.path.join(self._staging, kind + os.urandom(12).hex())

    def clean_staging(self) -> None:
        """Take care of what a crash left. Only for who knows that nobody else is at work."""
        for name in list_names(self._staging):
            path = os.path.join(self._staging, name)
            if name.startswith(_SWAP):
                self.retire(path)  # It may be a former copy, and somebody may be reading in it.
            else:
                remove_tree(path)

    def retire(self, path: str, *, digest: str = "") -> None:
        """Take a folder, file or link out of use; it goes when the time of grace is over."""
        make_private_folder(self._retired)
        if stat.S_ISDIR(os.lstat(path).st_mode):
            unlock_folder(path)
        name = f"{time.time_ns() // 1_000_000}-{digest or _NO_DIGEST}-{os.urandom(6).hex()}"
        os.rename(path, os.path.join(self._retired, name))

    def dispose(self, path: str) -> None:
        """Remove a folder; nobody finds it by its name while it is being removed."""
        staged = self.new_draft()
        unlock_folder(path)
        os.rename(path, staged)
        remove_tree(staged)

    def retired_digests(self) -> Iterator[str]:
        """Return the digest of each retired copy."""
        for name in list_names(self._retired):
            found = _RETIRED.fullmatch(name)
            if found:
                yield found[2]

    def clean_retired(self) -> list[str]:
        """Remove the retired copies whose time is over; return their digests."""
        now = time.time()
        gone: list[str] = []
        names = reversed(list_names(self._retired))
        for position, name in enumerate(names):
            found = _RETIRED.fullmatch(name)
            age = now - int(found[1]) / 1_000 if found else GRACE_SECONDS
            grace = GRACE_SECONDS if position < _MAX_RETIRED else _LEAST_SECONDS
            if age < -GRACE_SECONDS:  # The clock was set back: its time begins anew.
                with suppress(FileNotFoundError):  # Another process was faster.
                    self.retire(os.path.join(self._retired, name), digest=found[2] if found else "")
            # An age below zero: another process has retired it since this one looked at the clock.
            if age < grace or len(gone) >= MOST_AT_ONCE:
                continue
            if remove_tree(os.path.join(self._retired, name)) and found:
                gone.append(found[2])
        return gone

    def has_retired(self) -> bool:
        """Whether something waits to be removed."""
        return bool(list_names(self._retired))
