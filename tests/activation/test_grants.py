"""Grants as values."""

from dataclasses import FrozenInstanceError, replace

import pytest

from prowess.activation.grants import Decision, Grant, Scope
from prowess.catalog.switches import SwitchKey

_GRANT = Grant("ann", SwitchKey("user:pdf"), "pdf", "d", Decision.ALLOW)


@pytest.mark.requirement("K1")
def test_grant_reaches_as_far_as_its_session() -> None:
    assert _GRANT.scope is Scope.ALWAYS
    assert replace(_GRANT, session="chat").scope is Scope.SESSION


def test_grant_is_not_changed_but_replaced() -> None:
    with pytest.raises(FrozenInstanceError):
        _GRANT.decision = Decision.REFUSE  # pyright: ignore[reportAttributeAccessIssue]


def test_words_of_decisions_and_scopes_are_those_of_the_command_line() -> None:
    assert ([*Decision], [*Scope]) == (["allow", "refuse"], ["once", "session", "always"])
