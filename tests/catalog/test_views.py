"""What one agent may see of a catalog, and a reason for everything it may not."""

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from prowess.catalog.catalog import Catalog
from prowess.catalog.precedence import rank_skills
from prowess.catalog.switches import Switch, Switches, SwitchKey, switch_key
from prowess.catalog.views import Reason, View, make_view
from prowess.errors import SettingsError, ToolInputError
from prowess.policy import SameName, SourceKind
from prowess.skill.manifest import Behaviour, Manifest, Requirements
from prowess.skill.skill import Skill
from tests.catalog.probes import PaperProbe


def _skill(
    name: str, kind: SourceKind = SourceKind.USER, *, trusted: bool = True, behaviour: Behaviour | None = None
) -> Skill:
    manifest = Manifest(name, "Does it.", additions=behaviour)
    return Skill(f"{kind}:{name}", kind, f"/{kind}", name, f"/{kind}/{name}", manifest, (), trusted)


def _catalog(*skills: Skill, same_name: SameName = SameName.FIRST_WINS) -> Catalog:
    ranking = rank_skills(skills, same_name)
    return Catalog(tuple(ranking.skills), ranking.shadowed, by_name=ranking.by_name, by_id=ranking.by_id)


def _view(
    catalog: Catalog, *, switches: Switches | None = None, allowlist: Sequence[str] | None = None, agent: str = ""
) -> View:
    return make_view(catalog, probe=PaperProbe(), switches=switches, allowlist=allowlist, agent=agent)


def _reasons(view: View, identity: str) -> list[str]:
    return [reason.code for reason in view.hidden.get(identity, ())]


_THREE = _catalog(_skill("alpha"), _skill("beta"), _skill("gamma", SourceKind.CORE))


def test_one_name_is_not_taken_for_a_list_of_names() -> None:
    with pytest.raises(SettingsError, match="one text, 'alpha'"):
        _view(_THREE, allowlist="alpha")


@pytest.mark.requirement("R38", "R39", "R40")
@pytest.mark.parametrize(
    ("allowlist", "expected"),
    [
        pytest.param(None, ("alpha", "beta", "gamma"), id="undefined"),
        pytest.param([], (), id="empty"),
        pytest.param(["*"], ("alpha", "beta", "gamma"), id="everything"),
        pytest.param(["beta", "*"], ("alpha", "beta", "gamma"), id="everything, and a name"),
        pytest.param(["gamma", "alpha"], ("alpha", "gamma"), id="names, in the catalog's order"),
        pytest.param(["core:gamma"], ("gamma",), id="an id"),
        pytest.param(["nothing"], (), id="an unknown name"),
        pytest.param(("beta",), ("beta",), id="a tuple"),
    ],
)
def test_allowlist_decides_what_is_visible(allowlist: Sequence[str] | None, expected: tuple[str, ...]) -> None:
    view = _view(_THREE, allowlist=allowlist)
    assert view.names() == expected
    assert len(view.visible) + len(view.hidden) == 3
    assert {reason.code for reasons in view.hidden.values() for reason in reasons} <= {"hidden"}


@pytest.mark.requirement("R38", "R42")
def test_hidden_skill_cannot_be_asked_for() -> None:
    """S12."""
    view = _view(_THREE, allowlist=["alpha", "gamma"])
    assert [found and found.id for found in map(view.find, ("alpha", "core:gamma"))] == ["user:alpha", "core:gamma"]
    assert [view.find(name) for name in ("beta", "user:beta", "nothing")] == [None, None, None]
    with pytest.raises(ToolInputError) as caught:
        view.get("beta\x1b" * 1_000)
    assert (caught.value.code, caught.value.hint) == ("unknown-skill", "available skills: alpha, gamma")
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 1_000


# Switches

_BETA = _THREE.get("beta")
_KEY = switch_key(_BETA)


@pytest.mark.requirement("R37")
@pytest.mark.parametrize("agent", ["", "reviewer"])
@pytest.mark.parametrize(
    ("position", "visible", "name_only", "reasons"),
    [
        (Switch.ON, True, False, []),
        (Switch.NAME_ONLY, True, True, []),
        (Switch.USER_ONLY, False, False, ["hidden"]),
        (Switch.OFF, False, False, ["disabled"]),
    ],
)
@pytest.mark.parametrize("by", ["name", "id", "key"])
def test_switch_in_every_position_counts_for_everybody(
    by: str, position: Switch, reasons: list[str], agent: str, *, visible: bool, name_only: bool
) -> None:
    switches = (
        Switches(by_key={("", _KEY): position})
        if by == "key"
        else Switches({("", "beta" if by == "name" else "user:beta"): position})
    )
    view = _view(_THREE, switches=switches, agent=agent)
    assert (_BETA in view.visible, "user:beta" in view.name_only, _reasons(view, "user:beta")) == (
        visible,
        name_only,
        reasons,
    )
    assert {"alpha", "gamma"} <= set(view.names())


