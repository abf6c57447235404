"""What a container finds as programs: those of this machine in an image of almost nothing, or a named image."""

import hashlib
import io
import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from prowess.containers.mounts import SHARED_SKILLS, Mount
from prowess.execution.engines.container_commands import EngineCommand, explain_failure
from prowess.execution.host_world import CERTIFICATES, NAME_SERVICE, OF_THE_HOST
from prowess.execution.jobs import INPUT_FOLDER, OUTPUT_FOLDER, PACKAGES_FOLDER, WORKSPACE_FOLDER
from prowess.execution.sandbox import NoSandbox, stamp_folder
from prowess.sources.mount_points import read_mount_points

__all__ = ["HostPrograms", "Image", "NamedImage", "find_mounts_below", "make_programs_archive"]

_NAME = "prowess-programs"
_KNOWN_SECONDS = 5.0
"""How long what was asked about a named image is believed."""
_MAX_MOUNTS_BELOW = 64
_BESIDE_USR = ("bin", "lib", "lib32", "lib64", "libx32")
"""Not /sbin, though it is a link on most machines: Docker puts its init there, which must not end up in /usr."""
_FOLDERS = (
    "dev",
    "etc",
    "etc/alternatives",
    "etc/ssl",
    "etc/ssl/certs",
    "proc",
    "sbin",
    "sys",
    "tmp",
    "toolset",
    "usr",
)
_PROGRAMS = ("/usr/bin", "/usr/local/bin")
_SKILL, _NOBODY = 1_000, 65_534


@dataclass(frozen=True, slots=True)
class Image:
    """What a container is made of."""

    name: str
    image_id: str
    volumes: tuple[str, ...] = ()
    """Folders that the engine would make writable, on the disk and without bounds."""


class HostPrograms:
    """The programs of this machine: an image of links and empty folders, with /usr mounted into it."""

    def __init__(self, command: EngineCommand, *, programs: Sequence[str]) -> None:
        self._command = command
        self._programs = tuple(programs)
        self._archive = b""
        self._lock = threading.Lock()

    def get(self) -> Image:
        """Return the image, which need not be there yet."""
        if sys.platform != "linux":
            raise NoSandbox(
                "containers have the programs of this machine only on Linux", hint="name an image in the settings"
            )
        self._archive = self._archive or make_programs_archive(os.getuid(), os.getgid())
        digest = hashlib.sha256(self._archive).hexdigest()[:12]
        return Image(f"{self._command.kind.images}{_NAME}:{digest}", digest)

    def supply(self, image: Image) -> bool:
        """Make the image; whether that is possible, as it is here."""
        with self._lock:
            answer = self._command.ask("import", "-", image.name, text=self._archive)
        if answer.status != 0:
            raise explain_failure(self._command, answer.stderr)
        return True

    def list_mounts(self, *, network: bool) -> tuple[Mount, ...]:
        """Return what shows the programs, with file systems that are mounted below them."""
        wanted = ["/usr", *(f"/{name}" for name in _BESIDE_USR if not os.path.islink(f"/{name}"))]
        wanted += [*OF_THE_HOST, *self._programs, *(CERTIFICATES if network else ())]
        there = [path for path in wanted if os.path.exists(path)]
        places = dict.fromkeys([*there, *find_mounts_below(there)])
        return tuple(Mount(os.path.realpath(place), inside=place) for place in places)

    def identity(self) -> str:
        """Return what changes when a program is installed or removed."""
        return " ".join(map(stamp_folder, (*_PROGRAMS, *self._programs)))

    def forget(self) -> None:
        """See `Forgetful`."""
        self._lock = threading.Lock()


