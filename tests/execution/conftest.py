"""The engines and the sandboxes, for all tests of execution."""

from tests.docker_engine import docker_engine
from tests.execution.sandboxes import place
from tests.podman_engine import podman_engine

__all__ = ["docker_engine", "place", "podman_engine"]
