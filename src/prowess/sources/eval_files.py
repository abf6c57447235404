"""Read the trigger tests of a skill from its folder, which they cannot lead out of."""

import os

from prowess.skill.problems import make_problem
from prowess.skill.trigger_tests import (
    MAX_FILE_BYTES,
    TEST_FILES,
    TriggerTests,
    merge_trigger_tests,
    parse_trigger_tests,
)
from prowess.sources.beneath import Obstacle, open_beneath

__all__ = ["read_trigger_tests"]

_FOLDER = "evals"
_WHY = {
    Obstacle.DANGLING: "is a link that leads nowhere",
    Obstacle.ESCAPES: "leads out of the skill",
    Obstacle.NOT_A_FILE: "is not a file",
    Obstacle.UNREADABLE: "cannot be read",
    Obstacle.TOO_MANY_LINKS: "is behind too many links",
}


def read_trigger_tests(folder: str) -> TriggerTests:
    """Return the queries that a skill ships, and what is wrong with them.

    The folder's path is absolute and has no links.
    """
    if not os.access(os.path.join(folder, _FOLDER), os.F_OK):  # The common case, asked in the cheapest way.
        return TriggerTests()
    return merge_trigger_tests(_read(folder, path) for path in TEST_FILES)


def _read(folder: str, path: str) -> TriggerTests:
    file = open_beneath(folder, path=path.encode())
    if file is Obstacle.MISSING:
        return TriggerTests()
    if isinstance(file, Obstacle):
        return _refuse(path, _WHY[file])
    try:
        with os.fdopen(file, "rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except OSError:
        return _refuse(path, _WHY[Obstacle.UNREADABLE])
    return parse_trigger_tests(raw, path=path)


def _refuse(path: str, why: str) -> TriggerTests:
    return TriggerTests(problems=(make_problem("evals-unusable", f"{path} {why}", path=path),))