@pytest.mark.requirement("R37", "R40")
@pytest.mark.parametrize("position", list(Switch))
@pytest.mark.parametrize("general", list(Switch))
def test_agents_own_switch_counts_before_the_general_one(general: Switch, position: Switch) -> None:
    switches = Switches({("", "beta"): general, ("reviewer", "beta"): position})
    assert switches.position(_BETA, agent="reviewer") is position
    assert switches.position(_BETA, agent="other") is general
    assert switches.position(_BETA) is general


@pytest.mark.requirement("R37")
def test_what_a_person_set_counts_before_the_settings_and_an_id_before_a_name() -> None:
    settings = {("", "beta"): Switch.OFF, ("", "user:beta"): Switch.NAME_ONLY}
    assert Switches(settings).position(_BETA) is Switch.NAME_ONLY
    assert Switches(settings, {("", _KEY): Switch.ON}).position(_BETA) is Switch.ON
    assert (
        Switches({("reviewer", "beta"): Switch.OFF}, {("", _KEY): Switch.ON}).position(_BETA, agent="reviewer")
        is Switch.OFF
    )


@pytest.mark.requirement("R37")
def test_no_switch_leaves_every_skill_on() -> None:
    assert not Switches()
    assert Switches().position(_BETA, agent="x") is Switch.ON


@pytest.mark.requirement("R37")
def test_switch_of_a_projects_skill_is_bound_to_its_project() -> None:
    one = _skill("x", SourceKind.PROJECT)
    other = one._replace(root="/elsewhere")
    assert switch_key(one) == SwitchKey("project:x", "/project")
    assert switch_key(_skill("x", SourceKind.WORKSPACE)).root == "/workspace"
    assert switch_key(_skill("x", SourceKind.CORE)) == SwitchKey("core:x")
    switches = Switches(by_key={("", switch_key(one)): Switch.OFF})
    assert (switches.position(one), switches.position(other)) == (Switch.OFF, Switch.ON)


# Other reasons


_FOR_PEOPLE = _skill("x", behaviour=Behaviour(model_invocable=False))


@pytest.mark.requirement("R41", "K7")
@pytest.mark.parametrize(
    ("skill", "reason", "for_people"),
    [
        pytest.param(
            _skill("x", SourceKind.PROJECT, trusted=False),
            Reason("untrusted", "its project is not trusted", "prowess trust, after a look at the skill"),
            (),
            id="untrusted",
        ),
        pytest.param(
            _FOR_PEOPLE,
            Reason("hidden", "its author lets only people invoke it", "invoke it by /x, or change its manifest"),
            (_FOR_PEOPLE,),
            id="for people only",
        ),
        pytest.param(
            _skill("x", behaviour=Behaviour(requires=Requirements(binaries=("jq",)))),
            Reason("ineligible", "the command 'jq' is not installed", "provide what is missing"),
            (),
            id="ineligible",
        ),
    ],
)
def test_skill_is_hidden_for_a_reason_with_a_remedy(
    skill: Skill, reason: Reason, for_people: tuple[Skill, ...]
) -> None:
    assert _view(_catalog(skill)) == View("", hidden={skill.id: (reason,)}, for_people=for_people)


@pytest.mark.requirement("R29", "K7")
def test_shadowed_skill_is_hidden_and_names_the_winner() -> None:
    view = _view(_catalog(_skill("x", SourceKind.PROJECT), _skill("x")))
    assert [skill.id for skill in view.visible] == ["project:x"]
    assert view.hidden["user:x"][0].message == "project:x has the same name and takes precedence"


@pytest.mark.requirement("R29")
def test_skills_of_one_name_that_are_all_kept_are_all_visible_and_the_first_answers() -> None:
    view = _view(_catalog(_skill("x", SourceKind.CORE), _skill("x"), same_name=SameName.KEEP_ALL))
    assert ([skill.id for skill in view.visible], view.names()) == (["core:x", "user:x"], ("x",))
    assert [found and found.id for found in map(view.find, ("x", "user:x"))] == ["core:x", "user:x"]


@pytest.mark.requirement("K7")
def test_every_reason_is_given_at_once() -> None:
    winner = _skill("x", SourceKind.CORE)
    skill = _skill(
        "x",
        SourceKind.PROJECT,
        trusted=False,
        behaviour=Behaviour(model_invocable=False, requires=Requirements(binaries=("jq",), environment=("KEY",))),
    )
    view = _view(_catalog(winner, skill), switches=Switches({("", "project:x"): Switch.OFF}), allowlist=["core:x"])
    assert _reasons(view, "project:x") == [
        *("shadowed", "disabled", "hidden", "hidden", "untrusted", "ineligible", "ineligible")
    ]
    assert all(reason.message and reason.remedy for reason in view.hidden["project:x"])


