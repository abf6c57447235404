"""Both engines, as one fixture."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from prowess.containers.docker_engine import DockerEngine
from prowess.containers.ensuring import ContainerEngine
from prowess.containers.podman_engine import PodmanEngine
from tests.docker_engine import IMAGE as DOCKER_IMAGE
from tests.docker_engine import Docker, docker_engine
from tests.podman_engine import IMAGE as PODMAN_IMAGE
from tests.podman_engine import Podman, podman_engine
from tests.skills_on_disk import write_skill

__all__ = ["docker_engine", "podman_engine"]


@dataclass(frozen=True, slots=True)
class Kit:
    """An engine of ours, the real one behind it, and an image that it has."""

    engine: ContainerEngine
    real: Docker | Podman
    image: str


@pytest.fixture
def docker_kit(docker_engine: Docker) -> Iterator[Kit]:
    client = docker.DockerClient(docker_engine.url)
    yield Kit(DockerEngine(client), docker_engine, DOCKER_IMAGE)
    client.close()


@pytest.fixture
def podman_kit(podman_engine: Podman) -> Kit:
    return Kit(PodmanEngine(podman_engine.command), podman_engine, PODMAN_IMAGE)


@pytest.fixture(params=["docker", "podman"])
def kit(request: pytest.FixtureRequest) -> Iterator[Kit]:
    """Each engine in turn, rid of all containers afterwards."""
    kit: Kit = request.getfixturevalue(f"{request.param}_kit")
    yield kit
    kit.real.remove_containers()


@pytest.fixture
def active(tmp_path: Path) -> Path:
    """A folder of active skills with one in it."""
    folder = tmp_path / "active"
    write_skill(folder, "pdf", body="one\n", files={"scripts/run.sh": "#!/bin/sh\necho ran\n"})
    return folder
