"""What the four documents' own systems find, found again under the profile of each."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from prowess.catalog.catalog import Catalog
from prowess.catalog.eligibility import HostProbe, decide_eligibility
from prowess.catalog.reasons import explain
from prowess.catalog.refresh import CatalogKeeper
from prowess.catalog.switches import Switch, Switches
from prowess.catalog.views import View, make_view
from prowess.disclosure.catalog_text import render_catalog
from prowess.policy import PROFILES, CatalogText, Limits, Refresh
from prowess.skill.field_values import as_words
from prowess.skill.manifest import Requirements
from prowess.sources.places import Place, resolve_directories, resolve_sources
from prowess.sources.plugins import Plugins
from tests.catalog.machine import Machine, discover, ids, messages
from tests.catalog.probes import PaperProbe
from tests.sources.building import codes, skill_text, write_skill

_PERSONAL = "home/.prowess/users/local/skills/personal"


def _view(catalog: Catalog, *, binaries: tuple[str, ...] = (), off: tuple[str, ...] = ()) -> View:
    switches = Switches({("", name): Switch.OFF for name in off})
    return make_view(catalog, probe=PaperProbe(frozenset(binaries)), switches=switches)


@pytest.mark.parametrize(
    ("profile", "skills", "expected"),
    [
        pytest.param("daycare", [], [], id="D12 agents root missing", marks=pytest.mark.requirement("R20")),
        pytest.param(
            "daycare",
            ["home/.prowess/skills/holocube"],
            ["config:holocube"],
            id="D13",
            marks=pytest.mark.requirement("R18", "R30"),
        ),
        pytest.param("daycare", [], [], id="D14 config root missing", marks=pytest.mark.requirement("R18")),
        pytest.param(
            "daycare",
            [f"{_PERSONAL}/bridge-builder"],
            ["user:bridge-builder"],
            id="D15",
            marks=pytest.mark.requirement("R21", "R30"),
        ),
        pytest.param("daycare", [], [], id="D16 personal root missing", marks=pytest.mark.requirement("R21")),
        pytest.param(
            "daycare",
            [f"{_PERSONAL}/one", f"{_PERSONAL}/two", "home/.prowess/users/local/skills/active/user--one"],
            ["user:one", "user:two"],
            id="D17 active is no source",
            marks=pytest.mark.requirement("R21"),
        ),
        pytest.param(
            "daycare",
            ["core/parent-skill", "core/parent-skill/assets/nested-skill"],
            ["core:parent-skill"],
            id="D20 search stops at a skill",
            marks=pytest.mark.requirement("R25"),
        ),
        pytest.param(
            "daycare",
            ["home/.agents/skills/research/agents-helper"],
            ["agents:research/agents-helper"],
            id="D26",
            marks=pytest.mark.requirement("R20", "R30"),
        ),
        pytest.param(
            "daycare",
            ["home/.agents/skills/x", f"{_PERSONAL}/x", "home/.prowess/skills/x", "core/x"],
            ["core:x", "config:x", "user:x", "agents:x"],
            id="five sources in order, all kept",
            marks=pytest.mark.requirement("R17", "R29", "R31"),
        ),
        pytest.param(
            "workspace",
            ["project/skills/a", "project/skills/deep/b", "project/skills/.git/c", "project/skills/node_modules/d"],
            ["workspace:a"],
            id="root and one level, without the skipped folders",
            marks=pytest.mark.requirement("R23", "R25", "R26"),
        ),
        pytest.param("agent-base", ["core/a"], ["core:a"], id="A32", marks=pytest.mark.requirement("R17")),
        pytest.param(
            "agent-base",
            ["core/a", "home/.agent/skills/b", "project/.agent/skills/c"],
            ["project:c", "user:b", "core:a"],
            id="A33",
            marks=pytest.mark.requirement("R17", "R21", "R22"),
        ),
        pytest.param("agent-base", [], [], id="A34", marks=pytest.mark.requirement("R22")),
        pytest.param(
            "agent-base",
            ["project/.claude/skills/a", "home/.agent/skills/b"],
            ["project:a", "user:b"],
            id="A42 .claude is found",
            marks=pytest.mark.requirement("R123"),
        ),
        pytest.param(
            "agent-base",
            ["project/.agent/skills/x", "project/.agent/skills/group/deep"],
            ["project:x"],
            id="children only",
            marks=pytest.mark.requirement("R25"),
        ),
        pytest.param(
            "remcochat",
            ["project/.skills/a", "project/.skills/b", "project/.skills/c"],
            ["project:a", "project:b", "project:c"],
            id="RC1",
            marks=pytest.mark.requirement("R22", "R25"),
        ),
        pytest.param(
            "remcochat",
            ["home/.remcochat/skills/a", "home/.agents/skills/b", "project/.agents/skills/c", "project/.skills/d"],
            ["project:d", "project:c", "agents:b", "user:a"],
            id="directories in their order",
            marks=pytest.mark.requirement("R20", "R22"),
        ),
    ],
)
def test_profile_finds_what_its_document_says(
    profile: str, skills: list[str], expected: list[str], tmp_path: Path
) -> None:
    found = Machine(tmp_path).draw(dict.fromkeys(skills, "")).catalog(profile)
    assert ids(found) == expected
    assert (found.rejected, found.problems) == ((), ())


# Daycare (000, 004)


@pytest.mark.requirement("R17")
@pytest.mark.parametrize("path", [pytest.param("autonomous-ai-agents/voice-agents-creator", id="D18")])
def test_core_skill_brings_the_tools_it_documents(path: str, tmp_path: Path) -> None:
    text = skill_text("voice-agents-creator", extra="tools:\n  - voice_agent_create\n")
    found = Machine(tmp_path).draw({f"core/{path}": text}).catalog("daycare").get(f"core:{path}")
    assert found.manifest.behaviour.tools == ("voice_agent_create",)


@pytest.mark.requirement("R117", "R30")
@pytest.mark.parametrize(
    ("path", "category"),
    [
        pytest.param("core/software-development/deploy", "software-development", id="D19"),
        pytest.param("home/.prowess/skills/a/b/c", "a", id="D22"),
        pytest.param("home/.agents/skills/research/agents-helper", "research", id="D26"),
        pytest.param("core/scheduling", "", id="not nested"),
    ],
)
def test_first_folder_of_a_nested_skill_is_its_category(path: str, category: str, tmp_path: Path) -> None:
    text = skill_text(path.rpartition("/")[2], description="Use <cron>")
    machine = Machine(tmp_path).draw({path: text})
    (tmp_path / path).parent.joinpath("DESCRIPTION.md").write_text("---\ndescription: A category.\n---\n")
    found = machine.catalog("daycare")
    assert [(skill.category, skill.description) for skill in found.skills] == [(category, "Use <cron>")]


@pytest.mark.requirement("R19", "R30")
@pytest.mark.parametrize("end", [pytest.param("SKILL.md", id="D21"), pytest.param("", id="D21 by its folder")])
def test_plugin_path_registered_twice_is_one_skill(end: str, tmp_path: Path) -> None:
    plugins = Plugins()
    folder = write_skill(tmp_path / "plugin" / "plugin-skill")
    for _ in range(2):
        plugins.register(folder / end, plugin="alpha")
    assert ids(Machine(tmp_path).catalog("daycare", plugins)) == ["plugin:alpha/plugin-skill"]


@pytest.mark.requirement("R19")
def test_unloaded_plugin_is_gone_from_the_next_catalog(tmp_path: Path) -> None:
    plugins = Plugins()
    machine, folder = Machine(tmp_path), write_skill(tmp_path / "plugin" / "helper")
    plugins.register(folder, plugin="foo")
    keeper = CatalogKeeper(PROFILES["daycare"], lambda: machine.sources(PROFILES["daycare"], plugins))
    assert ids(keeper.current()) == ["plugin:foo/helper"]
    plugins.unregister(folder)
    assert ids(keeper.current()) == []


@pytest.mark.requirement("R18", "R36")
def test_config_skills_are_read_anew_each_time_they_are_asked_for(tmp_path: Path) -> None:
    policy = PROFILES["daycare"]
    assert policy.refresh is Refresh.EACH_TURN
    machine = Machine(tmp_path).draw({"home/.prowess/skills/a": ""})
    keeper = CatalogKeeper(policy, lambda: machine.sources(policy))
    assert ids(keeper.current()) == ["config:a"]
    machine.draw({"home/.prowess/skills/b": ""})
    assert ids(keeper.current()) == ["config:a", "config:b"]


@pytest.mark.requirement("R29")
def test_skills_of_one_name_are_all_kept_and_the_first_answers_to_it(tmp_path: Path) -> None:
    """D34, for the catalog's part."""
    found = Machine(tmp_path).draw({"core/x": "", "home/.prowess/skills/x": ""}).catalog("daycare")
    assert (found.shadowed, found.get("x").id, found.get("config:x").id) == ({}, "core:x", "config:x")
    assert [skill.id for skill in _view(found).visible] == ["core:x", "config:x"]


