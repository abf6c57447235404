"""`prowess add`, `remove`, `eject`, `history`, `restore` and `migrate`: the user's own skills on the command line."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from prowess.errors import BrokenSkill, NotFound, Refused, SettingsError
from tests.copies.owned import draw
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import call, run

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture
def source(home: Home) -> Path:
    return write_skill(home.project, "alpha", files={"which": "1"})


@pytest.fixture
def own(home: Home) -> Path:
    return home.prowess / "users/local/skills/personal"


def _change(source: Path, text: str) -> None:
    (source / "which").write_text(text)


def _digest(name: str) -> str:
    return call("show", name, "--json").json["digest"]


# add


@pytest.mark.requirement("R116")
def test_added_skill_is_seen_at_once(home: Home, source: Path, own: Path) -> None:
    answer = call("add", "alpha", "--json").json
    assert answer == {
        "name": "alpha",
        "status": "added",
        "path": str(own / "alpha"),
        "version": 1,
        "digest": _digest("alpha"),
        "kept": None,
        "origin": {"path": str(source)},
        "problems": [],
    }
    assert call("show", "alpha", "--json").json["id"] == "user:alpha"
    assert call("--profile", "daycare", "show", "alpha", "--json").json["id"] == "user:alpha"


@pytest.mark.requirement("R116")
def test_people_are_told_how_to_undo(source: Path, own: Path) -> None:
    first = call("add", "alpha/SKILL.md")
    assert (first.stdout, first.stderr) == (f"added alpha, version 1: {own}/alpha\n", "undo: prowess remove alpha\n")
    assert call("add", "alpha").stdout == f"unchanged alpha, version 1: {own}/alpha\n"
    _change(source, "2")
    second = call("add", "alpha")
    assert second.stdout == f"replaced alpha, version 2: {own}/alpha\n"
    assert second.stderr == "version 1 is kept; undo: prowess restore alpha --version 1\n"
    removed = call("remove", "alpha")
    kept = own.parents[1] / "skills-history/alpha/versions/2"
    assert removed.stdout == f"removed alpha; version 2 is kept in {kept}\n"
    assert removed.stderr == "undo: prowess restore alpha\n"
    back = call("restore", "alpha")
    assert (back.stdout, back.stderr) == (
        f"restored alpha, as version 2: {own}/alpha\n",
        "undo: prowess remove alpha\n",
    )
    older = call("restore", "alpha", "--version", "1")
    assert older.stdout == f"restored alpha, as version 3: {own}/alpha\n"
    assert older.stderr == "version 2 is kept; undo: prowess restore alpha --version 2\n"
    again = call("restore", "alpha", "--version", "1")
    assert again.stdout == f"alpha has these files already, as version 3: {own}/alpha\n"


def test_command_that_undoes_is_for_the_skill_whatever_it_is_called(home: Home, source: Path) -> None:
    write_skill(home.project / "more", "two; words")
    assert call("add", "more/two; words").stderr.splitlines()[0] == "undo: prowess remove 'two; words'"
    assert call("remove", "two; words").stderr == "undo: prowess restore 'two; words'\n"
    assert call("restore", "two; words").stderr == "undo: prowess remove 'two; words'\n"


def test_shadowed_skill_and_warnings_are_told(home: Home, source: Path) -> None:
    write_skill(home.project / ".agents/skills", "Alpha")
    write_skill(home.project / "more", "Alpha")
    call("trust")
    assert call("add", "more/Alpha").stderr.splitlines() == [
        "undo: prowess remove Alpha",
        "warning: the name 'Alpha' is not lower-case letters, digits and single hyphens [name-invalid]",
        "'Alpha' is shadowed by project:Alpha; `prowess why Alpha` says more",
    ]


def test_several_are_added_and_failures_are_listed(home: Home, source: Path, own: Path) -> None:
    write_skill(home.project / "many", "beta")
    write_skill(home.project / "many", "bad", text="x")
    outcome = call("add", "--all", "many", "--json")
    assert outcome.status == 1
    assert [row["name"] for row in outcome.json["skills"]] == ["beta"]
    assert [(row["path"], row["error"]["code"]) for row in outcome.json["failed"]] == [("bad", "no-skill")]
    assert outcome.stderr.startswith('not added: bad: No valid SKILL.md with "name" frontmatter')
    outcome = call("add", "alpha", "nope", "--json")
    assert (outcome.status, [row["status"] for row in outcome.json["skills"]]) == (1, ["added"])
    assert [row["error"]["code"] for row in outcome.json["failed"]] == ["not-found"]
    assert sorted(os.listdir(own)) == ["alpha", "beta"]


def test_strict_takes_only_what_follows_the_standard(home: Home) -> None:
    write_skill(home.project, "Alpha")
    with pytest.raises(BrokenSkill, match="would not be loaded"):
        call("add", "--strict", "Alpha")
    assert call("add", "Alpha", "--json").json["problems"][0]["code"] == "name-invalid"


@pytest.mark.slow
@pytest.mark.requirement("R122")
def test_skill_from_git_is_updated(home: Home, source: Path) -> None:
    repository = home.path / "repository"
    write_skill(repository, "alpha", files={"which": "1"})

    def commit() -> str:
        who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "m"]):
            subprocess.run(["git", *who, *arguments], cwd=repository, check=True, capture_output=True)
        return subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True
        ).stdout.strip()

    first = commit()
    added = run("add", f"git+{repository}#alpha", "--json").json
    assert added["origin"] == {"repository": f"file://{repository}", "ref": None, "folder": "alpha", "commit": first}
    assert call("add", "--update", "alpha", "--json").json["status"] == "unchanged"
    (repository / "alpha/which").write_text("2")
    second = commit()
    updated = call("add", "--update", "--all", "--json").json
    assert [(row["status"], row["origin"]["commit"]) for row in updated["skills"]] == [("replaced", second)]
    rows = [line.split("\t") for line in call("history", "alpha").stdout.splitlines()]
    assert [row[-1] for row in rows] == [f"file://{repository}#alpha {commit[:12]}" for commit in (first, second)]


def test_nothing_to_update_is_said_so(home: Home) -> None:
    outcome = call("add", "--update", "--all")
    assert (outcome.status, outcome.stdout) == (0, "")
    assert outcome.stderr == "Nothing to update: none of your skills is from a git repository.\n"
    assert call("add", "--update", "--all", "--json").json == {"skills": [], "failed": []}


# remove, history, restore


@pytest.mark.requirement("R116", "R122")
def test_removed_skill_is_gone_from_the_list_until_it_is_restored(source: Path, own: Path) -> None:
    call("add", "alpha")
    digest = _digest("alpha")
    removed = call("remove", "alpha", "--json").json
    kept = str(own.parents[1] / "skills-history/alpha/versions/1")
    assert removed == {
        "name": "alpha",
        "status": "removed",
        "path": kept,
        "version": 1,
        "digest": digest,
        "kept": 1,
        "origin": {"path": str(source)},
        "problems": [],
    }
    with pytest.raises(NotFound):
        call("show", "alpha")
    assert call("restore", "alpha", "--json").json["version"] == 1
    assert _digest("alpha") == digest


@pytest.mark.requirement("R116")
def test_history_lists_all_versions(source: Path, own: Path) -> None:
    """D85."""
    for text in ("1", "2", "3"):
        _change(source, text)
        call("add", "alpha")
    answer = call("history", "alpha", "--json").json
    assert (answer["name"], answer["current"], answer["previous"]) == ("alpha", 3, [1, 2])
    assert [set(row) for row in answer["versions"]] == [{"version", "path", "digest", "at", "edited", "origin"}] * 3
    assert all(_MOMENT.fullmatch(row["at"]) for row in answer["versions"])
    (own / "alpha/mine").write_text("x")
    rows = [line.split("\t") for line in call("history", "alpha").stdout.splitlines()]
    assert [row[:2] for row in rows] == [["1", "kept"], ["2", "kept"], ["3", "in use, edited"]]
    call("remove", "alpha")
    after = call("history", "alpha")
    assert after.stderr == "It was removed; bring it back: prowess restore alpha\n"
    assert call("history", "alpha", "--json").json["current"] is None


def test_skill_can_be_called_by_its_name_and_id_where_the_folder_has_another(own: Path) -> None:
    write_skill(own, "folder", text="---\nname: beta\ndescription: d\n---\n")
    for name in ("beta", "user:folder", "folder"):
        assert call("history", name, "--json").json["name"] == "folder"
    assert call("remove", "beta", "--json").json["name"] == "folder"


def test_skill_that_lies_deeper_is_left_alone(own: Path) -> None:
    write_skill(own, "group/beta")
    with pytest.raises(Refused, match="lies deeper"):
        call("remove", "beta")
    assert (own / "group/beta/SKILL.md").is_file()


def test_broken_skill_can_be_removed(own: Path) -> None:
    write_skill(own, "broken", text="x")
    assert call("remove", "broken", "--json").json["status"] == "removed"
    assert list(own.iterdir()) == []


# eject


@pytest.mark.requirement("R116")
def test_any_skill_can_be_ejected(home: Home) -> None:
    outcome = call("eject", "repo-survey", "--json")
    target = home.project / "repo-survey"
    shown = call("show", "core:repo-survey", "--json").json
    assert outcome.json == {
        "name": "repo-survey",
        "path": str(target),
        "version": None,
        "digest": shown["digest"],
        "files": len(shown["files"]),
    }
    assert os.access(target / "scripts/survey.py", os.W_OK)
    second = call("eject", "core:repo-survey", "--to", "deep/er")
    assert second.stdout == f"{home.project}/deep/er/repo-survey\n"
    assert second.stderr == f"Edit it, then make it yours: prowess add {home.project}/deep/er/repo-survey\n"


@pytest.mark.requirement("R116")
def test_former_version_is_ejected(home: Home, source: Path) -> None:
    """D78."""
    call("add", "alpha")
    before = draw(source)
    _change(source, "2")
    call("add", "alpha")
    assert call("eject", "alpha", "--to", "now", "--json").json["version"] == 2
    first = call("eject", "alpha", "--version", "1", "--to", "old", "--json").json
    assert (first["path"], first["version"]) == (str(home.project / "old/alpha"), 1)
    assert (draw(home.project / "old/alpha"), draw(home.project / "now/alpha")) == (before, draw(source))
    with pytest.raises(NotFound, match="has no version 3"):
        call("eject", "alpha", "--version", "3", "--to", "none")
    with pytest.raises(Refused, match="exists already"):
        call("eject", "alpha", "--version", "1", "--to", "old")


# migrate


@pytest.mark.requirement("R87")
def test_old_folder_is_migrated(home: Home, own: Path) -> None:
    old = own.parent
    write_skill(old, "alpha")
    write_skill(old, "beta")
    write_skill(own, "beta")
    answer = {
        "user": "local",
        "personal": str(own),
        "dry_run": True,
        "moved": [{"name": "alpha", "to": "alpha"}],
        "left": [{"name": "beta", "reason": "personal/beta is there already"}],
    }
    assert call("migrate", "--dry-run", "--json").json == answer
    assert call("migrate", "--dry-run").stdout == f"would move alpha to {own}/alpha\n"
    assert (old / "alpha").is_dir()
    assert call("migrate", "--json").json == answer | {"dry_run": False}
    assert call("show", "alpha", "--json").json["id"] == "user:alpha"
    again = call("migrate")
    assert (again.stdout, again.stderr) == ("", "left beta: personal/beta is there already\n")


def test_other_user_is_migrated_on_demand(home: Home) -> None:
    write_skill(home.prowess / "users/anna/skills", "alpha")
    moved = call("migrate", "--user", "anna")
    assert moved.stdout == f"moved alpha to {home.prowess}/users/anna/skills/personal/alpha\n"
    assert call("migrate", "--user", "anna").stderr == "Nothing to move.\n"
    with pytest.raises(SettingsError, match="cannot be a user's name"):
        call("migrate", "--user", "../anna")


# What is refused


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["remove", "x"], NotFound, 'Personal skill not found: "x"'),
        (["restore", "x"], NotFound, 'Personal skill not found: "x"'),
        (["history", "x"], NotFound, 'Personal skill not found: "x"'),
        (["eject", "missing"], NotFound, 'Personal skill not found: "missing".'),
        (["eject", "missing", "--version", "1"], NotFound, 'Personal skill not found: "missing".'),
        (["add", "--update", "x"], NotFound, 'Personal skill not found: "x"'),
        (["remove", "../alpha"], NotFound, 'Personal skill not found: "../alpha"'),
        (["history", "scheduling"], Refused, "Only user skills have version history."),
        (["remove", "scheduling"], NotFound, 'Personal skill not found: "scheduling"'),
        (["add", "nope"], NotFound, "nothing at "),
        (["add", "."], BrokenSkill, 'No valid SKILL.md with "name" frontmatter'),
        (["add", "http://host/a.git"], Refused, "Invalid git URL format"),
        (["add", "https://host/a.git@-x"], Refused, "Invalid ref format"),
    ],
)
def test_refusal_says_what_is_wrong(home: Home, arguments: list[str], error: type[Exception], message: str) -> None:
    """D67, D75, D79, D85, A49, A50."""
    with pytest.raises(error, match=f"^{re.escape(message)}|{re.escape(message)}$"):
        call(*arguments)


@pytest.mark.parametrize(
    "arguments", [["add", "alpha"], ["remove", "x"], ["restore", "x"], ["history", "x"], ["eject", "x"]]
)
@pytest.mark.parametrize("options", [["--profile", "workspace"], ["--skills", "."]])
def test_personal_skills_must_be_looked_for(source: Path, own: Path, options: list[str], arguments: list[str]) -> None:
    """D69, D76, D80."""
    if options == ["--skills", "."]:
        arguments = [word.replace("x", "nope") for word in arguments]
    with pytest.raises(SettingsError) as caught:
        call(*options, *arguments)
    assert caught.value.message == "Personal skills directory is not configured"
    assert caught.value.hint == f'use the profile standard or daycare, or set sources.extra = ["{own}"]'


def test_settings_can_add_the_folder_to_any_profile(home: Home, source: Path, own: Path) -> None:
    home.write_settings(f'profile = "agent-base"\n[sources]\nextra = ["{own}"]\n')
    assert call("add", "alpha", "--json").json["status"] == "added"
    assert call("show", "alpha", "--json").json["path"] == str(own / "alpha")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["add", "git+nope"], (3, "git-failed")),
        (["add", "nope"], (1, "not-found")),
        (["add", "ext::sh"], (1, "bad-address")),
        (["remove", "x"], (1, "unknown-skill")),
        (["history", "scheduling"], (1, "not-yours")),
        (["--profile", "workspace", "add", "alpha"], (2, "not-configured")),
        (["add"], (2, "usage")),
        (["add", "--update", "--all", "x"], (2, "usage")),
        (["restore", "x", "--version", "0"], (2, "usage")),
        (["migrate", "--user", ".."], (2, "bad-user")),
    ],
)
def test_status_says_who_can_act(home: Home, source: Path, arguments: list[str], answer: tuple[int, str]) -> None:
    outcome = run("--json", *arguments)
    assert (outcome.status, outcome.json["error"]["code"]) == answer


@pytest.mark.slow
@pytest.mark.parametrize("command", ["add alpha", "migrate"])
def test_folder_that_is_a_link_is_refused(home: Home, source: Path, own: Path, command: str) -> None:
    own.parent.mkdir(parents=True)
    own.symlink_to("/etc")
    outcome = run("--json", *command.split())
    assert (outcome.status, outcome.json["error"]["code"]) == (3, "not-a-folder")


@pytest.mark.slow
def test_names_are_completed(home: Home, source: Path) -> None:
    call("add", "alpha")
    write_skill(home.project, "gone")
    call("add", "gone")
    call("remove", "gone")
    found: dict[str, list[str]] = {}
    for line in ("prowess remove ", "prowess restore ", "prowess history g", "prowess eject alp"):
        words = {"_PROWESS_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": "2"}
        found[line] = run(env=words).stdout.splitlines()
    assert found == {
        "prowess remove ": ["plain,alpha"],
        "prowess restore ": ["plain,alpha", "plain,gone"],
        "prowess history g": ["plain,gone"],
        "prowess eject alp": ["plain,alpha"],
    }


@pytest.mark.slow
def test_names_that_are_no_utf_8_work(home: Home, own: Path) -> None:
    strange = b"caf\xe9"
    root = Path(os.fsdecode(os.path.join(os.fsencode(home.project), strange)))
    write_skill(root, "alpha", files={os.fsdecode(b"\xff.txt"): "x"})
    added = run("--json", "add", os.path.join(strange, b"alpha")).json
    assert (added["status"], added["origin"]) == ("added", {"path": f"{home.project}/caf\\xe9/alpha"})
    assert run("--json", "eject", "alpha", "--to", strange + b"/out").json["version"] == 1
    write_skill(own, os.fsdecode(strange), text="---\nname: cafe\ndescription: d\n---\n")
    for command in ("history", "remove", "restore"):
        outcome = run("--json", command, strange)
        assert (outcome.status, outcome.json["name"]) == (0, "caf\\xe9")


# Where the home is a link


@pytest.fixture
def linked(home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The same home, reached by a link."""
    link = home.path.with_name("link")
    link.symlink_to(home.path)
    monkeypatch.setenv("HOME", str(link))
    monkeypatch.setenv("PROWESS_HOME", str(link / ".prowess"))
    return home


@pytest.mark.usefixtures("linked")
def test_own_skill_is_known_as_such_by_a_link_to_the_home(source: Path) -> None:
    call("add", str(source))
    assert call("eject", "alpha", "--to", "now", "--json").json["version"] == 1
    assert call("remove", "user:alpha", "--json").json["status"] == "removed"


def test_own_skill_that_other_settings_find_by_another_path_is_known_as_such(linked: Home, source: Path) -> None:
    own = linked.prowess / "users/local/skills/personal"
    linked.write_settings(f'profile = "agent-base"\n[sources]\nextra = ["{own}"]\n')
    call("add", str(source))
    assert call("eject", "alpha", "--to", "now", "--json").json["version"] == 1
    assert call("remove", call("show", "alpha", "--json").json["id"], "--json").json["status"] == "removed"


@pytest.mark.usefixtures("linked")
def test_shadowed_skill_is_told_by_a_link_to_the_home(home: Home, source: Path) -> None:
    write_skill(home.project / ".prowess/skills", "alpha")
    call("trust")
    told = call("add", str(source)).stderr
    assert "'alpha' is shadowed by project:alpha; `prowess why alpha` says more\n" in told
