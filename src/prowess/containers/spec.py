"""What a container shall be. What is not said is what is safe."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Literal

from prowess.containers.mounts import PRIVATE, Access, Mount, by_depth, to_inside
from prowess.errors import SettingsError

__all__ = ["ContainerSpec", "check_mounts", "check_places"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """A container by its name: image, mounts, and bounds. Its mounts are in an order in which they can be made."""

    name: str
    _: KW_ONLY
    image: str
    mounts: tuple[Mount, ...] = ()
    command: tuple[str, ...] = ()
    """Empty for the image's own."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Whoever may inspect the container can read it: no place for secrets."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    user: str = ""
    """Empty for the image's own."""
    work_folder: str = ""
    network: str = "none"
    process_one: Literal["init", "command"] = "init"
    """`init` reaps what the command leaves behind, and passes signals on."""
    root_access: Access = Access.READ_WRITE
    """What the container may do with its own image's files; nothing of it reaches the host."""
    scratch: tuple[str, ...] = ()
    """Folders in memory, for a container whose root is read-only."""
    scratch_bytes: int = 16 * _MIB
    added_capabilities: tuple[str, ...] = ()
    dropped_capabilities: tuple[str, ...] = ("ALL",)
    security_options: tuple[str, ...] = ("no-new-privileges",)
    pids_limit: int = 256
    memory_bytes: int = 512 * _MIB
    """With no swap beside it."""
    cpus: float = 0.0
    """0 for no limit."""
    stop_seconds: int = 5
    """How long it may take to end before it is killed."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise _bad_spec(f"no container can be named '{self.name}'", hint="use letters, digits, '_', '.' and '-'")
        if not self.image or self.image.startswith("-"):
            raise _bad_spec(f"container '{self.name}': no image is named '{self.image}'", hint="name an image")
        for variable, value in self.environment.items():
            if not _VARIABLE.fullmatch(variable) or "\0" in value:
                raise _bad_spec(
                    f"container '{self.name}': no variable can be '{variable}'", hint="use A-Z, 0-9 and '_'"
                )
        check_mounts(self.mounts)
        object.__setattr__(self, "mounts", by_depth(self.mounts))
        object.__setattr__(self, "environment", MappingProxyType(dict(self.environment)))
        object.__setattr__(self, "labels", MappingProxyType(dict(self.labels)))


def check_mounts(mounts: Sequence[Mount]) -> None:
    """Raise `SettingsError` if a container cannot have these mounts, or could write where it may only read."""
    seen: set[str] = set()
    writable = [mount for mount in mounts if mount.access is Access.READ_WRITE]
    for mount in mounts:
        if mount.inside.startswith(PRIVATE):
            raise _bad_mount(mount, "has no path in a container", hint="give it one with place_private()")
        if mount.inside == "/" or mount.inside in seen:
            raise _bad_mount(mount, "is taken", hint="mount each folder at a path of its own below '/'")
        seen.add(mount.inside)
        if not _is_unicode(mount.host) or not _is_unicode(mount.inside):
            raise _bad_mount(mount, "is not UTF-8, and engines take nothing else", hint="rename the folder")
        if mount.access is Access.READ_ONLY:
            _check_no_way_round(mount, writable)


def check_places(mounts: Sequence[Mount]) -> None:
    """Raise `SettingsError` if a mount lies below another one where a skill may write.

    Links are followed while a mount's place is made, and a skill may have left one there.
    """
    writable = [mount.inside for mount in mounts if mount.access is Access.READ_WRITE]
    for mount in mounts:
        above = next((inside for inside in writable if mount.inside.startswith(f"{inside}/")), None)
        if above is not None:
            raise _bad_mount(
                mount, f"lies below '{above}', where links can be written", hint="mount it beside that folder"
            )


def _check_no_way_round(mount: Mount, writable: Sequence[Mount]) -> None:
    """A container must not write below one mount what it may only read through another."""
    way = next((inside for other in writable if (inside := to_inside((other,), mount.host))), None)
    if way is not None:
        raise _bad_mount(
            mount, f"is read-only, but '{way}' gives leave to write the same files", hint="mount a folder beside it"
        )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bad_mount(mount: Mount, what: str, *, hint: str) -> SettingsError:
    shown = mount.inside.encode(errors="backslashreplace").decode()
    return SettingsError(f"mount '{shown}' {what}", hint=hint, code="bad-mount")


def _bad_spec(message: str, *, hint: str) -> SettingsError:
    return SettingsError(message, hint=hint, code="bad-container")
