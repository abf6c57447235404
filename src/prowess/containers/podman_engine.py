"""Podman, through its command, which needs no service."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, cast

from prowess.containers.arguments import render_podman_create
from prowess.containers.ensuring import (
    CHANGED_MEANWHILE,
    Ensured,
    Strangers,
    ensure_container,
    remove_container,
)
from prowess.containers.inspection import Inspected, parse_inspected
from prowess.containers.spec import ContainerSpec
from prowess.containers.staleness import make_labels
from prowess.errors import WorldError

__all__ = ["PodmanEngine"]

_NO_CONTAINER = ("no such container", "no container with")
_NO_IMAGE = ("no such image", "image not known", "failed to find image")
_CHANGED = (*_NO_CONTAINER, "is already in use", "container state improper", "is being removed")
_TIMEOUT_SECONDS = 120.0


class PodmanEngine:
    """Containers of Podman. `command` may carry its own options, such as another store."""

    def __init__(self, command: Sequence[str] = ("podman",), *, timeout_seconds: float = _TIMEOUT_SECONDS) -> None:
        self._command = tuple(command)
        self._timeout_seconds = timeout_seconds

    def ensure(self, spec: ContainerSpec, *, strangers: Strangers = Strangers.REFUSE) -> Ensured:
        """Make the container run as the spec says; nothing happens if it does already."""
        return ensure_container(self, spec, strangers=strangers)

    def remove(self, name: str, *, strangers: Strangers = Strangers.REFUSE) -> bool:
        """End the container and delete it; False if there is none."""
        return remove_container(self, name, strangers=strangers)

    def inspect(self, name: str) -> Inspected | None:
        """Return what the engine tells of the container with exactly this name; None if there is none."""
        told = self._inspect("container", name, missing=_NO_CONTAINER)
        inspected = parse_inspected(told) if told else None
        # The beginning of an id is taken for a name as well.
        return inspected if inspected and inspected.name == name else None

    def find_image_id(self, image: str) -> str | None:
        """Return the id of an image that is here."""
        inspected = self._inspect("image", image, missing=_NO_IMAGE)
        return str(inspected["Id"]) if inspected else None

    def create(self, spec: ContainerSpec) -> str:
        """Make the container, labelled as ours, and return its id."""
        arguments = render_podman_create(spec, labels=make_labels(spec), program=())
        return self._run(*arguments).stdout.strip().splitlines()[-1]

    def start(self, container_id: str) -> None:
        """Start a container that is not running."""
        self._run("start", container_id)

    def unpause(self, container_id: str) -> None:
        """Let a container go on."""
        self._run("unpause", container_id)

    def delete(self, container_id: str, *, stop_seconds: int) -> None:
        """End the container, in peace if it does so in time, and delete it. It is fine if it is gone."""
        self._run("rm", "--force", "--volumes", f"--time={stop_seconds}", container_id, fine=_NO_CONTAINER)

    def _inspect(self, kind: str, name: str, *, missing: Sequence[str]) -> Mapping[str, Any] | None:
        done = self._run(kind, "inspect", name, fine=missing)
        found = cast("list[dict[str, Any]]", json.loads(done.stdout or "[]"))
        return found[0] if found else None

    def _run(self, *arguments: str, fine: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Run the command; a failure that says one of the `fine` things is none."""
        try:
            done = subprocess.run(
                [*self._command, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="surrogateescape",
                timeout=self._timeout_seconds,
                check=False,
            )
        except FileNotFoundError as error:
            raise WorldError(
                f"there is no command '{self._command[0]}'", hint="install Podman (Debian: podman)", code="no-podman"
            ) from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise WorldError(f"Podman cannot {arguments[0]}: {error}", code="podman") from error
        if done.returncode == 0 or _says(done.stderr, fine):
            return done
        code = CHANGED_MEANWHILE if _says(done.stderr, _CHANGED) else "podman"
        raise WorldError(f"Podman cannot {arguments[0]}: {done.stderr.strip()}", hint=_hint_for(done.stderr), code=code)


def _says(text: str, phrases: Sequence[str]) -> bool:
    folded = text.casefold()
    return any(phrase in folded for phrase in phrases)


def _hint_for(text: str) -> str:
    if _says(text, _NO_IMAGE):
        return "pull or build the image"
    return "sync first, so that the folder is there" if _says(text, ("no such file or directory",)) else ""
