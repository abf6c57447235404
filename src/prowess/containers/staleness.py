"""Whether a container still is what it shall be, from what its engine tells about it."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Any

from prowess.containers.arguments import render_options
from prowess.containers.inspection import Inspected, SeenMount, parse_inspected
from prowess.containers.mounts import Mount
from prowess.containers.spec import ContainerSpec

__all__ = [
    "SPEC_LABEL",
    "Changed",
    "Fault",
    "Part",
    "StaleMount",
    "is_ours",
    "judge_container",
    "judge_mounts",
    "make_labels",
]

SPEC_LABEL = "prowess.spec"
"""The label of every container that Prowess made: its name, and a digest of what it was to be."""
_STATES = frozenset({"running", "paused", "created", "configured", "initialized", "exited", "stopped"})
"""In which a container can be kept, or started."""


class Fault(StrEnum):
    """What is wrong with a mount."""

    MISSING = "missing"
    WRONG_HOST = "wrong-host"
    WRONG_ACCESS = "wrong-access"
    HIDDEN = "hidden"
    """Another mount lies over a part of it."""
    REPLACED = "replaced"
    """The container holds the folder that was there when it started; the host has another by now."""


@dataclass(frozen=True, slots=True)
class StaleMount:
    """Why a container does not see a mount as it should."""

    inside: str
    _: KW_ONLY
    fault: Fault
    message: str


class Part(StrEnum):
    """What of a container differs, besides its mounts."""

    IMAGE = "image"
    SPEC = "spec"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Changed:
    """Why a container is not what it shall be, though its mounts are."""

    part: Part
    _: KW_ONLY
    message: str


def judge_mounts(inspected: Mapping[str, Any], mounts: Sequence[Mount]) -> tuple[StaleMount, ...]:
    """Return what is wrong with the mounts of a container, in the order of the mounts; nothing if all is well.

    `inspected` is what `docker inspect` or `podman inspect` tells of it. Mounts that it has besides are no fault while
    they hide none of those that are wanted.
    """
    return _judge_mounts(parse_inspected(inspected), mounts)


def judge_container(
    inspected: Inspected, spec: ContainerSpec, *, image_id: str | None
) -> tuple[StaleMount | Changed, ...]:
    """Return why a container is not what the spec says; nothing if it is. `image_id` is None if that is not known."""
    reasons: list[StaleMount | Changed] = list(_judge_mounts(inspected, spec.mounts))
    if image_id is not None and image_id != inspected.image_id:
        reasons.append(Changed(Part.IMAGE, message=f"image '{spec.image}' is another by now"))
    if not reasons and inspected.labels.get(SPEC_LABEL) != _identity(spec):
        reasons.append(Changed(Part.SPEC, message="the container was made with other options"))
    if not reasons and inspected.status not in _STATES:
        reasons.append(Changed(Part.STATE, message=f"the container is '{inspected.status}'"))
    return tuple(reasons)


def is_ours(inspected: Inspected) -> bool:
    """Whether Prowess made the container. One made from an image of ours inherits the label, but not the name in it."""
    return inspected.labels.get(SPEC_LABEL, "").startswith(f"{inspected.name}@")


def make_labels(spec: ContainerSpec) -> dict[str, str]:
    """Return the label by which the container is known again."""
    return {SPEC_LABEL: _identity(spec)}


def _judge_mounts(inspected: Inspected, mounts: Sequence[Mount]) -> tuple[StaleMount, ...]:
    found = inspected.mounts
    wanted = {mount.inside for mount in mounts}
    faults = [_judge_own(mount, found.get(mount.inside)) for mount in mounts]
    hidden = [
        StaleMount(mount.inside, fault=Fault.HIDDEN, message=f"mount '{mount.inside}' is hidden in part by '{place}'")
        for mount in mounts
        for place in found
        if place not in wanted and place.startswith(f"{mount.inside}/")
    ]
    return (*(fault for fault in faults if fault is not None), *hidden)


def _identity(spec: ContainerSpec) -> str:
    """The name, and a digest of everything but the image, which is compared by its id."""
    text = json.dumps([*render_options(spec), "--", *spec.command])
    return f"{spec.name}@{hashlib.sha256(text.encode()).hexdigest()}"


def _judge_own(mount: Mount, found: SeenMount | None) -> StaleMount | None:
    place = f"mount '{mount.inside}'"
    if found is None:
        return StaleMount(mount.inside, fault=Fault.MISSING, message=f"{place} is missing")
    if not found.host or os.path.normpath(found.host) != mount.host:
        shown = f"'{found.host}'" if found.host else "no folder of the host"
        message = f"{place} shows {shown} and not '{mount.host}'"
        return StaleMount(mount.inside, fault=Fault.WRONG_HOST, message=message)
    if found.access is not mount.access:
        message = f"{place} is '{found.access}' and not '{mount.access}'"
        return StaleMount(mount.inside, fault=Fault.WRONG_ACCESS, message=message)
    return None