@pytest.mark.requirement("R41")
@pytest.mark.parametrize("form", [CatalogText.XML, CatalogText.JSON])
def test_listing_for_a_model_shows_no_path_of_the_host(form: CatalogText, tmp_path: Path) -> None:
    found = Machine(tmp_path).draw({"core/x": skill_text("x"), f"{_PERSONAL}/y": skill_text("y")}).catalog("daycare")
    text = render_catalog(((skill, skill.description) for skill in _view(found).visible), form)
    assert "x" in text
    assert str(tmp_path) not in text
    assert "SKILL.md" not in text


# Workspace pipeline (001)


@pytest.mark.requirement("R14", "R23", "R25")
@pytest.mark.parametrize("case", [pytest.param("root", id="S1")])
def test_root_and_nested_skill_are_found_with_sane_names(case: str, tmp_path: Path) -> None:
    files = {
        "project/skills": skill_text(f"{case} skill"),
        "project/skills/nested-skill": skill_text("nested skill"),
    }
    found = Machine(tmp_path).draw(files).catalog("workspace")
    assert found.names() == ("nested-skill", "root-skill")
    assert (found.problems, found.rejected, found.shadowed) == ((), (), {})


@pytest.mark.requirement("R15")
@pytest.mark.parametrize("text", [pytest.param("---\nname: a\n---\n", id="S2")])
def test_workspace_skill_without_a_description_is_left_out_with_a_warning(text: str, tmp_path: Path) -> None:
    found = Machine(tmp_path).draw({"project/skills/a": text}).catalog("workspace")
    assert ids(found) == []
    assert "missing required frontmatter fields" in messages(found.rejected[0].problems)


