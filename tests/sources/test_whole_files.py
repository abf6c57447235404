"""A file is replaced as a whole, and stays replaced."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prowess.sources.whole_files import write_whole


def test_file_is_replaced_and_a_link_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "precious").write_text("p")
    (tmp_path / "file").symlink_to("precious")
    write_whole(str(tmp_path / "file"), b"new", mode=0o640)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "file").lstat().st_mode & 0o777 == 0o640
    monkeypatch.chdir(tmp_path)
    write_whole("file", b"newer", mode=0o600)
    assert (tmp_path / "file").read_bytes() == b"newer"
    assert (tmp_path / "precious").read_text() == "p"
    assert sorted(os.listdir(tmp_path)) == ["file", "precious"]


def test_file_that_cannot_be_replaced_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OSError, match="file"):
        write_whole(str(tmp_path / "file"), b"new", mode=0o600)
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.slow
def test_file_and_its_name_are_on_disk_when_it_is_written(tmp_path: Path) -> None:
    """strace (apt-get install strace) tells what the kernel was asked for."""
    (tmp_path / "folder").mkdir()
    file, log = tmp_path / "folder" / "file", tmp_path / "calls"
    script = "import sys; from prowess.sources.whole_files import write_whole; write_whole(sys.argv[1], b'x', mode=384)"
    command = ["strace", "-f", "-y", "-qq", "-o", str(log), "-e", "trace=fsync,rename"]
    subprocess.run([*command, sys.executable, "-c", script, str(file)], check=True, timeout=60)
    calls = [line for line in log.read_text().splitlines() if str(tmp_path) in line]
    assert [re.findall(r"\b(fsync|rename)\(", line) for line in calls] == [["fsync"], ["rename"], ["fsync"]]
    assert f"<{tmp_path / 'folder'}>" in calls[-1]
