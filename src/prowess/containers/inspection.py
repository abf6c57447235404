"""What an engine tells of a container, as a value. Docker and Podman tell it in the same words."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

from prowess.containers.mounts import Access

__all__ = ["Inspected", "SeenMount", "parse_inspected"]


@dataclass(frozen=True, slots=True)
class SeenMount:
    """A mount that a container has. `host` is empty if that is no folder of the host."""

    host: str
    _: KW_ONLY
    access: Access


@dataclass(frozen=True, slots=True)
class Inspected:
    """A container that exists."""

    container_id: str
    _: KW_ONLY
    name: str
    status: str
    pid: int
    """0 if it does not run."""
    image_id: str
    labels: Mapping[str, str]
    mounts: Mapping[str, SeenMount]
    """By their path inside."""


def parse_inspected(told: Mapping[str, Any]) -> Inspected:
    """Return what `docker inspect` or `podman inspect` tells of one container; what is missing there is empty."""
    state = _table(told.get("State"))
    labels = _table(_table(told.get("Config")).get("Labels"))
    return Inspected(
        str(told.get("Id") or ""),
        name=str(told.get("Name") or "").removeprefix("/"),
        status=str(state.get("Status") or "unknown"),
        pid=int(state.get("Pid") or 0),
        image_id=str(told.get("Image") or ""),
        labels={name: str(value) for name, value in labels.items()},
        mounts=_parse_mounts(told),
    )


def _parse_mounts(told: Mapping[str, Any]) -> dict[str, SeenMount]:
    """Folders in memory are listed apart from the other mounts.

    What was asked for is listed too where the API took it as values; an engine in a virtual machine tells another
    source than that.
    """
    asked_for = _table(told.get("HostConfig"))
    sources = {_place(entry, "Target"): str(entry.get("Source") or "") for entry in _tables(asked_for.get("Mounts"))}
    found = {_normal(place): SeenMount("", access=Access.READ_WRITE) for place in _table(asked_for.get("Tmpfs"))}
    for entry in _tables(told.get("Mounts")):
        place = _place(entry, "Destination")
        host = sources.get(place) or str(entry.get("Source") or "") if entry.get("Type") == "bind" else ""
        found[place] = SeenMount(host, access=Access.READ_WRITE if entry.get("RW") else Access.READ_ONLY)
    return found


def _place(entry: Mapping[str, Any], key: str) -> str:
    return _normal(str(entry.get(key) or ""))


def _tables(value: object) -> list[Mapping[str, Any]]:
    return [_table(entry) for entry in cast("list[object]", value)] if isinstance(value, list) else []


def _table(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _normal(place: str) -> str:
    return "/" + "/".join(step for step in place.split("/") if step)