@pytest.mark.requirement("R13")
@pytest.mark.parametrize(
    "text",
    [pytest.param("---\nname: a\ndescription: supports: colon values\ntags:\n  - x\n---\nBody\n", id="S3")],
)
def test_workspace_skill_with_broken_yaml_keeps_its_name_and_description(text: str, tmp_path: Path) -> None:
    found = Machine(tmp_path).draw({"project/skills/a": text}).catalog("workspace").get("a")
    assert (found.name, found.description) == ("a", "supports: colon values")
    assert Path(found.folder, "SKILL.md").read_text() == text


@pytest.mark.requirement("R29")
@pytest.mark.parametrize("name", [pytest.param("shared", id="S4")])
def test_last_workspace_skill_of_a_name_wins_and_the_first_is_warned_of(name: str, tmp_path: Path) -> None:
    files = {
        "project/skills/a": skill_text(name, description="first"),
        "project/skills/z": skill_text(name, description="second"),
    }
    found = Machine(tmp_path).draw(files).catalog("workspace")
    view = _view(found)
    assert [(skill.id, skill.description) for skill in view.visible] == [("workspace:z", "second")]
    assert found.get(name).description == "second"
    assert f"duplicate skill '{name}'" in messages(found.get("workspace:a").problems)


@pytest.mark.requirement("R38")
@pytest.mark.parametrize("case", [pytest.param("beta", id="S6")])
def test_registering_a_skill_again_replaces_it(case: str, tmp_path: Path) -> None:
    plugins = Plugins()
    folder = write_skill(tmp_path / case)
    first = plugins.register(folder, plugin="one")
    second = plugins.register(folder, plugin="two")
    assert (first.plugin, second.plugin) == ("one", "two")
    assert list(plugins.registered.values()) == [second]


