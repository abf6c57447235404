"""Sites for the tests of the web app, and servers in processes of their own."""

from collections.abc import Callable, Iterator

import pytest

from prowess.runtime import Runtime
from prowess.surfaces.http.options import HttpOptions
from prowess.surfaces.web.conversations.desk import Desk
from prowess.surfaces.web.guards.stream_slots import StreamSlots
from prowess.surfaces.web.scene.environment import make_environment
from prowess.surfaces.web.scene.rendering import BlockRenderer
from prowess.surfaces.web.site import Site
from prowess.surfaces.web.skill_table import SkillTable
from prowess.surfaces.web.telemetry.metrics import Metrics
from tests.skills_on_disk import Home
from tests.surfaces.web.server import ServerStarter

MakeSite = Callable[[HttpOptions], Site]


@pytest.fixture
def runtime(home: Home) -> Iterator[Runtime]:
    """A runtime in an empty home."""
    with Runtime.open() as runtime:
        yield runtime


@pytest.fixture
def make_site(runtime: Runtime) -> MakeSite:
    """What makes a site, whose desk is not open."""

    def make(options: HttpOptions) -> Site:
        templates = make_environment()
        return Site(
            runtime=runtime,
            options=options,
            desk=Desk(runtime, options),
            table=SkillTable(runtime),
            metrics=Metrics(),
            templates=templates,
            renderer=BlockRenderer(templates),
            distant_renderer=BlockRenderer(make_environment(redacted=runtime.settings)),
            slots=StreamSlots(options.limits),
        )

    return make


@pytest.fixture
def servers(home: Home) -> Iterator[ServerStarter]:
    """What starts servers, which end with the test."""
    starter = ServerStarter()
    try:
        yield starter
    finally:
        starter.stop_all()
