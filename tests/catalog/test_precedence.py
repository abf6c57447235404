"""Who wins a name, and how skills that share an id are told apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.catalog.precedence import rank_skills
from prowess.policy import SameName, SourceKind
from prowess.skill.manifest import Manifest
from prowess.skill.skill import Skill
from tests.sources.building import ask_child


def _skill(name: str, root: str = "/one", kind: SourceKind = SourceKind.USER, *, trusted: bool = True) -> Skill:
    folder = f"{root}/{name}"
    return Skill(f"{kind}:{name}", kind, root, name, folder, Manifest(name, f"in {root}"), (), trusted)


_FIRST, _SECOND, _THIRD = _skill("x", "/1", SourceKind.PROJECT), _skill("x", "/2"), _skill("x", "/3", SourceKind.CORE)


@pytest.mark.requirement("R29", "J2")
@pytest.mark.parametrize(
    ("policy", "winner", "shadowed"),
    [
        (SameName.FIRST_WINS, "project:x", {"user:x": "project:x", "core:x": "project:x"}),
        (SameName.LAST_WINS, "core:x", {"project:x": "core:x", "user:x": "core:x"}),
        (SameName.KEEP_ALL, "project:x", {}),
    ],
)
def test_policy_says_who_has_the_name(policy: SameName, winner: str, shadowed: dict[str, str]) -> None:
    ranking = rank_skills([_FIRST, _SECOND, _THIRD], policy)
    assert [skill.id for skill in ranking.skills] == ["project:x", "user:x", "core:x"]
    assert (ranking.by_name["x"].id, ranking.shadowed) == (winner, shadowed)
    for skill in ranking.skills:
        assert [problem.code for problem in skill.problems] == ["duplicate-name"] * (skill.id in shadowed)


@pytest.mark.requirement("R29", "J2")
@pytest.mark.parametrize("policy", [SameName.FIRST_WINS, SameName.LAST_WINS])
def test_stranger_takes_no_name_from_a_trusted_skill(policy: SameName) -> None:
    strangers = [_skill("x", f"/{place}", kind, trusted=False) for place, kind in (("a", SourceKind.PROJECT),)]
    for skills in ([*strangers, _SECOND], [_SECOND, *strangers]):
        ranking = rank_skills(skills, policy)
        assert (ranking.by_name["x"].id, ranking.shadowed) == ("user:x", {"project:x": "user:x"})
    assert rank_skills(strangers, policy).by_name["x"].id == "project:x"


_HOSTED = _skill("x", "/acme", SourceKind.MCP)


@pytest.mark.requirement("J11", "J2")
@pytest.mark.parametrize("policy", list(SameName))
def test_stranger_takes_no_name_from_a_skill_of_a_server(policy: SameName) -> None:
    stranger = _skill("x", "/a", SourceKind.PROJECT, trusted=False)
    shadowed = {} if policy is SameName.KEEP_ALL else {"project:x": "mcp:x"}
    for skills in ([stranger, _HOSTED], [_HOSTED, stranger]):
        ranking = rank_skills(skills, policy)
        assert (ranking.by_name["x"].id, ranking.shadowed) == ("mcp:x", shadowed)
        trusted = rank_skills([*skills, _SECOND], policy)
        assert (trusted.by_name["x"].id, trusted.shadowed["mcp:x"]) == ("user:x", "user:x")


@pytest.mark.requirement("J11", "J2")
@pytest.mark.parametrize("policy", list(SameName))
def test_skills_of_servers_that_share_a_name_go_by_their_ids(policy: SameName) -> None:
    other = _HOSTED._replace(id="mcp:y", root="/other")
    ranking = rank_skills([_HOSTED, other], policy)
    assert ranking.shadowed == {}
    assert [skill.name for skill in ranking.skills] == ["mcp:x", "mcp:y"]
    assert set(ranking.by_name) == {"mcp:x", "mcp:y"}
    assert ranking.by_id == {skill.id: skill for skill in ranking.skills}
    assert [problem.code for skill in ranking.skills for problem in skill.problems] == ["duplicate-name"] * 2
    stranger = _skill("x", "/a", SourceKind.PROJECT, trusted=False)
    assert rank_skills([stranger, _HOSTED, other], policy).by_name["x"] == stranger
    own = rank_skills([_HOSTED, other, _SECOND], policy)
    assert (own.by_name["x"], own.shadowed) == (_SECOND, {"mcp:x": "user:x", "mcp:y": "user:x"})


def test_message_names_both() -> None:
    (_, loser) = rank_skills([_FIRST, _SECOND], SameName.FIRST_WINS).skills
    assert loser.problems[0].message == "duplicate skill 'x': project:x takes precedence over user:x"


@pytest.mark.requirement("R30")
def test_id_used_twice_is_told_apart_by_the_root() -> None:
    first, second = _skill("x", "/one"), _skill("x", "/two")
    ranking = rank_skills([first, second], SameName.KEEP_ALL)
    assert ranking.skills[0] == first
    assert ranking.skills[1].id.startswith("user:x@")
    assert rank_skills([_skill("y"), first, second], SameName.KEEP_ALL).skills[2] == ranking.skills[1]


def test_id_that_poses_as_another_ones_is_told_apart_too() -> None:
    honest = rank_skills([_skill("x", "/one"), _skill("x", "/two")], SameName.KEEP_ALL).skills[1].id
    posing = _skill(honest.removeprefix("user:"), "/zero")
    ranking = rank_skills([posing, _skill("x", "/one"), _skill("x", "/two")], SameName.KEEP_ALL)
    assert len(ranking.by_id) == 3


_MANY = """
import json
from prowess.catalog.precedence import rank_skills
from prowess.policy import SameName
from tests.catalog.test_precedence import _skill

