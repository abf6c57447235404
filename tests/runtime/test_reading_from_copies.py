"""What a session reads comes from the copies, once there are any, and the model is told where its code finds them."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.activation.consent import Answer
from prowess.activation.receipts import AskedBy
from prowess.containers.mounts import Mount
from prowess.runtime import Runtime
from prowess.sources.skill_files import read_skill_files
from tests.copies.parts import contents, names
from tests.runtime.opening import ONLY_MINE
from tests.runtime.people import Person
from tests.skills_on_disk import Home, write_skill

_FAST = "[copies]\ndurable = false\n"
_OPEN = f'{ONLY_MINE}[activation]\nconsent = "never"\n'


@pytest.fixture
def root(home: Home) -> Path:
    home.write_settings(_OPEN + _FAST)
    root = home.path / ".agents" / "skills"
    _write(root, "Version one.")
    return root


def _write(root: Path, text: str) -> Path:
    return write_skill(root, "alpha", body=f"{text}\n", files={"references/a.md": f"{text}\n", "scripts/a.sh": "#!"})


@pytest.fixture
def runtime(root: Path) -> Iterator[Runtime]:
    with Runtime.open() as opened:
        yield opened


@pytest.fixture
def active(home: Home) -> Path:
    return home.prowess / "users" / "local" / "skills" / "active"


@pytest.mark.requirement("R82", "J9")
def test_content_comes_from_the_copy_until_the_next_sync(runtime: Runtime, root: Path) -> None:
    session = runtime.session("chat")
    session.sync()
    _write(root, "Version two.")
    (root / "alpha" / "references" / "new.md").touch()
    assert session.activate("alpha").instructions.body.strip() == "Version one."
    assert session.read("alpha", "references/a.md").content == "Version one.\n"
    assert session.tier3_resource("alpha", "references/a.md") == "Version one.\n"
    assert session.tier3_resources("alpha", "references") == ("references/a.md",)
    assert "Version one." in (session.tier2_context("alpha") or "")
    session.sync()
    activation = session.activate("alpha")
    assert (activation.instructions.body.strip(), activation.already_active) == ("Version two.", False)
    assert session.read("alpha", "references/a.md").content == "Version two.\n"
    assert session.tier3_resources("alpha", "references") == ("references/a.md", "references/new.md")


@pytest.mark.requirement("R82")
def test_without_a_sync_the_source_is_read(runtime: Runtime, root: Path) -> None:
    session = runtime.session("chat")
    assert session.read("alpha", "references/a.md").content == "Version one.\n"
    _write(root, "Version two.")
    assert session.read("alpha", "references/a.md").content == "Version two.\n"
    assert session.activate("alpha").instructions.body.strip() == "Version two."


@pytest.mark.requirement("R82", "R84")
def test_activation_without_a_sync_places_its_skill_and_leaves_the_rest(
    runtime: Runtime, root: Path, active: Path
) -> None:
    write_skill(root, "beta")
    assert runtime.session("chat").activate("alpha").base_directory == "/shared/skills/agents--alpha"
    assert names(active) == {"agents--alpha"}
    assert contents(active / "agents--alpha") == contents(root / "alpha")
    (root / "alpha" / "more").touch()
    runtime.session("chat").activate("alpha")
    assert contents(active / "agents--alpha") == contents(root / "alpha")


@pytest.mark.requirement("R82", "K5")
def test_consent_is_asked_for_the_files_of_the_copy(home: Home, root: Path) -> None:
    home.write_settings(ONLY_MINE + _FAST)
    person = Person(Answer.ALLOW_ALWAYS, Answer.ALLOW_ALWAYS)
    with Runtime.open(asker=person) as runtime:
        session = runtime.session("chat")
        session.sync()
        first = read_skill_files(str(root / "alpha")).digest
        _write(root, "Version two.")
        second = read_skill_files(str(root / "alpha")).digest
        assert session.activate("alpha").digest == first
        session.sync()
        assert session.activate("alpha").digest == second
        assert [question.digest for question in person.questions] == [first, second]


@pytest.mark.requirement("R82")
def test_copy_that_is_gone_is_no_reason_to_fail(runtime: Runtime, home: Home) -> None:
    session = runtime.session("chat")
    session.sync()
    for folder in (home.prowess / "versions", home.prowess / "users"):
        shutil.rmtree(folder)
    assert session.read("alpha", "references/a.md").content == "Version one.\n"
    assert session.activate("alpha").base_directory == "/shared/skills/agents--alpha"
    assert session.sync().unchanged == 1


# Where the model's code finds it


@pytest.mark.requirement("R84", "R86")
@pytest.mark.parametrize("where", ["shared", "host", "none"])
def test_base_directory_is_where_the_code_of_the_model_finds_the_copy(
    home: Home, root: Path, active: Path, where: str
) -> None:
    home.write_settings(f'{_OPEN}base_directory = "{where}"\n{_FAST}')
    folder = {"shared": "/shared/skills/agents--alpha", "host": f"{active}/agents--alpha", "none": ""}[where]
    mounts = {
        "shared": (Mount(str(active), inside="/shared/skills"),),
        "host": (Mount(str(active), inside=str(active)),),
        "none": (),
    }[where]
    with Runtime.open() as runtime:
        session = runtime.session("chat")
        report = session.sync()
        activation = session.activate("alpha")
        assert (activation.base_directory, report.active_root) == (folder, str(active) if folder else "")
        assert (f"Base directory for this skill: {folder}" in activation.text) == bool(folder)
        assert ("Base directory" in activation.text) == bool(folder)
        assert (session.mounts(), runtime.mounts()) == (mounts, mounts)
        assert session.permissions().read_only_dirs == tuple(mount.host for mount in mounts)
        assert session.activate("alpha").base_directory == folder
    if where == "host":
        assert contents(Path(folder)) == contents(root / "alpha")


@pytest.mark.requirement("R84")
@pytest.mark.parametrize("blocked", ["users", "copies", "versions"])
def test_activation_works_where_no_copy_can_be_made(
    home: Home, root: Path, blocked: str, caplog: pytest.LogCaptureFixture
) -> None:
    (home.prowess / blocked).write_text("in the way")
    with Runtime.open() as runtime:
        activation = runtime.session("chat").activate("alpha")
        assert (activation.base_directory, activation.instructions.body.strip()) == ("", "Version one.")
        assert "Base directory" not in activation.text
    assert (home.prowess / blocked).read_text() == "in the way"


# Skills for people only


@pytest.fixture
def shy(root: Path) -> Path:
    return write_skill(root, "shy", extra="disable-model-invocation: true\n")


@pytest.mark.requirement("R82", "R79")
def test_skill_for_people_is_there_while_a_person_has_it_on(runtime: Runtime, shy: Path, active: Path) -> None:
    session = runtime.session("chat")
    session.sync()
    assert names(active) == {"agents--alpha"}
    assert session.activate("shy", asked_by=AskedBy.USER).base_directory == "/shared/skills/agents--shy"
    report = session.sync()
    assert (names(active), report.removed) == ({"agents--alpha", "agents--shy"}, ())
    assert session.read("shy", "SKILL.md").content == (shy / "SKILL.md").read_text()
    session.end()
    assert runtime.sync().removed == ("agents:shy",)
    assert names(active) == {"agents--alpha"}


# Narrower views


@pytest.mark.requirement("R38", "R84")
def test_narrower_agent_has_a_root_of_its_own(home: Home, root: Path, active: Path) -> None:
    write_skill(root, "beta")
    home.write_settings(f'{_OPEN}[agents.writer]\nskills = ["beta"]\n{_FAST}')
    with Runtime.open() as runtime:
        runtime.sync()
        writer = runtime.session("chat", agent="writer")
        listed = runtime.session("other", skills=["alpha"])
        roots = [Path(session.sync().active_root) for session in (writer, listed)]
        assert [names(folder) for folder in (active, *roots)] == [
            {"agents--alpha", "agents--beta"},
            {"agents--beta"},
            {"agents--alpha"},
        ]
        for session, folder in zip((writer, listed), roots, strict=True):
            assert session.mounts() == (Mount(str(folder), inside="/shared/skills"),)
        assert writer.activate("beta").base_directory == "/shared/skills/agents--beta"
        assert os.path.samefile(active / "agents--beta/SKILL.md", roots[0] / "agents--beta/SKILL.md")
        assert runtime.sync().unchanged == 2


def test_sessions_with_the_same_list_share_a_root(runtime: Runtime, root: Path) -> None:
    write_skill(root, "beta")
    lists: tuple[list[str], ...] = (["alpha", "beta"], ["beta", "alpha"], ["alpha"], [])
    roots = [runtime.session(f"s{number}", skills=one).sync().active_root for number, one in enumerate(lists)]
    assert roots[0] == roots[1]
    assert len(set(roots)) == 3
    assert names(Path(roots[3])) == set()


# Versions in use


@pytest.mark.requirement("K5")
def test_version_of_an_active_skill_stays_until_no_session_uses_it(runtime: Runtime, home: Home, root: Path) -> None:
    versions = home.prowess / "versions"
    session = runtime.session("chat")
    session.sync()
    digest = session.activate("alpha").digest
    _write(root, "Version two.")
    runtime.sync()
    assert digest in names(versions)
    assert len(names(versions)) == 2
    session.end()
    _write(root, "Version three.")
    runtime.sync()
    assert names(versions) == {runtime.digest(runtime.view().get("alpha"))}


@pytest.mark.requirement("K5")
def test_pinned_version_stays_as_it_is(runtime: Runtime, root: Path) -> None:
    session = runtime.session("chat")
    session.sync()
    before = contents(root / "alpha")
    with session.pin("alpha") as pin:
        _write(root, "Version two.")
        session.sync()
        assert contents(Path(pin.folder)) == before
    _write(root, "Version three.")
    session.sync()
    assert not os.path.lexists(pin.folder)


@pytest.mark.requirement("K5")
def test_version_is_made_for_a_pin_if_nobody_has_synced(runtime: Runtime, root: Path) -> None:
    with runtime.session("chat").pin("alpha") as pin:
        assert contents(Path(pin.folder)) == contents(root / "alpha")