@pytest.mark.requirement("R38", "R39", "R40")
@pytest.mark.parametrize(
    ("allowlist", "expected"),
    [
        pytest.param(["beta"], ["beta"], id="S7"),
        pytest.param([], [], id="S8"),
        pytest.param(["*"], ["alpha", "beta"], id="S9"),
        pytest.param(None, ["alpha", "beta"], id="S9 undefined"),
    ],
)
def test_agents_list_filters_the_workspace(allowlist: list[str] | None, expected: list[str], tmp_path: Path) -> None:
    found = Machine(tmp_path).draw({"project/skills/alpha": "", "project/skills/beta": ""}).catalog("workspace")
    assert [skill.name for skill in make_view(found, probe=PaperProbe(), allowlist=allowlist).visible] == expected


# Three tiers (002)


@pytest.mark.requirement("R15", "R22")
@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param("# none\n", ["no-frontmatter"], id="A36"),
        pytest.param("---\nname: bad\ndescription: d\nx: y\n---\n", ["unknown-key-refused"], id="A36 unknown key"),
        pytest.param("---\nname: other\ndescription: d\n---\n", ["name-differs-from-folder"], id="A36 other name"),
    ],
)
def test_broken_skill_is_reported_and_the_other_is_loaded(text: str, problems: list[str], tmp_path: Path) -> None:
    found = Machine(tmp_path).draw({"project/.agent/skills/bad": text, "project/.agent/skills/good": ""})
    catalog = found.catalog("agent-base")
    assert ids(catalog) == ["project:good"]
    assert [codes(one.problems) for one in catalog.rejected] == [problems]


@pytest.mark.requirement("R25")
@pytest.mark.parametrize("name", [pytest.param("empty", id="A35")])
def test_folder_without_a_skill_is_skipped(name: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path).draw({"project/.agent/skills/good": ""})
    (tmp_path / "project/.agent/skills" / name).mkdir()
    (tmp_path / "project/.agent/skills/README.md").write_text("x")
    found = machine.catalog("agent-base")
    assert (ids(found), found.rejected, found.problems) == (["project:good"], (), ())


_TIERS = ("project/.agent/skills/x", "project/.claude/skills/x", "home/.agent/skills/x", "core/x")


@pytest.mark.requirement("R29", "R123", "J2")
@pytest.mark.parametrize(
    "tiers",
    [
        pytest.param(_TIERS[2:], id="A37"),
        pytest.param(_TIERS, id="A42"),
        pytest.param((_TIERS[1], _TIERS[3]), id="A42 .claude before bundled"),
        pytest.param((_TIERS[0], _TIERS[2]), id="A42 project before user"),
    ],
)
def test_higher_tier_wins_a_shared_name(tiers: tuple[str, ...], tmp_path: Path) -> None:
    found = Machine(tmp_path).draw(dict.fromkeys(tiers, "")).catalog("agent-base")
    view = _view(found)
    assert [skill.description for skill in view.visible] == [tiers[0]]
    assert len(found.shadowed) == len(tiers) - 1
    assert set(found.shadowed.values()) == {view.visible[0].id}


@pytest.mark.requirement("R121", "K3")
@pytest.mark.parametrize(
    ("installed", "visible"),
    [pytest.param((), [], id="A39 missing"), pytest.param(("jq",), ["x"], id="A39 there")],
)
def test_skill_whose_command_is_missing_is_left_out_with_the_reason(
    installed: tuple[str, ...], visible: list[str], tmp_path: Path
) -> None:
    text = skill_text("x", extra="metadata:\n  requires: jq\n")
    found = Machine(tmp_path).draw({"project/.agent/skills/x": text}).catalog("agent-base")
    view = _view(found, binaries=installed)
    assert [skill.name for skill in view.visible] == visible
    reasons = explain("x", found, view).reasons
    assert ("the command 'jq' is not installed" in reasons[0].message) == (not visible)
    assert ids(found) == ["project:x"]  # Those who ask for all still see it.