class NamedImage:
    """An image that somebody has pulled or built."""

    def __init__(self, command: EngineCommand, name: str, *, programs: Sequence[str]) -> None:
        self._command = command
        self._name = name
        self._programs = tuple(programs)
        self._known: tuple[float, Image] | None = None

    def get(self) -> Image:
        """Return the image; raise if it is not there."""
        known = self._known
        if known is None or time.monotonic() - known[0] > _KNOWN_SECONDS:
            known = self._known = time.monotonic(), self._ask()
        return known[1]

    def supply(self, _image: Image) -> bool:
        """Nothing is ever pulled here."""
        self._known = None
        return False

    def list_mounts(self, *, network: bool) -> tuple[Mount, ...]:
        """Return the further folders with programs; what a network needs is the image's affair."""
        del network
        there = [path for path in self._programs if os.path.exists(path)]
        return tuple(Mount(os.path.realpath(place), inside=place) for place in (*there, *find_mounts_below(there)))

    def identity(self) -> str:
        """Return the image's own digest."""
        folders = " ".join(f" {stamp_folder(folder)}" for folder in self._programs)
        try:
            return f"{self._name}@{self.get().image_id}{folders}"
        except NoSandbox:
            return f"{self._name} is not there{folders}"

    def forget(self) -> None:
        """See `Forgetful`."""

    def _ask(self) -> Image:
        import json

        answer = self._command.ask("image", "inspect", self._name)
        if answer.status != 0:
            raise explain_failure(self._command, answer.stderr, image=self._name)
        (told, *_) = cast("list[dict[str, Any]]", json.loads(answer.stdout))
        config = cast("dict[str, Any]", told.get("Config") or {})
        volumes = cast("dict[str, Any]", config.get("Volumes") or {})
        return Image(self._name, str(told["Id"]), tuple(sorted(map(str, volumes))))


def make_programs_archive(user: int, group: int) -> bytes:
    """Return the image for programs of this machine as a tar archive, the same bytes each time."""
    import tarfile

    inside = (
        INPUT_FOLDER,
        OUTPUT_FOLDER,
        PACKAGES_FOLDER,
        WORKSPACE_FOLDER,
        os.path.dirname(SHARED_SKILLS),
        SHARED_SKILLS,
    )
    folders = {*_FOLDERS, *(path.lstrip("/") for path in inside)}
    folders |= {name for name in _BESIDE_USR if os.path.isdir(f"/{name}") and not os.path.islink(f"/{name}")}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for folder in sorted(folders):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            archive.addfile(entry)
        for name in _BESIDE_USR:
            if os.path.islink(f"/{name}"):
                entry = tarfile.TarInfo(name)
                entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(f"/{name}")
                archive.addfile(entry)
        for path, text in sorted(_describe_users(user, group).items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(text), 0o644
            archive.addfile(entry, io.BytesIO(text))
    return buffer.getvalue()


def _describe_users(user: int, group: int) -> dict[str, bytes]:
    users = {0: ("root", 0), _SKILL: ("skill", _SKILL), _NOBODY: ("nobody", _NOBODY)}
    users.setdefault(user, ("runner", group))
    groups = {0: "root", _SKILL: "skill", _NOBODY: "nogroup"}
    groups.setdefault(group, "runner")
    home = f"{OUTPUT_FOLDER}:/bin/sh"
    passwd = "".join(f"{name}:x:{number}:{main}:{name}:{home}\n" for number, (name, main) in users.items())
    return {
        "etc/passwd": passwd.encode(),
        "etc/group": "".join(f"{name}:x:{number}:\n" for number, name in groups.items()).encode(),
        "etc/ld.so.cache": b"",
        "etc/nsswitch.conf": NAME_SERVICE.encode(),
    }


def find_mounts_below(folders: Sequence[str]) -> list[str]:
    """Return the places below these folders where further file systems are mounted, which a mount does not show."""
    places = [mount.place for mount in read_mount_points()]
    below = (place for place in places if any(place.startswith(f"{folder}/") for folder in folders))
    return [place for place in dict.fromkeys(below) if os.path.isdir(place)][:_MAX_MOUNTS_BELOW]
