"""What is to be run, and what is to be read."""

import pytest

from prowess.agent.offline.customary_folders import is_script


@pytest.mark.parametrize("path", ["scripts/a", "./bin/b", "a.py", "tools/a.sh", "scripts/a.md"])
def test_script_is_known_by_its_folder_or_its_name(path: str) -> None:
    assert is_script(path)


@pytest.mark.parametrize("path", ["references/a.py", "./examples/a.sh", "a.md", "tools/a.txt", "scripts", ""])
def test_all_else_is_to_be_read(path: str) -> None:
    assert not is_script(path)