@pytest.mark.requirement("R37", "R121", "K7")
@pytest.mark.parametrize("name", [pytest.param("x", id="A40")])
def test_disabled_and_unavailable_skill_is_flagged_as_both(name: str, tmp_path: Path) -> None:
    text = skill_text(name, extra="metadata:\n  requires: nothing-of-this-name\n")
    found = Machine(tmp_path).draw({f"project/.agent/skills/{name}": text}).catalog("agent-base")
    reasons = explain(name, found, _view(found, off=(name,))).reasons
    assert [reason.code for reason in reasons] == ["disabled", "ineligible"]


@pytest.mark.requirement("R29", "R121")
@pytest.mark.parametrize("command", [pytest.param("nothing-of-this-name", id="A41")])
def test_unavailable_skill_of_a_higher_tier_still_hides_the_lower(command: str, tmp_path: Path) -> None:
    text = skill_text("x", description="higher", extra=f"metadata:\n  requires: {command}\n")
    found = Machine(tmp_path).draw({"project/.agent/skills/x": text, "core/x": ""}).catalog("agent-base")
    assert _view(found).visible == ()
    assert [skill.description for skill in _view(found, binaries=(command,)).visible] == ["higher"]


@pytest.mark.requirement("R25")
@pytest.mark.parametrize("profile", [pytest.param("agent-base", id="A43"), "daycare", "workspace", "remcochat"])
def test_linked_skill_folder_is_not_loaded_and_said_so(profile: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path).draw({})
    real = write_skill(tmp_path / "elsewhere" / "x")
    root = Path(machine.sources(PROFILES[profile])[0].root)
    root.mkdir(parents=True)
    (root / "x").symlink_to(real)
    found = machine.catalog(profile)
    assert (ids(found), codes(found.problems)) == ([], ["link-not-followed"])


@pytest.mark.requirement("R42")
@pytest.mark.parametrize(("name", "expected"), [pytest.param("x", "project:x", id="A44"), ("y", None)])
def test_skill_is_looked_up_by_name(name: str, expected: str | None, tmp_path: Path) -> None:
    skill = Machine(tmp_path).draw({"project/.agent/skills/x": ""}).catalog("agent-base").find(name)
    assert (None if skill is None else skill.id) == expected


@pytest.mark.requirement("R121")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", (), id="A45 empty"),
        pytest.param("   ", (), id="A45 blank"),
        pytest.param("git\tjq  uv", ("git", "jq", "uv"), id="A45 tabs and doubles"),
    ],
)
def test_required_commands_are_split_at_blanks(text: str, expected: tuple[str, ...]) -> None:
    assert as_words(text) == expected


@pytest.mark.requirement("R121", "K3")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("ls", True, id="A46 ls"),
        pytest.param("nonsense-that-nobody-installs", False, id="A46 nonsense"),
        pytest.param("", False, id="A46 empty"),
        pytest.param("cmd;echo", False, id="A46 a shell command"),
        pytest.param("ls;ls", False, id="A46 two commands"),
        pytest.param("/bin/ls", False, id="A46 a path"),
    ],
)
def test_command_is_looked_for_by_its_bare_name(name: str, *, expected: bool) -> None:
    assert HostProbe().has_binary(name) is expected


@pytest.mark.requirement("R121", "K3")
@pytest.mark.parametrize("names", [pytest.param(("jq", "uv"), id="A47")])
def test_every_missing_command_has_a_reason(names: tuple[str, ...]) -> None:
    expected = tuple(f"the command '{name}' is not installed" for name in names)
    assert decide_eligibility(Requirements(binaries=names), PaperProbe()) == expected


# RemcoChat (003)


@pytest.mark.requirement("R3", "R15")
@pytest.mark.parametrize("name", [pytest.param("BadSkill", id="RC2")])
def test_upper_case_name_gives_no_skill_and_one_invalid(name: str, tmp_path: Path) -> None:
    found = Machine(tmp_path).draw({f"project/.skills/{name}": ""}).catalog("remcochat")
    assert (ids(found), len(found.rejected)) == ([], 1)
    assert "name" in messages(found.rejected[0].problems)


