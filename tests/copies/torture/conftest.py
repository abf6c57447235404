"""A disk in memory, and syncs that start warm."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.copies.torture.warm_syncs import WarmSyncs, warm_syncs

_MEMORY = Path("/dev/shm")


@pytest.fixture
def quick_disk(tmp_path: Path) -> Iterator[Path]:
    """An empty folder where syncing to disk takes no time, if the system has such a place."""
    if not _MEMORY.is_dir():
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="prowess-torture-", dir=_MEMORY))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def syncs() -> Iterator[WarmSyncs]:
    """A server for this worker."""
    with warm_syncs() as server:
        yield server
