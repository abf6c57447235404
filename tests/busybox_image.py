"""A container image of one file: busybox, with its commands as links."""

import io
import shutil
import tarfile

import pytest

__all__ = ["make_image"]

_COMMANDS = ("cat", "id", "kill", "ls", "mkdir", "mv", "rm", "sh", "sleep", "stat", "touch", "wget")
_FOLDERS = ("bin", "dev", "etc", "proc", "sys", "tmp")


def make_image(*, note: str = "") -> bytes:
    """Return the image as a tar archive. Another note makes another image."""
    program = shutil.which("busybox")
    if program is None:
        pytest.fail("busybox is not installed: apt-get install busybox-static")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for folder in _FOLDERS:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(entry)
        archive.add(program, "bin/busybox")
        for command in _COMMANDS:
            entry = tarfile.TarInfo(f"bin/{command}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(entry)
        entry = tarfile.TarInfo("etc/note")
        entry.size = len(note.encode())
        archive.addfile(entry, io.BytesIO(note.encode()))
    return buffer.getvalue()
