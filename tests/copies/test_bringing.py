"""Skills from folders and from real git repositories."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from prowess.copies.bringing import Extent, Failure, bring_skills, update_skill
from prowess.copies.git_addresses import parse_git_address
from prowess.copies.git_fetching import fetched
from prowess.copies.history import Origin
from prowess.copies.layout import Layout
from prowess.copies.personal import Change, ChangeStatus, PersonalSkills
from prowess.errors import BrokenSkill, NotFound, ProwessError, Refused, WorldError
from tests.copies.owned import JUDGE, draw, make_personal
from tests.skills_on_disk import Home, write_skill

pytestmark = pytest.mark.slow  # Nearly every test starts git.


@pytest.fixture
def personal(home: Home) -> PersonalSkills:
    return make_personal(home.prowess)


@pytest.fixture
def repository(home: Home) -> Path:
    """A repository with two skills in `skills/`, and the tag v1."""
    folder = home.path / "repository"
    write_skill(folder / "skills", "alpha", files={"which": "1", "run.sh": "#!/bin/sh\n"})
    write_skill(folder / "skills", "beta")
    _git(folder, "init", "--quiet", "--initial-branch=main")
    _commit(folder)
    _git(folder, "tag", "v1")
    return folder


def _git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _commit(folder: Path) -> str:
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message=m")
    return _git(folder, "rev-parse", "HEAD")


def _bring(personal: PersonalSkills, place: str, extent: Extent = Extent.ONE) -> tuple[Change | Failure, ...]:
    return bring_skills(personal, place, base=os.getcwd(), extent=extent, judge=JUDGE)


def _bring_one(personal: PersonalSkills, place: str) -> Change:
    (change,) = _bring(personal, place)
    assert isinstance(change, Change)
    return change


def _update(personal: PersonalSkills, name: str) -> Change:
    return update_skill(personal, name, base=os.getcwd(), judge=JUDGE)


# From folders


@pytest.mark.parametrize("place", ["skills/alpha", "./skills/alpha/", "skills/alpha/SKILL.md", "link", "~/alpha"])
def test_path_means_a_folder_or_its_skill_md(home: Home, personal: PersonalSkills, place: str) -> None:
    folder = write_skill(home.project / "skills", "alpha")
    (home.project / "link").symlink_to(folder)
    (home.path / "alpha").symlink_to(folder)
    change = _bring_one(personal, place)
    assert (change.status, change.origin) == (ChangeStatus.ADDED, Origin(str(folder)))


@pytest.mark.parametrize("place", ["nope", "nope/SKILL.md", "file"])
def test_place_where_nothing_is_is_not_found(home: Home, personal: PersonalSkills, place: str) -> None:
    (home.project / "file").write_text("x")
    with pytest.raises(NotFound):
        _bring(personal, place)
    assert personal.names() == ()


def test_empty_place_is_the_working_folder(home: Home, personal: PersonalSkills) -> None:
    with pytest.raises(BrokenSkill):
        _bring(personal, "")
    assert personal.names() == ()


def test_folder_of_several_skills_names_them(home: Home, personal: PersonalSkills) -> None:
    for name in ("alpha", "beta"):
        write_skill(home.project / "skills", name)
    with pytest.raises(BrokenSkill) as caught:
        _bring(personal, "skills")
    assert caught.value.message == f'No valid SKILL.md with "name" frontmatter in {home.project / "skills"}'
    assert caught.value.hint.startswith("there are skills below it (alpha, beta)")


def test_all_skills_of_a_folder_are_added_and_a_bad_one_hinders_none(home: Home, personal: PersonalSkills) -> None:
    for name in ("alpha", "group/beta", "zeta"):
        write_skill(home.project / "skills", name)
    write_skill(home.project / "skills", "bad", text="x")
    outcomes = _bring(personal, "skills", Extent.ALL)
    assert personal.names() == ("alpha", "beta", "zeta")
    assert [one.place for one in outcomes if isinstance(one, Failure)] == ["bad"]


def test_folder_without_any_skill_is_refused(home: Home, personal: PersonalSkills) -> None:
    (home.project / "empty").mkdir()
    for extent in Extent:
        with pytest.raises(BrokenSkill, match=r"^No valid SKILL.md"):
            _bring(personal, "empty", extent)


def _failures(outcomes: tuple[Change | Failure, ...]) -> list[tuple[str, str]]:
    return [(one.place, one.error.message) for one in outcomes if isinstance(one, Failure)]


def test_links_to_other_skills_are_not_followed_and_told_of(home: Home, personal: PersonalSkills) -> None:
    write_skill(home.project / "skills", "alpha")
    (home.project / "skills" / "out").symlink_to(write_skill(home.path / "private", "secret"))
    outcomes = _bring(personal, "skills", Extent.ALL)
    assert personal.names() == ("alpha",)
    assert _failures(outcomes) == [("out", "out is a link; the policy follows none")]


def test_links_that_hide_no_skill_are_no_failures(home: Home, personal: PersonalSkills) -> None:
    write_skill(home.project / "skills", "alpha")
    (home.project / "skills" / "again").symlink_to("alpha")
    (home.project / "skills" / "nowhere").symlink_to("missing")
    (home.project / "skills" / "home").symlink_to(home.path)
    assert _failures(_bring(personal, "skills", Extent.ALL)) == []


def test_misnamed_skills_are_told_of(home: Home, personal: PersonalSkills, repository: Path) -> None:
    (repository / "skills/beta/SKILL.md").rename(repository / "skills/beta/Skill.md")
    _commit(repository)
    for place, beta in ((f"git+{repository}", "skills/beta"), (str(repository / "skills"), "beta")):
        outcomes = _bring(personal, place, Extent.ALL)
        assert personal.names() == ("alpha",)
        assert _failures(outcomes) == [(beta, f"{beta} has a Skill.md, but no SKILL.md")]
    misnamed = str(repository / "skills/beta")
    assert _failures(_bring(personal, misnamed, Extent.ALL)) == [(".", ". has a Skill.md, but no SKILL.md")]


# From git


@pytest.mark.requirement("R122")
def test_skill_is_added_from_a_repository(home: Home, personal: PersonalSkills, repository: Path) -> None:
    commit = _git(repository, "rev-parse", "HEAD")
    change = _bring_one(personal, f"git+{repository}#skills/alpha")
    assert (change.name, change.status) == ("alpha", ChangeStatus.ADDED)
    assert change.origin == Origin(f"file://{repository}", "", "skills/alpha", commit)
    assert draw(Path(change.folder)) == draw(repository / "skills/alpha")
    assert os.listdir(home.prowess / "users/ann/.staging") == []


@pytest.mark.requirement("R122")
def test_all_skills_of_a_repository_remember_where_they_came_from(personal: PersonalSkills, repository: Path) -> None:
    changes = _bring(personal, f"git+{repository}", Extent.ALL)
    origins = [one.origin.folder for one in changes if isinstance(one, Change) and one.origin]
    assert origins == ["skills/alpha", "skills/beta"]
    assert _update(personal, "beta").status is ChangeStatus.UNCHANGED


@pytest.mark.requirement("R122")
def test_branch_tag_and_commit_can_be_named(home: Home, personal: PersonalSkills, repository: Path) -> None:
    first = _git(repository, "rev-parse", "HEAD")
    (repository / "skills/alpha/which").write_text("2")
    second = _commit(repository)
    _git(repository, "branch", "feature/two")
    found: list[tuple[str, str]] = []
    for ref in ("v1", "main", first, "feature/two", second):
        change = _bring_one(personal, f"git+{repository}@{ref}#skills/alpha")
        assert change.origin is not None
        found.append(((Path(change.folder) / "which").read_text(), change.origin.commit))
    assert found == [("1", first), ("2", second), ("1", first), ("2", second), ("2", second)]


@pytest.mark.requirement("R122")
def test_update_fetches_again(personal: PersonalSkills, repository: Path) -> None:
    """A57."""
    _bring(personal, f"git+{repository}#skills/alpha")
    assert _update(personal, "alpha").status is ChangeStatus.UNCHANGED
    (repository / "skills/alpha/which").write_text("2")
    commit = _commit(repository)
    change = _update(personal, "alpha")
    assert (change.status, change.version, change.kept) == (ChangeStatus.REPLACED, 2, 1)
    assert change.origin == Origin(f"file://{repository}", "", "skills/alpha", commit)


def test_skill_pinned_to_a_commit_is_up_to_date(personal: PersonalSkills, repository: Path) -> None:
    first = _git(repository, "rev-parse", "HEAD")
    _bring(personal, f"git+{repository}@{first}#skills/alpha")
    (repository / "skills/alpha/which").write_text("2")
    _commit(repository)
    assert _update(personal, "alpha").status is ChangeStatus.UNCHANGED


def test_restored_version_is_still_updated_from_its_repository(personal: PersonalSkills, repository: Path) -> None:
    _bring(personal, f"git+{repository}#skills/alpha")
    (repository / "skills/alpha/which").write_text("2")
    _commit(repository)
    _update(personal, "alpha")
    personal.restore("alpha", version=1)
    assert (_update(personal, "alpha").version, len(personal.history("alpha").previous)) == (4, 3)


def test_skill_that_was_renamed_in_its_repository_is_not_updated(personal: PersonalSkills, repository: Path) -> None:
    _bring(personal, f"git+{repository}#skills/alpha")
    text = (repository / "skills/alpha/SKILL.md").read_text()
    (repository / "skills/alpha/SKILL.md").write_text(text.replace("name: alpha", "name: gamma"))
    _commit(repository)
    with pytest.raises(Refused, match="'alpha' is called 'gamma' there by now"):
        _update(personal, "alpha")
    assert personal.names() == ("alpha",)


def test_only_what_came_from_git_is_updated(home: Home, personal: PersonalSkills) -> None:
    write_skill(home.project, "alpha")
    _bring(personal, "alpha")
    with pytest.raises(Refused, match="is not from a git repository"):
        _update(personal, "alpha")
    personal.remove("alpha")
    for name in ("alpha", "nope"):
        with pytest.raises(NotFound, match="Personal skill not found"):
            _update(personal, name)


@pytest.mark.parametrize(
    ("end", "error"),
    [
        ("@nope#skills/alpha", WorldError),
        ("#nope", NotFound),
        ("#skills/alpha/which", NotFound),
        ("#skills/out", NotFound),
        ("#up/skills/alpha", NotFound),
        ("", BrokenSkill),
    ],
)
def test_what_is_not_in_a_repository_is_not_added(
    home: Home, personal: PersonalSkills, repository: Path, end: str, error: type[ProwessError]
) -> None:
    write_skill(home.path / "private", "secret")
    (repository / "skills/out").symlink_to(home.path / "private/secret")
    (repository / "up").symlink_to(".")
    _commit(repository)
    with pytest.raises(error) as caught:
        _bring(personal, f"git+{repository}{end}")
    assert ".staging" not in caught.value.message + caught.value.hint
    assert personal.names() == ()
    assert os.listdir(home.prowess / "users/ann/.staging") == []


def test_repository_that_is_not_there_says_what_git_says(home: Home, personal: PersonalSkills) -> None:
    """A55."""
    with pytest.raises(
        WorldError, match=r"^Failed to install from file://.*: .* does not appear to be a git"
    ) as caught:
        _bring(personal, f"git+{home.path}/nope.git")
    assert caught.value.code == "git-failed"


def test_nothing_of_a_repository_is_run(home: Home, personal: PersonalSkills, repository: Path) -> None:
    """Neither hooks from the user's template, nor filters, nor submodules."""
    mark = home.path / "it-ran"
    hooks = home.path / "template/hooks"
    hooks.mkdir(parents=True)
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        os.chmod(hooks / name, 0o755)
    (home.path / ".gitconfig").write_text(
        f"[init]\n templateDir = {home.path}/template\n[core]\n hooksPath = {hooks}\n"
        f'[filter "evil"]\n smudge = touch {mark}; cat\n clean = cat\n'
    )
    (repository / ".gitattributes").write_text("* filter=evil\n")
    (repository / ".gitmodules").write_text(
        f'[submodule "m"]\n path = m\n url = {repository}\n update = !touch {mark}\n'
    )
    _commit(repository)
    mark.unlink(missing_ok=True)
    change = _bring_one(personal, f"git+{repository}#skills/alpha")
    assert (change.status, mark.exists()) == (ChangeStatus.ADDED, False)


