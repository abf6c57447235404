"""The status with which a command ends says who can act."""

import pytest

from prowess.errors import BrokenSkill, NotFound, ProwessError, Refused, SettingsError, ToolInputError, WorldError
from prowess.surfaces.cli.statuses import find_status


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Refused("x"), 1),
        (NotFound("x"), 1),
        (BrokenSkill("x", problems=()), 1),
        (ToolInputError("x"), 1),
        (SettingsError("x"), 2),
        (WorldError("x"), 3),
    ],
)
def test_status_goes_by_who_can_act(error: ProwessError, status: int) -> None:
    assert find_status(error) == status