def test_skill_that_only_people_lack_stays_visible_to_the_model() -> None:
    assert _view(_catalog(_skill("x", behaviour=Behaviour(user_invocable=False)))).names() == ("x",)


# For people


@pytest.mark.requirement("R37", "R41")
@pytest.mark.parametrize("by", ["its author", "a switch", "both"])
def test_skill_for_people_only_is_hidden_from_the_model_and_kept_for_them(by: str) -> None:
    skill = _skill("x", behaviour=Behaviour(model_invocable=by == "a switch"))
    switches = Switches({("", "x"): Switch.ON if by == "its author" else Switch.USER_ONLY})
    view = _view(_catalog(skill), switches=switches)
    assert (view.visible, view.for_people, view.invocable) == ((), (skill,), (skill,))
    assert _reasons(view, "user:x") == ["hidden"] * (2 if by == "both" else 1)
    assert view.find("x") is None


@pytest.mark.requirement("R38", "R41")
@pytest.mark.parametrize(
    ("trusted", "requires", "allowlist", "position"),
    [
        pytest.param(False, (), None, Switch.USER_ONLY, id="of a project that is not trusted"),
        pytest.param(True, ("jq",), None, Switch.USER_ONLY, id="that lacks something"),
        pytest.param(True, (), ["other"], Switch.USER_ONLY, id="that is not on the agent's list"),
        pytest.param(True, (), None, Switch.OFF, id="that is switched off"),
    ],
)
def test_people_cannot_call_for_a_skill(
    trusted: bool, requires: tuple[str, ...], allowlist: list[str] | None, position: Switch
) -> None:
    behaviour = Behaviour(model_invocable=False, requires=Requirements(binaries=requires))
    skill = _skill("x", SourceKind.PROJECT, trusted=trusted, behaviour=behaviour)
    view = _view(_catalog(skill), switches=Switches({("", "x"): position}), allowlist=allowlist)
    assert (view.visible, view.for_people, view.invocable) == ((), (), ())
    assert len(_reasons(view, skill.id)) >= 2


def test_shadowed_skill_is_not_for_people_either() -> None:
    winner, loser = _skill("x", SourceKind.PROJECT), _skill("x", behaviour=Behaviour(model_invocable=False))
    view = _view(_catalog(winner, loser))
    assert (view.visible, view.for_people) == ((winner,), ())
    assert _reasons(view, loser.id) == ["shadowed", "hidden"]


def test_invocable_are_the_visible_then_those_for_people_but_not_those_for_models() -> None:
    first = _skill("a", behaviour=Behaviour(model_invocable=False))
    models_own = _skill("b", behaviour=Behaviour(user_invocable=False))
    plain = _skill("c")
    nobodys = _skill("d", behaviour=Behaviour(model_invocable=False, user_invocable=False))
    view = _view(_catalog(first, models_own, plain, nobodys))
    assert view.visible == (models_own, plain)
    assert view.for_people == (first, nobodys)
    assert view.invocable == (plain, first)


# Look-up


def test_skill_is_found_by_its_name_and_by_its_id() -> None:
    view = _view(_THREE, allowlist=["beta", "gamma"])
    assert [view.find(name) for name in ("beta", "user:beta")] == [_BETA, _BETA]
    for name in ("alpha", "user:alpha", "gamma ", "Gamma", ""):
        assert view.find(name) is None
    assert View("").find("beta") is None


@pytest.mark.requirement("R29")
def test_first_of_several_skills_is_found_by_their_name_and_each_by_its_id() -> None:
    kinds = (SourceKind.CORE, SourceKind.USER, SourceKind.AGENTS)
    view = _view(_catalog(*(_skill("x", kind) for kind in kinds), same_name=SameName.KEEP_ALL))
    assert view.find("x") is view.visible[0]
    assert [view.find(skill.id) for skill in view.visible] == list(view.visible)


def test_id_is_found_before_a_name_that_looks_like_it() -> None:
    imitator = _skill("x")._replace(id="user:other", manifest=Manifest("core:y", "Does it."))
    meant = _skill("y", SourceKind.CORE)
    assert _view(_catalog(imitator, meant)).find("core:y") is meant


def test_threads_that_look_something_up_first_all_find_it() -> None:
    skills = tuple(_skill(f"s{number}") for number in range(5_000))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for _ in range(5):
                view = View("", skills)
                names = [skills[0].name, skills[-1].id] * 8
                found = list(pool.map(view.find, names))
                assert found == [skills[0], skills[-1]] * 8
    finally:
        sys.setswitchinterval(interval)


def test_looking_something_up_does_not_change_what_a_view_equals() -> None:
    asked, fresh = _view(_THREE), _view(_THREE)
    asked.find("beta")
    assert asked == fresh
    assert repr(asked) == repr(fresh)
