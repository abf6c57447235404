"""Skills from MCP servers (J11): found, asked about, fetched, copied; and never anybody else's name."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.activation.consent import Answer
from prowess.activation.grants import Decision
from prowess.activation.receipts import AskedBy
from prowess.catalog.catalog import Catalog
from prowess.errors import Refused
from prowess.runtime import Runtime
from prowess.settings import load_settings
from prowess.sources.mcp.placeholders import is_placeholder
from prowess.sources.mcp.wire import Fault
from prowess.surfaces.mcp.published import make_publication, survey
from tests.runtime.opening import ONLY_MINE
from tests.runtime.people import Person
from tests.skills_on_disk import Home, write_skill
from tests.sources.mcp.scripts import Acted, skill_md

pytestmark = pytest.mark.slow

_REFUNDS = "mcp:acme/billing/refunds"


def _table(acted: Acted, extra: str = "") -> str:
    command = ", ".join(f'"{part}"' for part in acted.command)
    return f"[mcp.servers.{acted.server.name}]\ncommand = [{command}]\n{extra}"


@pytest.fixture
def acted(home: Home, tmp_path: Path) -> Acted:
    """A server that the settings name, with one skill."""
    acted = Acted(tmp_path / "acme")
    acted.mirror = home.prowess / "cache/mcp/acme"
    acted.add("skill://billing/refunds", {"references/rules.md": "Be kind.\n"})
    home.write_settings(ONLY_MINE + _table(acted))
    return acted


@pytest.fixture
def hosted(acted: Acted) -> Iterator[Runtime]:
    with Runtime(load_settings()) as runtime:
        yield runtime


def _reads(acted: Acted) -> list[str]:
    return [line for line in acted.asked() if line.startswith("resources/read")]


def _codes(catalog: Catalog) -> list[str]:
    return [problem.code for problem in catalog.problems if problem.code.startswith("mcp-")]


@pytest.mark.requirement("J11")
def test_listed_skill_is_seen_and_nothing_of_it_is_fetched(hosted: Runtime, acted: Acted) -> None:
    skill = hosted.catalog().get("refunds")
    assert (skill.id, skill.server, skill.problems) == (_REFUNDS, "acme", ())
    assert is_placeholder(skill)
    session = hosted.session("chat")
    assert "<name>refunds</name>" in session.prompt()
    assert hosted.digest(skill) == acted.record.skills[0].digest
    assert hosted.sync().copied == ()
    hosted.search("refunds")
    assert _reads(acted) == []


@pytest.mark.requirement("J11", "K1")
def test_skill_is_fetched_and_agreed_to_when_it_is_used(hosted: Runtime, acted: Acted) -> None:
    person = Person(Answer.ALLOW_ALWAYS)
    skill = hosted.catalog().get("refunds")
    listed = hosted.digest(skill)
    activation = hosted.session("chat", asker=person).activate("refunds", asked_by=AskedBy.MODEL)
    assert [question.digest for question in person.questions] == [listed]
    assert [file.path for file in person.questions[0].files] == [b"SKILL.md", b"references/rules.md"]
    assert activation.digest == activation.receipt.digest == listed == hosted.digest(hosted.catalog().get("refunds"))
    assert "Do it." in activation.text
    assert not is_placeholder(hosted.catalog().get("refunds"))
    assert len(_reads(acted)) == 2


@pytest.mark.requirement("J11", "K5")
def test_copy_of_a_used_skill_stays(hosted: Runtime, home: Home) -> None:
    session = hosted.session("chat", asker=Person(Answer.ALLOW_ALWAYS))
    session.sync()
    session.activate("refunds")
    copy = home.prowess / "users/local/skills/active/mcp--acme--billing--refunds"
    assert (copy / "references/rules.md").read_text() == "Be kind.\n"
    session.sync()
    assert (copy / "SKILL.md").read_text() == skill_md("refunds")


@pytest.mark.requirement("J11", "K1")
def test_refused_skill_gives_nothing_to_the_model(hosted: Runtime) -> None:
    person = Person(Answer.REFUSE)
    with pytest.raises(Refused):
        hosted.session("chat", asker=person).activate("refunds", asked_by=AskedBy.MODEL)
    with pytest.raises(Refused):
        hosted.session("chat", asker=person).read("refunds", "references/rules.md")
    assert len(person.questions) == 1


@pytest.mark.requirement("J11")
@pytest.mark.parametrize("line", ['consent = "never"', 'trusted_sources = ["core", "mcp"]'])
def test_no_setting_spares_the_question(home: Home, acted: Acted, line: str) -> None:
    home.write_settings(f"{ONLY_MINE}[activation]\n{line}\n{_table(acted)}")
    with Runtime(load_settings()) as runtime, pytest.raises(Refused) as refusal:
        runtime.session("chat").activate("refunds")
    assert refusal.value.code == "consent-needed"
    assert "prowess grants --allow" in refusal.value.hint


@pytest.mark.requirement("J11", "K1")
def test_changed_skill_asks_again(hosted: Runtime, acted: Acted) -> None:
    person = Person(Answer.ALLOW_ALWAYS, Answer.ALLOW_ALWAYS)
    hosted.session("chat", asker=person).activate("refunds")
    acted.add("skill://billing/refunds", {"references/rules.md": "Be strict.\n"})
    hosted.rescan()
    hosted.session("other", asker=person).activate("refunds")
    assert len(person.questions) == 2
    assert [change.path for change in person.questions[1].changes] == ["references/rules.md"]


@pytest.mark.requirement("J11")
def test_model_is_told_where_a_skill_comes_from(hosted: Runtime) -> None:
    session = hosted.session("chat", asker=Person(Answer.ALLOW_ALWAYS))
    assert "<origin>MCP server acme</origin>" in session.prompt()
    text = session.activate("refunds").text
    assert 'origin="mcp:acme"' in text
    assert "Origin: the MCP server acme, and not the user" in text
    read = session.call("read_skill_resource", {"name": "refunds", "path": "references/rules.md"})
    assert read.content.startswith("[From the MCP server acme")


@pytest.mark.requirement("J11")
@pytest.mark.parametrize("same_name", ["first-wins", "last-wins", "keep-all"])
def test_name_of_another_skill_is_never_taken(home: Home, acted: Acted, same_name: str) -> None:
    write_skill(home.path / ".agents/skills", "refunds", description="Our own.")
    home.write_settings(f'{ONLY_MINE}[catalog]\nsame_name = "{same_name}"\n{_table(acted)}')
    with Runtime(load_settings()) as runtime:
        catalog = runtime.catalog()
        assert catalog.get("refunds").description == "Our own."
        assert catalog.shadowed == {_REFUNDS: "agents:refunds"}
        assert [skill.id for skill in runtime.view().visible if skill.name == "refunds"] == ["agents:refunds"]
        reasons = {reason.code for reason in runtime.why("refunds").reasons}
        assert "shadowed" in reasons


def test_two_servers_may_have_the_same_address(home: Home, acted: Acted, tmp_path: Path) -> None:
    other = Acted(tmp_path / "other", name="other")
    other.add("skill://billing/refunds", {"SKILL.md": skill_md("refunds", body="Of another.\n")})
    home.write_settings(ONLY_MINE + _table(acted) + _table(other))
    with Runtime(load_settings()) as runtime:
        ids = [skill.id for skill in runtime.catalog().skills if skill.manifest.name == "refunds"]
        assert ids == [_REFUNDS, "mcp:other/billing/refunds"]
        assert runtime.catalog().shadowed == {}
        assert runtime.catalog().find("refunds") is None
        session = runtime.session("chat", asker=Person(Answer.ALLOW_ALWAYS))
        assert [session.prompt().count(f"<name>{one}</name>") for one in ids] == [1, 1]
        called = session.call("activate_skill", {"name": "mcp:other/billing/refunds"})
        assert "Of another." in called.content
        digests = {runtime.digest(skill) for skill in runtime.catalog().skills if skill.server}
        assert len(digests) == 2


@pytest.mark.requirement("J11", "K7")
def test_silent_server_is_reported_and_its_skills_stay(hosted: Runtime, acted: Acted) -> None:
    hosted.decide("refunds", Decision.ALLOW)
    acted.change(misdeeds={"initialize": "die"})
    catalog = hosted.rescan()
    assert _codes(catalog) == ["mcp-unreachable"]
    assert catalog.get("refunds").id == _REFUNDS
    assert hosted.session("chat").activate("refunds").text
    assert "mcp-unreachable" in {reason.code for reason in hosted.why("mcp:acme").reasons}
    assert "mcp-unreachable" in {reason.code for reason in hosted.why("unheard-of").reasons}
    acted.change(misdeeds={})
    assert _codes(hosted.rescan()) == []


@pytest.mark.requirement("J11", "K7")
def test_server_that_never_answered_hurts_nobody_else(home: Home, acted: Acted) -> None:
    acted.change(misdeeds={"initialize": "hang"})
    home.write_settings(ONLY_MINE + _table(acted, "timeout_seconds = 1\n"))
    write_skill(home.path / ".agents/skills", "alpha")
    with Runtime(load_settings()) as runtime:
        assert "alpha" in runtime.catalog().names()
        assert _codes(runtime.catalog()) == ["mcp-unreachable"]
    begun = len(acted.asked())
    with Runtime(load_settings()) as runtime:  # The next one does not wait again.
        assert _codes(runtime.catalog()) == ["mcp-unreachable"]
    assert len(acted.asked()) == begun


@pytest.mark.requirement("J11", "K7")
def test_lying_server_is_refused_with_the_reason(hosted: Runtime, acted: Acted) -> None:
    person = Person(Answer.ALLOW_ALWAYS)
    hosted.catalog()
    acted.serve("skill://billing/refunds/references/rules.md", "Lies.")
    with pytest.raises(Refused) as refusal:
        hosted.session("chat", asker=person).activate("refunds", asked_by=AskedBy.MODEL)
    assert refusal.value.code == "no-digest"
    assert "[mcp-mismatch]" in refusal.value.message
    assert "prowess mcp servers refresh acme" in refusal.value.hint
    assert person.questions == []
    assert _codes(hosted.catalog()) == ["mcp-mismatch"]
    assert "mcp-mismatch" in {reason.code for reason in hosted.why("refunds").reasons}


@pytest.mark.requirement("J11", "K1")
def test_what_a_server_says_of_its_failure_is_for_people_and_not_for_the_model(hosted: Runtime, acted: Acted) -> None:
    hosted.catalog()
    acted.script["files"].clear()
    acted.write()
    result = hosted.session("chat").call("activate_skill", {"name": "refunds"})
    assert (result.is_error, result.data["error"]["code"]) == (True, "no-digest")
    assert "nothing at" not in str((result.content, result.data))
    assert "[mcp-bad-answer]" in result.content
    assert "nothing at skill://billing/refunds" in " ".join(one.message for one in hosted.catalog().problems)
    with pytest.raises(Refused) as refusal:
        hosted.decide("refunds", Decision.ALLOW)
    assert "prowess mcp servers refresh acme" in refusal.value.hint


def test_settings_switch_off_all_skills_of_a_name(home: Home, acted: Acted, tmp_path: Path) -> None:
    other = Acted(tmp_path / "other", name="other")
    other.add("skill://billing/refunds")
    home.write_settings(f'{ONLY_MINE}[skills]\nrefunds = "off"\n{_table(acted)}{_table(other)}')
    with Runtime(load_settings()) as runtime:
        assert len(runtime.catalog().skills) == 2
        assert runtime.view().visible == ()


def test_skill_that_changed_since_it_was_listed_is_looked_at_again(hosted: Runtime, acted: Acted) -> None:
    person = Person(Answer.ALLOW_ALWAYS)
    hosted.catalog()
    acted.add("skill://billing/refunds", {"SKILL.md": skill_md("refunds", description="New.")}, description="New.")
    with pytest.raises(Refused, match="has changed"):
        hosted.session("chat", asker=person).activate("refunds")
    assert hosted.catalog().get("refunds").description == "New."
    assert hosted.session("chat", asker=person).activate("refunds").text
    assert [question.description for question in person.questions] == ["New."]


@pytest.mark.requirement("J11")
def test_allowed_tools_of_a_server_allow_nothing(home: Home, acted: Acted) -> None:
    text = skill_md("danger", extra="allowed-tools: Bash(*) run_skill_script\n")
    acted.add(
        "skill://danger",
        {"SKILL.md": text, "scripts/go.sh": "#!/bin/sh\necho gone\n"},
        **{"allowed-tools": "Bash(*) run_skill_script"},
    )
    person = Person(Answer.ALLOW_ALWAYS, Answer.REFUSE)
    with Runtime(load_settings(), asker=person) as runtime:
        session = runtime.session("chat")
        session.activate("danger")
        with pytest.raises(Refused):
            session.run("danger", "scripts/go.sh")
    assert [question.act.value for question in person.questions] == ["use", "run"]


def test_named_folders_leave_servers_alone(home: Home, acted: Acted) -> None:
    write_skill(home.path / "mine", "alpha")
    with Runtime(load_settings(), skills=[str(home.path / "mine")]) as runtime:
        assert [skill.name for skill in runtime.catalog().skills] == ["alpha"]
    assert acted.asked() == []


def test_server_that_is_switched_off_is_not_asked(home: Home, acted: Acted) -> None:
    home.write_settings(ONLY_MINE + _table(acted, "enabled = false\n"))
    with Runtime(load_settings()) as runtime:
        assert "refunds" not in runtime.catalog().names()
    assert acted.asked() == []


def test_mirror_is_not_found_as_a_folder_of_skills(home: Home, acted: Acted) -> None:
    """Whoever works in the home has its cache below him, and must not take it for skills of his project."""
    home.write_settings(f'{_table(acted)}\n[sources]\ndirectories = ["{home.prowess}"]\n')
    with Runtime(load_settings()) as runtime:
        assert [skill.id for skill in runtime.catalog().skills] == [_REFUNDS]


def test_what_another_process_was_told_is_seen(hosted: Runtime, acted: Acted) -> None:
    hosted.catalog()
    acted.add("skill://billing/refunds-of-old")
    with Runtime(load_settings()) as other:
        other.rescan()
    assert "refunds-of-old" in hosted.catalog().names()


@pytest.mark.slow
def test_new_skill_of_a_server_appears_by_itself(home: Home, acted: Acted) -> None:
    home.write_settings(ONLY_MINE + _table(acted, "refresh_seconds = 1\n"))
    with Runtime(load_settings()) as runtime:
        assert runtime.catalog().names() == ("refunds",)
        acted.add("skill://billing/invoices")
        while "invoices" not in runtime.catalog().names():
            time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.requirement("J11")
def test_worker_ends_with_its_runtime(home: Home, acted: Acted) -> None:
    acted.change(misdeeds={"skills/list": "hang"})
    home.write_settings(ONLY_MINE + _table(acted, "timeout_seconds = 30\nrefresh_seconds = 1\n"))
    with Runtime(load_settings()) as runtime:
        assert runtime.hosting is not None
        acted.change(misdeeds={})
        runtime.rescan()
        acted.change(misdeeds={"skills/list": "hang"})
        heard = acted.asked().count("skills/list")
        runtime.catalog()
        while acted.asked().count("skills/list") == heard:
            time.sleep(0.05)
        assert [len(found) for found in _find_processes(acted)] == [1, 1]
    assert _find_processes(acted) == ([], [])


def _find_processes(acted: Acted) -> tuple[list[str], list[str]]:
    """Return the workers of this process, and the servers that theirs or others have started."""
    told = subprocess.run(["ps", "-wweo", "ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 1) for line in told.splitlines()]
    workers = [args for parent, args in rows if parent == str(os.getpid()) and "prowess.sources.mcp.worker" in args]
    return workers, [args for _, args in rows if str(acted.folder) in args]


@pytest.mark.requirement("J11")
def test_skill_of_a_server_is_not_published_again_and_not_fetched_for_that(acted: Acted, hosted: Runtime) -> None:
    session = hosted.session("chat")
    assert [skill.server for skill in session.view().visible] == ["acme"]
    ((skill, uri, fault),) = survey(session)
    assert (skill.server, uri, isinstance(fault, Fault)) == ("acme", "", True)
    assert make_publication(session.view().visible).skills == ()
    assert _reads(acted) == []
