"""Make a container what it shall be, on any engine: create it, start it, keep it, or put another in its place."""

import time
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Protocol

from prowess.containers.inspection import Inspected
from prowess.containers.pinned_folders import Pins, find_replaced
from prowess.containers.spec import ContainerSpec
from prowess.containers.staleness import Changed, StaleMount, is_ours, judge_container
from prowess.errors import Refused, WorldError

__all__ = [
    "CHANGED_MEANWHILE",
    "Action",
    "ContainerEngine",
    "Engine",
    "Ensured",
    "Strangers",
    "ensure_container",
    "remove_container",
]

CHANGED_MEANWHILE = "container-changed"
"""The code of a `WorldError` that says: somebody else changed the container of this name; look again."""
_ATTEMPTS = 5
_FIRST_PAUSE_SECONDS = 0.1
_STOP_SECONDS = 5
"""How long a container that is to go may take to end in peace, where no specification says otherwise."""


class Action(StrEnum):
    """What was done to make a container right."""

    CREATED = "created"
    STARTED = "started"
    KEPT = "kept"
    RECREATED = "recreated"


class Strangers(StrEnum):
    """What becomes of a container that has the name but was not made by Prowess."""

    REFUSE = "refuse"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Ensured:
    """A container that is right now, what was done for that, and why."""

    action: Action
    _: KW_ONLY
    container_id: str
    reasons: tuple[StaleMount | Changed, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be judged."""


class ContainerEngine(Protocol):
    """What a user of containers needs of an engine."""

    def ensure(self, spec: ContainerSpec, *, strangers: Strangers = Strangers.REFUSE) -> Ensured:
        """Make the container run as the spec says; nothing happens if it does already."""
        ...

    def remove(self, name: str, *, strangers: Strangers = Strangers.REFUSE) -> bool:
        """End the container and delete it; False if there is none."""
        ...


class Engine(Protocol):
    """The verbs of an engine, of which the rest is made. Each raises `WorldError` if the engine fails."""

    def inspect(self, name: str) -> Inspected | None:
        """Return what the engine tells of the container with exactly this name; None if there is none."""
        ...

    def find_image_id(self, image: str) -> str | None:
        """Return the id of an image that is here."""
        ...

    def create(self, spec: ContainerSpec) -> str:
        """Make the container, labelled as ours, and return its id."""
        ...

    def start(self, container_id: str) -> None:
        """Start a container that is not running."""
        ...

    def unpause(self, container_id: str) -> None:
        """Let a container go on."""
        ...

    def delete(self, container_id: str, *, stop_seconds: int) -> None:
        """End the container, in peace if it does so in time, and delete it. It is fine if it is gone."""
        ...


def ensure_container(engine: Engine, spec: ContainerSpec, *, strangers: Strangers) -> Ensured:
    """Make the container right. Two that do so at once are fine: the later one finds what the first has made."""
    pause = _FIRST_PAUSE_SECONDS
    for _ in range(_ATTEMPTS - 1):
        try:
            return _ensure(engine, spec, strangers)
        except WorldError as error:
            if error.code != CHANGED_MEANWHILE:
                raise
        time.sleep(pause)
        pause *= 2
    return _ensure(engine, spec, strangers)


def remove_container(engine: Engine, name: str, *, strangers: Strangers) -> bool:
    """Delete the container of this name; False if there is none."""
    inspected = engine.inspect(name)
    if inspected is None:
        return False
    if not is_ours(inspected) and strangers is Strangers.REFUSE:
        raise _stranger(name)
    engine.delete(inspected.container_id, stop_seconds=_STOP_SECONDS)
    return True


def _ensure(engine: Engine, spec: ContainerSpec, strangers: Strangers) -> Ensured:
    inspected = engine.inspect(spec.name)
    if inspected is None:
        return Ensured(Action.CREATED, container_id=_create(engine, spec))
    if not is_ours(inspected) and strangers is Strangers.REFUSE:
        raise _stranger(spec.name)
    image_id = engine.find_image_id(spec.image)
    reasons = judge_container(inspected, spec, image_id=image_id)
    pins = Pins() if reasons else _look_at_pins(inspected, spec)
    reasons = (*reasons, *pins.replaced)
    if reasons:
        return _recreate(engine, spec, inspected, reasons, image_id)
    action = _wake(engine, inspected)
    return Ensured(action, container_id=inspected.container_id, notes=(pins.note,) if pins.note else ())


def _wake(engine: Engine, inspected: Inspected) -> Action:
    """Let a container that is right run, if it does not."""
    if inspected.status == "running":
        return Action.KEPT
    if inspected.status == "paused":
        engine.unpause(inspected.container_id)
    else:
        engine.start(inspected.container_id)
    return Action.STARTED


def _recreate(
    engine: Engine,
    spec: ContainerSpec,
    inspected: Inspected,
    reasons: tuple[StaleMount | Changed, ...],
    image_id: str | None,
) -> Ensured:
    if image_id is None:  # Before the old one is gone.
        raise WorldError(
            f"container '{spec.name}': there is no image '{spec.image}' here", hint="pull or build it", code="no-image"
        )
    engine.delete(inspected.container_id, stop_seconds=spec.stop_seconds)
    return Ensured(Action.RECREATED, container_id=_create(engine, spec), reasons=reasons)


def _create(engine: Engine, spec: ContainerSpec) -> str:
    container_id = engine.create(spec)
    engine.start(container_id)
    return container_id


def _look_at_pins(inspected: Inspected, spec: ContainerSpec) -> Pins:
    """A container that does not run looks its folders up when it is started."""
    if not inspected.pid or not spec.mounts:
        return Pins()
    return find_replaced(spec.mounts, pid=inspected.pid, container_id=inspected.container_id)


def _stranger(name: str) -> Refused:
    return Refused(
        f"container '{name}' was not made by Prowess",
        hint="choose another name, or have it replaced (Strangers.REPLACE)",
        code="foreign-container",
    )
