"""Docker, through its SDK (the extra `docker`)."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Protocol, Self, cast

from prowess.containers.arguments import render_scratch
from prowess.containers.ensuring import (
    CHANGED_MEANWHILE,
    Ensured,
    Strangers,
    ensure_container,
    remove_container,
)
from prowess.containers.inspection import Inspected, parse_inspected
from prowess.containers.mounts import Access, Mount
from prowess.containers.spec import ContainerSpec
from prowess.containers.staleness import make_labels
from prowess.errors import WorldError

__all__ = ["DockerEngine"]

_NOT_FOUND = 404
_CONFLICT = 409


class DockerEngine:
    """Containers of a Docker engine: that of the environment (`DOCKER_HOST`), or that of a `docker.DockerClient`."""

    def __init__(self, client: object | None = None) -> None:
        self._own = client is None
        self._client = cast("_Client", client) if client is not None else _connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back the connection, if it was made here."""
        if self._own:
            self._client.close()

    def ensure(self, spec: ContainerSpec, *, strangers: Strangers = Strangers.REFUSE) -> Ensured:
        """Make the container run as the spec says; nothing happens if it does already."""
        return ensure_container(self, spec, strangers=strangers)

    def remove(self, name: str, *, strangers: Strangers = Strangers.REFUSE) -> bool:
        """End the container and delete it; False if there is none."""
        return remove_container(self, name, strangers=strangers)

    def inspect(self, name: str) -> Inspected | None:
        """Return what the engine tells of the container with exactly this name; None if there is none."""
        with _plain_errors(f"look at container '{name}'", none_for=(_NOT_FOUND,)):
            inspected = parse_inspected(self._client.api.inspect_container(name))
            # The beginning of an id is taken for a name as well.
            return inspected if inspected.name == name else None
        return None

    def find_image_id(self, image: str) -> str | None:
        """Return the id of an image that is here."""
        with _plain_errors(f"look at image '{image}'", none_for=(_NOT_FOUND,)):
            return str(self._client.api.inspect_image(image)["Id"])
        return None

    def create(self, spec: ContainerSpec) -> str:
        """Make the container, labelled as ours, and return its id."""
        api = self._client.api
        with _plain_errors(f"make container '{spec.name}'", look_again=(_CONFLICT,)):
            made = api.create_container(
                spec.image,
                list(spec.command) or None,
                name=spec.name,
                environment=dict(spec.environment),
                labels={**spec.labels, **make_labels(spec)},
                user=spec.user or None,
                working_dir=spec.work_folder or None,
                stop_timeout=spec.stop_seconds,
                host_config=api.create_host_config(**_host_options(spec)),
                use_config_proxy=False,
            )
        return str(made["Id"])

    def start(self, container_id: str) -> None:
        """Start a container that is not running."""
        with _plain_errors("start the container", look_again=(_NOT_FOUND, _CONFLICT)):
            self._client.api.start(container_id)

    def unpause(self, container_id: str) -> None:
        """Let a container go on."""
        with _plain_errors("let the container go on", look_again=(_NOT_FOUND, _CONFLICT)):
            self._client.api.unpause(container_id)

    def delete(self, container_id: str, *, stop_seconds: int) -> None:
        """End the container, in peace if it does so in time, and delete it. It is fine if it is gone."""
        with _plain_errors("end the container", none_for=(_NOT_FOUND,), look_again=(_CONFLICT,)):
            self._client.api.stop(container_id, timeout=stop_seconds)
        with _plain_errors("delete the container", none_for=(_NOT_FOUND,), look_again=(_CONFLICT,)):
            self._client.api.remove_container(container_id, v=True, force=True)


class _Api(Protocol):
    """What is used of `docker.APIClient`, which has no types of its own."""

    def inspect_container(self, container: str) -> dict[str, Any]: ...
    def inspect_image(self, image: str) -> dict[str, Any]: ...
    def create_host_config(self, **options: Any) -> dict[str, Any]: ...
    def create_container(self, image: str, command: list[str] | None, **options: Any) -> dict[str, Any]: ...
    def start(self, container: str) -> None: ...
    def unpause(self, container: str) -> None: ...
    def stop(self, container: str, *, timeout: int) -> None: ...
    def remove_container(self, container: str, *, v: bool, force: bool) -> None: ...


class _Client(Protocol):
    """What is used of `docker.DockerClient`."""

    api: _Api

    def close(self) -> None: ...


def _connect() -> _Client:
    try:
        import docker
    except ImportError as error:
        raise WorldError(
            "the Docker SDK is not installed", hint="pip install 'prowess[docker]'", code="no-docker-sdk"
        ) from error
    with _plain_errors("reach the engine"):
        return cast("_Client", cast("Any", docker).from_env())


def _host_options(spec: ContainerSpec) -> dict[str, Any]:
    return {
        "mounts": [_mount(mount) for mount in spec.mounts],
        "network_mode": spec.network,
        "init": spec.process_one == "init",
        "read_only": spec.root_access is Access.READ_ONLY,
        "tmpfs": render_scratch(spec),
        "cap_drop": list(spec.dropped_capabilities),
        "cap_add": list(spec.added_capabilities),
        "security_opt": list(spec.security_options),
        "pids_limit": spec.pids_limit,
        "mem_limit": spec.memory_bytes,
        "memswap_limit": spec.memory_bytes,
        "nano_cpus": int(spec.cpus * 1_000_000_000) or None,
    }


def _mount(mount: Mount) -> dict[str, Any]:
    """As the engine's API takes it: no character in a path has a meaning there."""
    read_only = mount.access is Access.READ_ONLY
    entry = {"Type": "bind", "Source": mount.host, "Target": mount.inside, "ReadOnly": read_only}
    # Engines before 25 would leave file systems mounted below a read-only folder writable: they are not shown.
    return {**entry, "BindOptions": {"NonRecursive": True}} if read_only else entry


@contextmanager
def _plain_errors(doing: str, *, none_for: tuple[int, ...] = (), look_again: tuple[int, ...] = ()) -> Generator[None]:
    """Turn what the SDK raises into a `WorldError`; answers of the engine with a status in `none_for` end the block."""
    import requests.exceptions
    from docker import errors

    try:
        yield
    except errors.APIError as error:
        status = error.response.status_code if error.response is not None else 0
        if status in none_for:
            return
        code = CHANGED_MEANWHILE if status in look_again else "docker"
        text = str(cast("Any", error).explanation or error)
        raise WorldError(f"Docker cannot {doing}: {text}", hint=_hint_for(text), code=code) from error
    except (errors.DockerException, requests.exceptions.RequestException, OSError) as error:
        raise WorldError(
            f"Docker cannot {doing}: {error}",
            hint="install and start the engine (Debian: docker.io), or name it with DOCKER_HOST",
            code="no-docker",
        ) from error


def _hint_for(text: str) -> str:
    if "No such image" in text:
        return "pull or build the image"
    return "sync first, so that the folder is there" if "bind source path does not exist" in text else ""
