"""The Runtime: what applications hold."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from prowess.catalog.switches import Switch
from prowess.errors import NotFound, SettingsError, ToolInputError, WorldError
from prowess.policy import SourceKind
from prowess.runtime import Runtime
from prowess.runtime.workbench import Workbench
from prowess.settings import load_settings
from prowess.sources.places import BUNDLED_SKILLS
from tests.skills_on_disk import Home, write_skill


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "skills"


@pytest.fixture
def runtime(home: Home, root: Path) -> Iterator[Runtime]:
    """A runtime over one folder with the skills `alpha` and `beta`."""
    write_skill(root, "alpha")
    write_skill(root, "beta")
    with Runtime.open(skills=[root]) as opened:
        yield opened


def _codes(runtime: Runtime, name: str, *, agent: str = "") -> list[str]:
    return [reason.code for reason in runtime.why(name, agent=agent).reasons]


# Open and close


def test_without_arguments_the_settings_of_the_machine_count(home: Home) -> None:
    home.write_settings('profile = "agent-base"\n')
    with Runtime.open() as runtime:
        assert runtime.settings == load_settings()
        assert runtime.settings.profile == "agent-base"


def test_profile_may_be_named(home: Home) -> None:
    with Runtime.open(profile="daycare") as runtime:
        assert runtime.settings.profile == "daycare"


def test_settings_and_a_profile_together_are_refused(home: Home) -> None:
    with pytest.raises(SettingsError, match="either settings or a profile"):
        Runtime.open(load_settings(), profile="daycare")


def test_reading_writes_nothing_but_caches(home: Home, root: Path) -> None:
    write_skill(root, "alpha")
    with Runtime.open(skills=[root]) as runtime:
        runtime.digest(runtime.catalog().get("alpha"))
        runtime.view()
    left = {path.relative_to(home.prowess).parts[0] for path in home.prowess.rglob("*") if path.is_file()}
    assert left <= {"cache"}
    assert sorted(path.name for path in root.rglob("*")) == ["SKILL.md", "alpha"]


class _FailingWorkbench(Workbench):
    """What the sandboxes hold cannot be given back."""

    def close(self) -> None:
        raise WorldError("the engine does not answer")


def test_part_that_cannot_be_closed_leaves_no_other_open(home: Home) -> None:
    runtime = Runtime.open()
    runtime.workbench = _FailingWorkbench(runtime.settings)
    runtime.trust(home.project)
    assert [file for file in _find_open_files() if str(home.prowess) in file]
    with pytest.raises(WorldError, match="the engine does not answer"):
        runtime.close()
    assert not [file for file in _find_open_files() if str(home.prowess) in file]


def _find_open_files() -> list[str]:
    found: list[str] = []
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(os.readlink(handle))
    return found


def test_what_was_warned_of_is_remembered_within_a_bound(runtime: Runtime, caplog: pytest.LogCaptureFixture) -> None:
    for key in ("first", "first", *map(str, range(1_000)), "999", "first"):
        runtime.warn_once(("a test of the bound", key), f"warning {key}")
    told = [record.getMessage() for record in caplog.records]
    assert (told.count("warning first"), told.count("warning 999")) == (2, 1)


def test_runtime_may_be_closed_twice(home: Home) -> None:
    runtime = Runtime.open()
    runtime.catalog()
    runtime.close()
    runtime.close()


# Skills


@pytest.mark.requirement("R31", "R34", "R42")
def test_catalog_has_the_skills_of_the_folders(runtime: Runtime, root: Path) -> None:
    catalog = runtime.catalog()
    assert catalog.names() == ("alpha", "beta")
    alpha = catalog.get("alpha")
    assert (alpha.id, alpha.kind, alpha.folder, alpha.root) == (
        "project:alpha",
        SourceKind.PROJECT,
        str(root / "alpha"),
        str(root),
    )
    assert catalog.get("project:beta") is catalog.find("beta")
    assert alpha.trusted


@pytest.mark.requirement("R42")
def test_unknown_name_is_not_found_with_the_nearest_ones(runtime: Runtime) -> None:
    assert runtime.catalog().find("alpa") is None
    with pytest.raises(NotFound) as caught:
        runtime.catalog().get("alpa")
    assert (caught.value.code, caught.value.hint) == ("unknown-skill", "did you mean 'alpha'?")


def test_same_objects_are_returned_while_nothing_changes(runtime: Runtime) -> None:
    assert runtime.catalog() is runtime.catalog()
    assert runtime.view() is runtime.view()
    assert runtime.view("x") is runtime.view("x")
    assert runtime.catalog_text() == runtime.catalog_text()
    assert runtime.rescan() is runtime.catalog()


@pytest.mark.requirement("R18", "R36")
def test_change_on_disk_is_in_the_next_answer(runtime: Runtime, root: Path) -> None:
    before = runtime.catalog()
    write_skill(root, "gamma")
    write_skill(root, "alpha", description="Does another thing.")
    after = runtime.catalog()
    assert after.names() == ("alpha", "beta", "gamma")
    assert after.get("alpha").description == "Does another thing."
    assert after.generation > before.generation
    assert before.names() == ("alpha", "beta")


@pytest.mark.requirement("R35", "R36")
def test_policy_that_looks_at_start_waits_for_a_rescan(home: Home, root: Path) -> None:
    home.write_settings('[catalog]\nrefresh = "start"\n')
    write_skill(root, "alpha")
    with Runtime.open(skills=[root]) as runtime:
        first = runtime.catalog()
        write_skill(root, "beta")
        assert runtime.catalog() is first
        assert runtime.rescan().names() == ("alpha", "beta")


@pytest.mark.requirement("R33", "J6", "K7")
def test_nothing_is_there_while_skills_are_switched_off(home: Home, root: Path) -> None:
    home.write_settings("enabled = false\n")
    write_skill(root, "alpha")
    with Runtime.open(skills=[root]) as runtime:
        assert runtime.catalog().skills == ()
        assert runtime.view().visible == ()
        assert runtime.catalog_text() == ""
        assert _codes(runtime, "alpha") == ["disabled"]


def test_digest_names_the_exact_files(runtime: Runtime, root: Path) -> None:
    alpha = runtime.catalog().get("alpha")
    first = runtime.digest(alpha)
    assert len(first) == 64
    assert runtime.digest(alpha) == first == runtime.files(alpha).digest
    (root / "alpha" / "notes.md").write_text("x")
    second = runtime.digest(alpha)
    (root / "alpha" / "notes.md").unlink()
    assert second != first
    assert runtime.digest(alpha) == first


def test_skill_with_a_link_that_leads_out_has_no_digest(runtime: Runtime, root: Path) -> None:
    (root / "alpha" / "passwd").symlink_to("/etc/passwd")
    alpha = runtime.catalog().get("alpha")
    assert runtime.digest(alpha) == ""
    assert [problem.code for problem in runtime.files(alpha).problems] == ["link-escape"]


def test_sources_are_listed_highest_precedence_first(home: Home) -> None:
    home.write_settings('[sources]\nextra = ["./more"]\n')
    with Runtime.open() as runtime:
        roots = [source.root for source in runtime.sources()]
    assert roots == [
        str(home.project / "more"),
        str(home.project / ".prowess/skills"),
        str(home.project / ".agents/skills"),
        str(home.project / ".claude/skills"),
        str(home.prowess / "users/local/skills/personal"),
        str(home.prowess / "skills"),
        str(home.path / ".agents/skills"),
        str(home.path / ".claude/skills"),
        BUNDLED_SKILLS,
    ]


# Plugins


@pytest.mark.requirement("R19", "R30")
@pytest.mark.parametrize("end", ["", "SKILL.md"])
def test_registered_skill_is_there_until_it_is_taken_back(runtime: Runtime, tmp_path: Path, end: str) -> None:
    path = write_skill(tmp_path / "elsewhere", "delta") / end
    assert runtime.register_skill(path, plugin="tools") == "plugin:tools/delta"
    assert runtime.catalog().get("delta").id == "plugin:tools/delta"
    runtime.unregister_skill(path)
    assert runtime.catalog().find("delta") is None


@pytest.mark.requirement("R19")
def test_skill_registered_twice_is_one_skill(runtime: Runtime, tmp_path: Path) -> None:
    """D21."""
    path = write_skill(tmp_path / "elsewhere", "delta")
    runtime.register_skill(path, plugin="tools")
    runtime.register_skill(path / "SKILL.md", plugin="tools")
    assert [skill.id for skill in runtime.catalog().skills if skill.name == "delta"] == ["plugin:tools/delta"]


@pytest.mark.requirement("R19")
def test_registered_skill_yields_to_the_folders(runtime: Runtime, tmp_path: Path) -> None:
    runtime.register_skill(write_skill(tmp_path / "elsewhere", "alpha"), plugin="tools")
    catalog = runtime.catalog()
    assert catalog.get("alpha").id == "project:alpha"
    assert catalog.shadowed == {"plugin:tools/alpha": "project:alpha"}


@pytest.mark.requirement("R19")
def test_registration_needs_an_absolute_path_and_a_plain_id(runtime: Runtime, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="absolute path"):
        runtime.register_skill("skills/delta")
    for plugin in ("", "a/b", "a:b"):
        with pytest.raises(SettingsError, match="plugin's id"):
            runtime.register_skill(write_skill(tmp_path, "delta"), plugin=plugin)
    with pytest.raises(NotFound):
        runtime.unregister_skill(tmp_path / "delta")


@pytest.mark.requirement("R19", "R27")
def test_registration_of_a_missing_skill_is_refused(runtime: Runtime, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no SKILL\.md"):
        runtime.register_skill(tmp_path / "nowhere")


@pytest.mark.requirement("R19", "R27")
def test_registered_skill_that_vanishes_is_reported(runtime: Runtime, tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "delta")
    runtime.register_skill(folder)
    shutil.rmtree(folder)
    assert [problem.code for problem in runtime.catalog().problems] == ["source-missing"]


@pytest.mark.requirement("R24")
def test_tiers_stand_above_each_other(home: Home) -> None:
    """Whoever comes later in this row loses a name to whoever comes before: project, user, plugin, built-in."""
    tiers = [home.project / ".prowess" / "skills", home.prowess / "skills", home.path / "plugin"]
    with Runtime.open(load_settings()) as runtime:
        runtime.trust()
        runtime.register_skill(write_skill(tiers[2], "safe-edit"), plugin="acme")
        seen = [runtime.catalog().get("safe-edit").id]
        for root in (tiers[1], tiers[0]):
            write_skill(root, "safe-edit")
            seen.append(runtime.catalog().get("safe-edit").id)
        losers = dict(runtime.catalog().shadowed)
    assert seen == ["plugin:acme/safe-edit", "user:safe-edit", "project:safe-edit"]
    assert losers == dict.fromkeys(("user:safe-edit", "plugin:acme/safe-edit", "core:safe-edit"), "project:safe-edit")


# Views


@pytest.mark.requirement("R38", "R39", "R40")
@pytest.mark.parametrize(
    ("allowlist", "names"),
    [
        (None, ("alpha", "beta")),
        (["*"], ("alpha", "beta")),
        (["beta"], ("beta",)),
        (["project:alpha", "gamma"], ("alpha",)),
        ([], ()),
    ],
)
def test_list_of_a_task_filters_the_view(runtime: Runtime, allowlist: list[str] | None, names: tuple[str, ...]) -> None:
    assert runtime.filtered(allowlist).names() == names


@pytest.mark.requirement("R39", "R40")
def test_list_of_an_agent_filters_its_view_only(home: Home, root: Path) -> None:
    home.write_settings('[agents.one]\nskills = ["alpha"]\n[agents.none]\nskills = []\n')
    write_skill(root, "alpha")
    write_skill(root, "beta")
    with Runtime.open(skills=[root]) as runtime:
        assert [runtime.view(agent).names() for agent in ("", "one", "none", "other")] == [
            ("alpha", "beta"),
            ("alpha",),
            (),
            ("alpha", "beta"),
        ]
        assert runtime.catalog_text(agent="none") == ""
        assert _codes(runtime, "beta", agent="one") == ["hidden"]


def test_invisible_name_is_refused_with_the_visible_ones(runtime: Runtime) -> None:
    with pytest.raises(ToolInputError) as caught:
        runtime.filtered(["alpha"]).get("beta")
    assert caught.value.message == "Unknown or unavailable skill: beta"
    assert caught.value.hint == "available skills: alpha"


# Switches


@pytest.mark.requirement("R37")
def test_switch_holds_for_everybody_or_for_one_agent(runtime: Runtime) -> None:
    assert runtime.set_switch("alpha", Switch.OFF).id == "project:alpha"
    runtime.set_switch("beta", Switch.NAME_ONLY, agent="one")
    assert runtime.view().names() == ("beta",)
    assert runtime.view("one").name_only == {"project:beta"}
    assert runtime.view().name_only == frozenset()
    runtime.set_switch("alpha", Switch.ON, agent="one")
    assert [runtime.view(agent).names() for agent in ("", "one")] == [("beta",), ("alpha", "beta")]


@pytest.mark.requirement("R37")
def test_switch_is_there_in_the_next_runtime_and_in_another_one_at_once(runtime: Runtime, root: Path) -> None:
    with Runtime.open(skills=[root]) as other:
        assert other.view().names() == ("alpha", "beta")
        runtime.set_switch("alpha", Switch.OFF)
        assert other.view().names() == ("beta",)
    with Runtime.open(skills=[root]) as later:
        assert later.view().names() == ("beta",)


@pytest.mark.requirement("R37")
def test_switch_of_one_project_does_not_touch_another(runtime: Runtime, tmp_path: Path) -> None:
    write_skill(tmp_path / "others", "alpha")
    runtime.set_switch("alpha", Switch.OFF)
    with Runtime.open(skills=[tmp_path / "others"]) as other:
        assert other.view().names() == ("alpha",)


def test_one_path_is_not_taken_for_a_list_of_folders(root: Path) -> None:
    for path in (str(root), root):
        with pytest.raises(SettingsError, match="skills is one path") as caught:
            Runtime.open(skills=path)  # pyright: ignore[reportArgumentType] - a text passes, and a path is a mistake too
        assert caught.value.hint == "give a list of folders"


@pytest.mark.requirement("R37")
def test_person_counts_before_the_settings(home: Home, root: Path) -> None:
    home.write_settings('[skills]\nalpha = "off"\n')
    write_skill(root, "alpha")
    with Runtime.open(skills=[root]) as runtime:
        assert runtime.view().names() == ()
        runtime.set_switch("alpha", Switch.ON)
        assert runtime.view().names() == ("alpha",)


@pytest.mark.requirement("R37")
def test_switch_of_an_unknown_skill_is_not_found(runtime: Runtime) -> None:
    with pytest.raises(NotFound):
        runtime.set_switch("gamma", Switch.OFF)


# Trust


@pytest.mark.requirement("K7")
def test_projects_skills_are_hidden_until_the_project_is_trusted(home: Home) -> None:
    write_skill(home.project / ".agents" / "skills", "alpha")
    home.write_settings('[sources]\ndirectories = [".agents/skills"]\n')
    with Runtime.open() as runtime:
        assert runtime.catalog().names() == ("alpha",)
        assert runtime.view().names() == ()
        assert runtime.catalog_text() == ""
        assert _codes(runtime, "alpha") == ["untrusted"]

        assert runtime.trust() == (str(home.project), True)
        assert runtime.view().names() == ("alpha",)
        assert _codes(runtime, "alpha") == ["visible", "consent-needed"]
        assert runtime.trusted_projects() == {str(home.project)}
        assert runtime.trust() == (str(home.project), False)

        assert runtime.untrust() == (str(home.project), True)
        assert runtime.view().names() == ()
        assert runtime.untrust() == (str(home.project), False)


def test_trust_is_given_to_the_repository_around_a_folder(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / "deep" / "down").mkdir(parents=True)
    with Runtime.open() as runtime:
        assert runtime.trust(other / "deep" / "down") == (str(other), True)
        assert runtime.trust("../other") == (str(other), False)
        with pytest.raises(NotFound):
            runtime.trust(other / "none")


def test_other_sources_need_no_trust(home: Home) -> None:
    write_skill(home.path / ".agents" / "skills", "alpha")
    with Runtime.open() as runtime:
        assert "alpha" in runtime.view().names()


# Why


@pytest.mark.requirement("K7")
def test_why_has_a_code_for_each_reason(home: Home, root: Path) -> None:
    others = root.parent / "others"
    write_skill(root, "alpha")
    write_skill(root, "off")
    write_skill(root, "people")
    write_skill(root, "shy", extra="disable-model-invocation: true\n")
    write_skill(root, "needy", extra="requires: [no-such-command-4d1f]\n")
    write_skill(root, "broken", text="---\nname: broken\n---\n")
    write_skill(others, "alpha")
    with Runtime.open(skills=[root, others]) as runtime:
        runtime.set_switch("off", Switch.OFF)
        runtime.set_switch("people", Switch.USER_ONLY)
        found = {name: _codes(runtime, name) for name in ("off", "people", "shy", "needy", "broken", "nope")}
        assert found == {
            "off": ["disabled"],
            "people": ["hidden"],
            "shy": ["hidden"],
            "needy": ["ineligible"],
            "broken": ["invalid"],
            "nope": ["not-found"],
        }
        assert _codes(runtime, "alpha") == ["visible", "shadowed"]
        assert [runtime.why(name).found for name in ("alpha", "off", "broken", "nope")] == [True, True, True, False]
        assert [runtime.why(name).visible for name in ("alpha", "off", "broken", "nope")] == [True, False, False, False]


@pytest.mark.requirement("K7")
def test_why_names_every_reason_at_once(home: Home) -> None:
    home.write_settings('[agents.one]\nskills = []\n[skills]\nalpha = "off"\n')
    write_skill(home.project / ".agents" / "skills", "alpha", extra="requires: [no-such-command-4d1f]\n")
    with Runtime.open() as runtime:
        explanation = runtime.why("alpha", agent="one")
    assert [reason.code for reason in explanation.reasons] == ["disabled", "hidden", "untrusted", "ineligible"]
    assert all(reason.message and reason.remedy for reason in explanation.reasons)


@pytest.mark.requirement("K3", "R121")
def test_what_a_skill_misses_is_said(home: Home, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_skill(root, "needy", extra="requires:\n  env: [PROWESS_TEST_TOKEN]\n")
    with Runtime.open(skills=[root]) as runtime:
        needy = runtime.catalog().get("needy")
        assert runtime.missing(needy) == ("the variable PROWESS_TEST_TOKEN is not set",)
        assert not runtime.is_eligible(needy)
        assert runtime.view().names() == ()
        monkeypatch.setenv("PROWESS_TEST_TOKEN", "x")
        assert runtime.is_eligible(needy)
        assert runtime.view().names() == ("needy",)


# Threads


@pytest.mark.slow
def test_threads_may_ask_while_files_change(runtime: Runtime, root: Path) -> None:
    failures: list[BaseException] = []
    done = threading.Event()

    def ask(number: int) -> None:
        try:
            while not done.is_set():
                catalog = runtime.catalog()
                assert {"alpha", "beta"} <= set(catalog.names())
                assert len(catalog.by_id) == len(catalog.skills)
                view = runtime.view(f"agent-{number % 3}")
                assert runtime.catalog_text(agent=view.agent).startswith("<available_skills>")
                runtime.digest(catalog.skills[number % len(catalog.skills)])
        except BaseException as failure:  # noqa: BLE001 - whatever it is, the test must fail of it
            failures.append(failure)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for number in range(40):
        write_skill(root, f"more-{number % 8}", description=f"Does thing {number}.")
        if number % 3 == 0:
            (root / f"more-{number % 8}" / "SKILL.md").unlink()
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    left = {path.parent.name for path in root.glob("*/SKILL.md")}
    assert set(runtime.catalog().names()) == left
