"""The three tiers (R53, R54), for those who disclose skills themselves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.activation.consent import Answer
from prowess.catalog.switches import Switch
from prowess.errors import Refused, ToolInputError
from prowess.runtime import Runtime, Session
from tests.runtime.people import Person
from tests.skills_on_disk import Home, write_skill

_FILES = {
    "scripts/run.py": "print('go')\n",
    "scripts/deep/more.sh": "#!/bin/sh\n",
    "references/guide.md": "Read me.\n",
    "assets/logo.svg": "<svg/>\n",
    "notes.md": "Beside them.\n",
}


@pytest.fixture
def alpha(home: Home) -> Path:
    """The folder of a skill where the profile `agent-base` looks for it."""
    return write_skill(home.project / ".agent" / "skills", "alpha", files=_FILES)


@pytest.fixture(params=["runtime", "session"])
def tiers(request: pytest.FixtureRequest, alpha: Path) -> Iterator[Runtime | Session]:
    """Whatever has the three tiers."""
    with Runtime.open(profile="agent-base") as runtime:
        yield runtime if request.param == "runtime" else runtime.session("chat")


@pytest.mark.requirement("R52", "R53")
def test_first_tier_is_the_catalog(tiers: Runtime | Session, alpha: Path) -> None:
    assert (
        "<skill>\n<name>alpha</name>\n<description>Does a thing. Use when the thing is asked for.</description>\n"
        f"<location>{alpha}/SKILL.md</location>\n</skill>\n"
    ) in tiers.tier1_context()
    assert "Do the thing." not in tiers.tier1_context()


@pytest.mark.requirement("R52", "R53")
def test_second_tier_is_the_instructions(tiers: Runtime | Session) -> None:
    """A44."""
    assert tiers.tier2_context("alpha") == "Skill name: alpha\n\nDo the thing."
    assert tiers.tier2_context("project:alpha") == tiers.tier2_context("alpha")


@pytest.mark.requirement("R52", "R54")
@pytest.mark.parametrize(
    ("part", "paths"),
    [
        ("scripts", ("scripts/deep/more.sh", "scripts/run.py")),
        ("references", ("references/guide.md",)),
        ("assets", ("assets/logo.svg",)),
    ],
)
def test_third_tier_lists_files_and_reads_one(tiers: Runtime | Session, part: str, paths: tuple[str, ...]) -> None:
    assert tiers.tier3_resources("alpha", part) == paths
    assert [tiers.tier3_resource("alpha", path) for path in paths] == [_FILES[path] for path in paths]
    assert tiers.tier3_resource("alpha", "notes.md") == "Beside them.\n"


@pytest.mark.requirement("R53", "R54")
def test_unknown_skill_has_nothing(tiers: Runtime | Session) -> None:
    """A44."""
    assert tiers.tier2_context("nope") is None
    assert tiers.tier3_resources("nope", "scripts") == ()
    assert tiers.tier3_resource("nope", "notes.md") is None


@pytest.mark.requirement("R54", "R100", "R101")
@pytest.mark.parametrize(
    "path",
    [
        "../alpha/notes.md",
        "/etc/passwd",
        "references/../../../../../../etc/passwd",
        "out",
        "",
        ".",
        "missing.md",
        "assets",
    ],
)
def test_path_that_leads_nowhere_or_out_has_nothing(tiers: Runtime | Session, alpha: Path, path: str) -> None:
    (alpha / "out").symlink_to("/etc/passwd")
    assert tiers.tier3_resource("alpha", path) is None


@pytest.mark.requirement("R54")
def test_part_that_the_standard_does_not_know_is_refused(tiers: Runtime | Session) -> None:
    with pytest.raises(ToolInputError, match="there is no part 'secrets'"):
        tiers.tier3_resources("alpha", "secrets")


@pytest.mark.requirement("R53", "R54")
def test_part_without_files_is_empty(home: Home) -> None:
    write_skill(home.project / ".agent" / "skills", "beta")
    with Runtime.open(profile="agent-base") as runtime:
        assert runtime.tier3_resources("beta", "scripts") == ()


@pytest.mark.requirement("R39", "J6")
def test_tiers_end_where_the_view_ends(home: Home, alpha: Path) -> None:
    home.write_settings('[agents.none]\nskills = []\n[agents.writer]\nskills = ["alpha"]\n')
    with Runtime.open(profile="agent-base") as runtime:
        assert runtime.tier1_context(agent="none") == ""
        assert runtime.tier2_context("alpha", agent="none") is None
        assert runtime.tier3_resources("alpha", "scripts", agent="none") == ()
        assert runtime.tier3_resource("alpha", "notes.md", agent="none") is None
        assert runtime.tier2_context("alpha", agent="writer") is not None
        runtime.set_switch("alpha", Switch.USER_ONLY)
        assert (runtime.tier2_context("alpha"), runtime.tier3_resource("alpha", "notes.md")) == (None, None)


@pytest.mark.requirement("R53")
def test_looking_switches_nothing_on(home: Home, alpha: Path) -> None:
    with Runtime.open(profile="agent-base") as runtime:
        session = runtime.session("chat")
        session.tier2_context("alpha")
        session.tier3_resource("alpha", "notes.md")
        assert (session.active(), runtime.receipts(), runtime.sessions()) == ((), (), ())


@pytest.mark.requirement("R53", "K1")
def test_whoever_may_not_activate_may_not_look(root: Path) -> None:
    write_skill(root, "alpha", files=_FILES)
    person = Person(Answer.REFUSE_ONCE, None, Answer.ALLOW_ONCE)
    with Runtime.open(asker=person) as runtime:
        for code in ("refused", "consent-needed"):
            with pytest.raises(Refused) as caught:
                runtime.tier2_context("alpha")
            assert caught.value.code == code
        assert "Do the thing." in (runtime.tier2_context("alpha") or "")
        assert runtime.grants() == ()