def test_variables_that_point_git_elsewhere_do_not_count(
    home: Home, personal: PersonalSkills, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they are set where a hook calls Prowess."""
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repository))
    monkeypatch.setenv("GIT_INDEX_FILE", str(home.path / "index"))
    change = _bring_one(personal, f"git+{repository}#skills/alpha")
    assert (change.status, (home.path / "index").exists()) == (ChangeStatus.ADDED, False)


def test_host_that_never_answers_is_given_up(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = parse_git_address(f"https://127.0.0.1:{server.getsockname()[1]}/a.git", base="/")
        with (
            pytest.raises(WorldError, match="it takes too long"),
            fetched(address, Layout(str(home.prowess)), "ann", timeout_seconds=1),
        ):
            pytest.fail("nothing was fetched")


def test_server_that_never_ends_what_it_says_is_given_up(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ssh").write_text("#!/bin/sh\nhead -c 3000000 /dev/zero >&2\nexec sleep 60\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh"))
    address = parse_git_address("ssh://example.org/a.git", base="/")
    with (
        pytest.raises(WorldError, match="the server says too much"),
        fetched(address, Layout(str(home.prowess)), "ann", timeout_seconds=30),
    ):
        pytest.fail("nothing was fetched")


def test_repository_that_is_too_large_is_given_up(home: Home, repository: Path) -> None:
    layout = Layout(str(home.prowess))
    (repository / "holes").write_bytes(b"\0" * 3_000_000)
    _commit(repository)
    address = parse_git_address(f"git+{repository}", base="/")
    with (
        pytest.raises(WorldError, match="its files are larger than"),
        fetched(address, layout, "ann", max_bytes=1 << 20),
    ):
        pytest.fail("nothing was fetched")
    (repository / "noise").write_bytes(os.urandom(3_000_000))
    _commit(repository)
    with pytest.raises(WorldError, match="it is larger than"), fetched(address, layout, "ann", max_bytes=1 << 20):
        pytest.fail("nothing was fetched")
    assert os.listdir(home.prowess / "users/ann/.staging") == []


def test_git_that_is_missing_is_said_so(
    personal: PersonalSkills, repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorldError, match="git is not installed"):
        _bring(personal, f"git+{repository}")
