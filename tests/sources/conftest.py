"""Folders that a user without rights can reach."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every user may enter; pytest's own folders are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="prowess-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
