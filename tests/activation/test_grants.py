"""Grants as values."""

from dataclasses import FrozenInstanceError, replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.activation.grants import Act, Decision, Grant, Scope, join_powers, sort_powers
from prowess.catalog.switches import SwitchKey

_GRANT = Grant("ann", SwitchKey("user:pdf"), "pdf", "d", Decision.ALLOW)
_RUN = replace(_GRANT, act=Act.RUN)
_POWERS = st.lists(st.sampled_from(["network", "secret:A", "secret:B", "packages:0123", "workspace:write"]))


@pytest.mark.requirement("K1")
def test_grant_reaches_as_far_as_its_session() -> None:
    assert _GRANT.scope is Scope.ALWAYS
    assert replace(_GRANT, session="chat").scope is Scope.SESSION


def test_grant_is_not_changed_but_replaced() -> None:
    with pytest.raises(FrozenInstanceError):
        _GRANT.decision = Decision.REFUSE  # pyright: ignore[reportAttributeAccessIssue]


def test_words_of_decisions_and_scopes_are_those_of_the_command_line() -> None:
    assert ([*Decision], [*Scope]) == (["allow", "refuse"], ["once", "session", "always"])
    assert [*Act] == ["use", "run"]


@pytest.mark.requirement("K1")
def test_grant_is_to_use_and_without_powers_unless_it_says_more() -> None:
    assert (_GRANT.act, _GRANT.powers) == (Act.USE, ())


@pytest.mark.requirement("K1")
@pytest.mark.parametrize(
    ("granted", "wanted", "is_covered"),
    [
        ((), (), True),
        ((), ("network",), False),
        (("network",), (), True),
        (("network",), ("network",), True),
        (("network", "secret:A"), ("secret:A", "secret:A"), True),
        (("network", "secret:A"), ("network", "secret:B"), False),
        (("packages:0123",), ("packages:4567",), False),
        (("secret:A",), ("secret:AB",), False),
    ],
)
def test_consent_to_runs_covers_those_with_no_other_powers(
    granted: tuple[str, ...], wanted: tuple[str, ...], is_covered: bool
) -> None:
    assert replace(_RUN, powers=granted).covers(wanted) == is_covered


@pytest.mark.requirement("K1")
@pytest.mark.parametrize(("act", "decision"), list(product(Act, Decision)))
def test_only_consent_to_runs_covers_a_run(act: Act, decision: Decision) -> None:
    grant = replace(_GRANT, act=act, decision=decision, powers=("network",))
    is_consent = (act, decision) == (Act.RUN, Decision.ALLOW)
    assert [grant.covers(()), grant.covers(("network",))] == [is_consent, is_consent]


@given(_POWERS)
def test_powers_are_sorted_and_each_is_there_once(powers: list[str]) -> None:
    found = sort_powers(powers)
    assert (set(found), len(found)) == (set(powers), len(set(powers)))
    assert sort_powers(reversed(found)) == found == tuple(sorted(found))


@pytest.mark.requirement("K1")
@given(_POWERS, _POWERS, _POWERS)
def test_joined_grant_covers_what_either_covers_and_nothing_else(
    one: list[str], other: list[str], wanted: list[str]
) -> None:
    earlier = replace(_RUN, session="chat", at=1.0, powers=sort_powers(one))
    later = replace(_RUN, at=2.0, powers=sort_powers(other))
    joined = join_powers(later, earlier)
    assert joined == replace(later, powers=sort_powers([*one, *other]))
    assert joined.covers(wanted) == (set(wanted) <= {*one, *other})


@pytest.mark.requirement("K1")
@pytest.mark.parametrize(
    "other",
    [
        replace(_GRANT, powers=("network",)),
        replace(_RUN, decision=Decision.REFUSE, powers=("network",)),
    ],
    ids=["consent to use", "refusal to run"],
)
def test_powers_of_what_does_not_allow_runs_are_not_joined(other: Grant) -> None:
    assert (join_powers(_RUN, other), join_powers(other, _RUN)) == (_RUN, other)