@pytest.mark.requirement("R29", "R123", "J2")
@pytest.mark.parametrize(
    "profile", [pytest.param("remcochat", id="RC16"), pytest.param("standard", id="RC16 standard")]
)
def test_nearest_agents_folder_comes_first_then_its_parents_then_the_home(profile: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path, "project/app/inner").draw(
        {
            "project/app/inner/.agents/skills/x": "",
            "project/app/.agents/skills/x": "",
            "project/.agents/skills/x": "",
            "project/.agents/skills/only-here": "",
            "home/.agents/skills/x": "",
            "outside/.agents/skills/y": "",
        }
    )
    found = machine.catalog(profile)
    winner = found.get("x")
    assert (winner.description, len(found.shadowed)) == ("project/app/inner/.agents/skills/x", 3)
    assert [skill.description for skill in found.skills if skill.name == "x"] == [
        "project/app/inner/.agents/skills/x",
        "project/app/.agents/skills/x",
        "project/.agents/skills/x",
        "home/.agents/skills/x",
    ]
    assert found.names() == ("only-here", "x")


@pytest.mark.requirement("R33")
def test_disabled_profile_discovers_nothing_until_it_is_enabled(tmp_path: Path) -> None:
    machine = Machine(tmp_path).draw({"project/.skills/a": ""})
    policy = PROFILES["remcochat"]
    off = CatalogKeeper(policy, lambda: machine.sources(policy))
    assert (policy.enabled, off.current().skills, off.rescan().skills) == (False, (), ())
    on = CatalogKeeper(replace(policy, enabled=True), lambda: machine.sources(policy))
    assert ids(on.current()) == ["project:a"]


@pytest.mark.requirement("R35", "R36")
@pytest.mark.parametrize("profile", ["remcochat", "agent-base", "workspace"])
def test_profile_that_looks_at_the_start_sees_changes_at_a_rescan(profile: str, tmp_path: Path) -> None:
    policy = replace(PROFILES[profile], enabled=True)
    machine = Machine(tmp_path).draw({})
    root = machine.sources(policy)[0].root
    write_skill(Path(root, "a"))
    keeper = CatalogKeeper(policy, lambda: machine.sources(policy))
    first = keeper.current()
    write_skill(Path(root, "b"))
    assert keeper.current() is first
    assert [skill.name for skill in keeper.rescan().skills] == ["a", "b"]
    assert keeper.current() is not first


@pytest.mark.requirement("R32")
def test_skills_beyond_the_limit_are_left_out_with_a_warning(tmp_path: Path) -> None:
    machine = Machine(tmp_path).draw({f"project/.skills/s{n}": "" for n in range(4)})
    policy = replace(PROFILES["remcochat"], limits=Limits(max_skills=3))
    found = discover(machine.sources(policy), policy)
    assert (ids(found), codes(found.problems)) == (["project:s0", "project:s1", "project:s2"], ["too-many-skills"])
    assert PROFILES["remcochat"].limits.max_skills == 200


@pytest.mark.requirement("R27", "R28")
def test_configured_directory_that_is_missing_is_warned_of_once_and_the_others_are_searched(tmp_path: Path) -> None:
    machine = Machine(tmp_path).draw({"project/.skills/a": "", "home/mine/b": "", "far/c": ""})
    policy = PROFILES["remcochat"]
    directories = ("./.skills", "~/mine", str(tmp_path / "far"), "./missing", "~/missing/../missing")
    sources = resolve_directories(directories, policy, machine.place)
    found = discover(sources, policy)
    assert ids(found) == ["project:a", "user:b", "config:c"]
    assert [(problem.code, problem.path) for problem in found.problems] == [
        ("source-missing", str(tmp_path / "project/missing")),
        ("source-missing", str(tmp_path / "home/missing")),
    ]


@pytest.mark.requirement("R17", "R109", "R112", "R113")
def test_bundled_skills_are_found_by_the_standard_profile() -> None:
    nowhere = Place("/nonexistent/project", "/nonexistent", "/nonexistent/.prowess", "local")
    policy = PROFILES["standard"]
    found = discover(resolve_sources(policy, nowhere), policy)
    expected = {"repo-survey", "safe-edit", "test-first-fix", "scheduling", "skill-creator", "skills-system-validation"}
    assert expected <= {skill.name for skill in found.skills}
    assert {(skill.id, os.path.dirname(skill.folder) == skill.root) for skill in found.skills} == {
        (f"core:{skill.name}", True) for skill in found.skills
    }
    assert found.rejected == ()