print(json.dumps(len(rank_skills([_skill("x")] * 40, SameName.FIRST_WINS).by_id)))
"""


@pytest.mark.slow
@pytest.mark.requirement("R30")
def test_many_skills_of_one_id_and_root_are_told_apart() -> None:
    assert ask_child(_MANY) == 40


_NAMES = st.sampled_from(["a", "b", "c", "a@7f83b165"])
_SKILLS = st.lists(
    st.builds(
        _skill,
        _NAMES,
        st.sampled_from(["/1", "/2", "/3"]),
        st.sampled_from([SourceKind.USER, SourceKind.CORE]),
        trusted=st.booleans(),
    ),
    max_size=8,
)


@pytest.mark.requirement("R29", "R30", "R31")
@given(skills=_SKILLS, policy=st.sampled_from(list(SameName)))
def test_laws_of_every_ranking(skills: list[Skill], policy: SameName) -> None:
    ranking = rank_skills(skills, policy)
    ordered = [skill.id for skill in ranking.skills]
    assert [skill.name for skill in ranking.skills] == [skill.name for skill in skills]  # Nobody is lost or moved.
    assert len(set(ordered)) == len(skills)
    assert ranking.by_id == {skill.id: skill for skill in ranking.skills}
    assert set(ranking.by_name) == {skill.name for skill in skills}
    for loser, winner in ranking.shadowed.items():
        assert loser != winner
        assert ranking.by_id[loser].name == ranking.by_id[winner].name
        assert winner not in ranking.shadowed
        assert ranking.by_name[ranking.by_id[winner].name].id == winner
    if policy is SameName.KEEP_ALL:
        assert ranking.shadowed == {}
    else:
        assert len(ranking.shadowed) == len(skills) - len(ranking.by_name)


@pytest.mark.requirement("R29")
@given(skills=_SKILLS)
def test_order_of_the_input_decides_among_equals(skills: list[Skill]) -> None:
    equals = [skill._replace(trusted=True) for skill in skills]
    first, last = (rank_skills(equals, policy) for policy in (SameName.FIRST_WINS, SameName.LAST_WINS))
    for name in first.by_name:
        rivals = [skill for skill in equals if skill.name == name]
        assert first.by_name[name].root == rivals[0].root
        assert last.by_name[name].root == rivals[-1].root
