"""Commands that a message tells a person to type: they help, with the options that were given."""

from pathlib import Path

import pytest

from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import call, run

pytestmark = [pytest.mark.slow, pytest.mark.requirement("K7")]  # Nearly every test starts a process.


@pytest.fixture
def good(home: Home) -> Path:
    return write_skill(home.path / ".agents" / "skills", "good")


@pytest.mark.parametrize("position", ["off", "user-only"])
def test_what_was_switched_off_for_one_agent_is_switched_on_by_the_remedy(good: Path, position: str) -> None:
    call("disable", "good", "--to", position, "--agent", "bob")
    (reason,) = call("why", "good", "--agent", "bob", "--json").json["reasons"]
    remedy = reason["remedy"].split(",")[0]
    assert remedy == "prowess enable good --agent bob"
    call(*remedy.split()[1:])
    assert call("why", "good", "--agent", "bob", "--json").json["visible"] is True


def test_hint_asks_why_for_the_same_agent(home: Home, good: Path) -> None:
    home.write_settings("[agents.none]\nskills = []\n")
    outcome = run("activate", "good", "--agent", "none")
    assert outcome.stderr.endswith("hint: `prowess why good --agent none` says why\n")
    assert call("why", "good", "--agent", "none", "--json").json["visible"] is False


def test_hints_keep_the_general_options(home: Home) -> None:
    write_skill(home.project / "my skills", "near")
    named = home.project / "p.toml"
    named.write_text("")
    general = ["--config", "p.toml", "--profile", "standard", "--skills", "my skills"]
    command = "prowess --config p.toml --profile standard --skills 'my skills'"
    outcome = run(*general, "activate", "nea")
    assert f"did you mean 'near'? `{command} why nea` says why" in outcome.stderr
    assert run(*general, "activate", "zzz", "--json").json["error"]["hint"] == (
        f"`{command} list` shows all skills; `{command} why zzz` says why"
    )
    call("--skills", "my skills", "disable", "near")
    assert f"    {command} enable near\n" in run(*general, "why", "near").stdout
    assert "`prowess --config gone.toml init` writes one" in run("--config", "gone.toml", "list").stderr


def test_hint_to_consent_finds_the_settings_that_were_used(home: Home, good: Path) -> None:
    home.project.joinpath("p.toml").write_text("")
    outcome = run("--config", "p.toml", "activate", "good")
    assert "hint: `prowess --config p.toml grants --allow good` gives it, or --yes for one call" in outcome.stderr
