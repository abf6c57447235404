"""`prowess eject` of a skill of a server: whole, and only once somebody has agreed to it."""

import shutil
from pathlib import Path

import pytest

from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home
from tests.sources.mcp.scripts import Acted
from tests.surfaces.command import call, run

pytestmark = [pytest.mark.slow, pytest.mark.requirement("J11", "K1")]


@pytest.fixture
def acted(home: Home, tmp_path: Path) -> Acted:
    acted = Acted(tmp_path / "acme")
    acted.add("skill://billing/refunds", {"references/rules.md": "Be kind.\n"})
    command = ", ".join(f'"{part}"' for part in acted.command)
    home.write_settings(f"{ONLY_MINE}[mcp.servers.acme]\ncommand = [{command}]\n")
    return acted


@pytest.mark.usefixtures("acted")
def test_skill_that_was_agreed_to_is_ejected_whole_though_it_was_not_fetched(home: Home) -> None:
    call("grants", "--allow", "refunds")
    shutil.rmtree(home.prowess / "cache")  # So that it is a placeholder again.
    assert call("eject", "refunds", "--json").json["files"] == 2
    assert (home.project / "refunds/references/rules.md").read_text() == "Be kind.\n"
    assert "Do it." in (home.project / "refunds/SKILL.md").read_text()


@pytest.mark.usefixtures("acted")
@pytest.mark.parametrize(
    ("before", "said"), [((), "nobody has agreed to it"), (("grants", "--refuse", "refunds"), "the user refused")]
)
def test_skill_that_nobody_agreed_to_is_not_ejected(home: Home, before: tuple[str, ...], said: str) -> None:
    if before:
        call(*before)
    done = run("eject", "refunds")
    assert (done.status, done.stdout) == (1, "")
    assert said in done.stderr
    assert not (home.project / "refunds").exists()


def test_skill_that_cannot_be_fetched_is_not_ejected(home: Home, acted: Acted) -> None:
    call("list", "--refresh")
    acted.serve("skill://billing/refunds/references/rules.md", "Be cruel.\n")
    done = run("eject", "refunds")
    assert done.status == 1
    assert "with other bytes than it lists" in done.stderr
    assert not (home.project / "refunds").exists()
