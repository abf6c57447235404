"""What a sync must do is worked out without looking at a disk."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.copies.plan import Place, Placed, Present, Remove, Skipped, SyncPlan, Wanted, may_stay, plan_sync
from prowess.skill.activation_keys import make_activation_key
from prowess.skill.problems import make_problem
from tests.copies.parts import codes, make_skill

_A = make_skill("user:a", "/skills/a")
_FAILED = make_problem("disk-error", "the disk failed")
_FAULTY = make_problem("link-escape", "a link leads out")


def _placed(skill_id: str = "user:a", digest: str = "d1", folder: str = "/skills/a") -> Placed:
    return Placed(skill_id, digest, 7, 8, folder)


def _present(**copies: Placed) -> Present:
    return Present({name.replace("_", "-"): placed for name, placed in copies.items()})


def test_nothing_wanted_and_nothing_there_is_nothing_to_do() -> None:
    plan = plan_sync([], Present())
    assert plan == SyncPlan()
    assert plan.changes_nothing


@pytest.mark.requirement("R73")
def test_skill_without_a_copy_gets_one() -> None:
    assert plan_sync([Wanted(_A, "d1")], Present()) == SyncPlan(places=(Place("user--a", _A),))


@pytest.mark.requirement("R77")
def test_copy_with_the_same_digest_is_left_alone() -> None:
    plan = plan_sync([Wanted(_A, "d1")], _present(user__a=_placed()))
    assert plan == SyncPlan(unchanged=1)
    assert plan.changes_nothing


@pytest.mark.requirement("R77")
@pytest.mark.parametrize(
    ("want", "there"),
    [
        pytest.param(Wanted(_A, "d2"), _placed(), id="other files"),
        pytest.param(Wanted(_A), _placed(), id="files that nobody has read"),
        pytest.param(Wanted(_A, ""), _placed(digest=""), id="nothing known on either side"),
        pytest.param(Wanted(_A, "d1"), _placed("user:b"), id="a copy of another skill"),
    ],
)
def test_copy_in_doubt_is_placed(want: Wanted, there: Placed) -> None:
    assert plan_sync([want], _present(user__a=there)) == SyncPlan(places=(Place("user--a", _A),))


@pytest.mark.requirement("R79")
def test_what_is_not_wanted_goes_in_the_order_of_names() -> None:
    present = Present({"user--b": _placed("user:b"), "user--a": _placed()}, frozenset({"z", "junk"}))
    assert plan_sync([], present) == SyncPlan(
        removes=(Remove("user--a", "user:a"), Remove("user--b", "user:b"), Remove("junk"), Remove("z"))
    )


def test_stranger_under_a_wanted_key_is_replaced_and_not_removed() -> None:
    plan = plan_sync([Wanted(_A, "d1")], Present({}, frozenset({"user--a"})))
    assert plan == SyncPlan(places=(Place("user--a", _A),))


@pytest.mark.requirement("R80")
def test_skill_with_a_fault_leaves() -> None:
    plan = plan_sync([Wanted(_A, problems=(_FAULTY, _FAILED))], _present(user__a=_placed()))
    assert plan == SyncPlan(removes=(Remove("user--a", "user:a"),), skipped=(Skipped("user:a", _FAULTY),))


@pytest.mark.requirement("R81", "K5")
@pytest.mark.parametrize("code", ["disk-error", "keeps-changing"])
def test_skill_that_only_the_world_speaks_against_keeps_its_copy(code: str) -> None:
    problem = make_problem(code, "not now")
    plan = plan_sync([Wanted(_A, problems=(problem,))], _present(user__a=_placed()))
    assert plan == SyncPlan(skipped=(Skipped("user:a", problem),))
    assert may_stay((problem,))


def test_copy_of_another_skill_does_not_stay_for_one_that_cannot_be_read() -> None:
    plan = plan_sync([Wanted(_A, problems=(_FAILED,))], _present(user__a=_placed("user:other")))
    assert plan.removes == (Remove("user--a", "user:other"),)


@pytest.mark.requirement("R81")
@pytest.mark.parametrize("failed", ["/skills/a", "/skills", "/skills/", "/"])
def test_copies_from_a_folder_that_the_disk_failed_on_stay(failed: str) -> None:
    plan = plan_sync([], _present(user__a=_placed()), failures=[(failed, _FAILED)])
    assert plan == SyncPlan(skipped=(Skipped("user:a", _FAILED),))


@pytest.mark.parametrize("failed", ["/skill", "/skills/a/b", "/skills/aa", "/other"])
def test_failure_elsewhere_keeps_nothing(failed: str) -> None:
    plan = plan_sync([], _present(user__a=_placed()), failures=[(failed, _FAILED)])
    assert plan == SyncPlan(removes=(Remove("user--a", "user:a"),))


@pytest.mark.parametrize("tells_case", [True, False])
def test_failed_folder_does_not_keep_the_copy_of_a_skill_that_is_found_elsewhere_with_a_fault(tells_case: bool) -> None:
    skill = make_skill("user:A", "/elsewhere/A")
    present = Present({"user--A": _placed("user:A")}, tells_case=tells_case)
    plan = plan_sync([Wanted(skill, problems=(_FAULTY,))], present, failures=[("/skills", _FAILED)])
    assert plan == SyncPlan(removes=(Remove("user--A", "user:A"),), skipped=(Skipped("user:A", _FAULTY),))


@pytest.mark.requirement("R74", "R76")
@pytest.mark.parametrize(
    ("skill_id", "key"),
    [
        ("core:scheduling", "core--scheduling"),
        ("plugin:telegram/helper", "plugin--telegram--helper"),
        ("core:helper", "core--helper"),
        ("plugin:foo/helper", "plugin--foo--helper"),
    ],
)
def test_copy_is_named_after_the_id(skill_id: str, key: str) -> None:
    """D2, D5."""
    assert plan_sync([Wanted(make_skill(skill_id))], Present()).places == (Place(key, make_skill(skill_id)),)


@pytest.mark.requirement("R75")
@pytest.mark.parametrize("skill_id", ["user:../pwn", "user:..", "user:/etc", "user:a/../../b", "user:a\0b"])
def test_no_key_leads_anywhere(skill_id: str) -> None:
    """D3."""
    (place,) = plan_sync([Wanted(make_skill(skill_id))], Present()).places
    assert place.key not in (".", "..")
    assert not set(place.key) & {"/", "\0", "\\"}


@pytest.mark.requirement("R74")
@pytest.mark.parametrize("skill_id", ["::", "..", "", "/", "é:é"])
def test_id_that_no_folder_can_be_named_after_is_skipped(skill_id: str) -> None:
    plan = plan_sync([Wanted(make_skill(skill_id)), Wanted(_A)], Present())
    assert (codes(plan.skipped), [place.key for place in plan.places]) == ({skill_id: "id-without-key"}, ["user--a"])


def test_of_two_ids_that_a_disk_cannot_tell_apart_the_first_has_the_folder() -> None:
    two = [Wanted(make_skill("user:Alpha")), Wanted(make_skill("user:alpha"))]
    assert [place.key for place in plan_sync(two, Present()).places] == ["user--Alpha", "user--alpha"]
    plan = plan_sync(two, Present(tells_case=False))
    assert ([place.key for place in plan.places], codes(plan.skipped)) == (
        ["user--Alpha"],
        {"user:alpha": "key-taken"},
    )
    assert plan.skipped[0].problem.message == "the folder 'user--alpha' is taken by user:Alpha"


_IDS = st.text(alphabet="aAbB.-_/: é\0", min_size=1, max_size=6).map(lambda text: f"user:{text}")
_PROBLEMS = st.sampled_from([(), (), (_FAILED,), (_FAULTY,)])


@given(st.lists(_IDS, unique=True), st.booleans())
def test_two_ids_never_share_a_key(ids: list[str], tells_case: bool) -> None:
    plan = plan_sync([Wanted(make_skill(one)) for one in ids], Present(tells_case=tells_case))
    keys = [place.key if tells_case else place.key.casefold() for place in plan.places]
    assert len(set(keys)) == len(keys)
    assert {place.skill.id for place in plan.places} | set(codes(plan.skipped)) == set(ids)


@given(
    st.dictionaries(_IDS, st.tuples(st.sampled_from(["", "d1", "d2"]), _PROBLEMS), max_size=6),
    st.dictionaries(_IDS, st.sampled_from(["d1", "d2"]), max_size=6),
    st.frozensets(st.text(alphabet="aA-u.", min_size=1, max_size=5), max_size=3),
)
def test_plan_that_was_carried_out_leaves_nothing_to_plan(
    skills: dict[str, Any], there: dict[str, str], strangers: frozenset[str]
) -> None:
    wanted = [Wanted(make_skill(one), digest or "d1", faults) for one, (digest, faults) in skills.items()]
    copies: dict[str, Placed] = {}
    for one, digest in there.items():
        if one.strip("user:-. é\0/"):
            copies[make_activation_key(one)] = _placed(one, digest)
    plan = plan_sync(wanted, Present(copies, strangers))
    digests = {want.skill.id: want.digest for want in wanted}
    for place in plan.places:
        copies[place.key] = _placed(place.skill.id, digests[place.skill.id], place.skill.real)
    for remove in plan.removes:
        copies.pop(remove.name, None)
    assert not {place.key for place in plan.places} & {remove.name for remove in plan.removes}
    again = plan_sync(wanted, Present(copies))
    assert (again.places, again.removes, again.unchanged) == ((), (), len(plan.places) + plan.unchanged)
