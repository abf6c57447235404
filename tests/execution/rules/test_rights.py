"""Rights are passed on in part or whole, and never grow on the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.errors import Refused
from prowess.execution.rules.permission_tags import PermissionKind, PermissionTag, normalise_tags, parse_tag
from prowess.execution.rules.rights import EVERYTHING, NOTHING, Rights, allows_tag, check_tags, intersect
from prowess.execution.rules.tool_rules import Covered, covers_all
from prowess.policy import WorkspaceAccess

_FOLDERS = st.lists(st.sampled_from(["/", "/a", "/a/b", "/a/b/c", "/ab", "/d", "/d/b"]), max_size=3, unique=True).map(
    tuple[str, ...]
)
_PATTERNS = st.lists(st.sampled_from(["Read", "Bash(git:*)", "*"]), max_size=2, unique=True).map(tuple[str, ...])
_RIGHTS = st.builds(
    Rights,
    network=st.booleans(),
    events=st.booleans(),
    workspace=st.sampled_from(WorkspaceAccess),
    read_dirs=_FOLDERS,
    write_dirs=_FOLDERS,
    tools=st.lists(_PATTERNS, max_size=2, unique=True).map(tuple[tuple[str, ...], ...]),
)
_PATHS = st.lists(st.sampled_from(["a", "b", "c", "ab", "d"]), max_size=4).map(lambda parts: "/" + "/".join(parts))
_TAGS = st.one_of(
    st.sampled_from([PermissionKind.NETWORK, PermissionKind.EVENTS, PermissionKind.WORKSPACE]).map(PermissionTag),
    st.builds(PermissionTag, st.sampled_from([PermissionKind.READ, PermissionKind.WRITE]), _PATHS),
)
_CALLS = st.sampled_from([("Read", "a"), ("Bash", "git log"), ("Bash", "rm x"), ("Write", "a")])


def _unordered(rights: Rights) -> tuple[object, ...]:
    sets = (frozenset(rights.read_dirs), frozenset(rights.write_dirs), frozenset(rights.tools))
    return (rights.network, rights.events, rights.workspace, *sets)


def _may_call(rights: Rights, call: tuple[str, str]) -> bool:
    return isinstance(covers_all(rights.tools, *call), Covered)


@pytest.mark.requirement("R94", "K2")
@pytest.mark.parametrize("tag", ["@network", "@events", "@workspace", "@write:/etc", "@read:/etc"])
def test_permission_that_the_caller_lacks_cannot_be_attached(tag: str) -> None:
    rights = Rights(read_dirs=("/home/me",), write_dirs=("/home/me/out",))
    with pytest.raises(Refused) as caught:
        check_tags(normalise_tags(["@read:/home/me/notes", tag, "@write:/"]), rights)
    assert caught.value.message == f"Cannot attach permission '{tag}' - you don't have it."
    assert caught.value.code == "permission-not-held"
    check_tags(normalise_tags([tag]), EVERYTHING)


@pytest.mark.requirement("R94", "K2")
@pytest.mark.parametrize(
    ("rights", "tag", "held"),
    [
        (Rights(network=True), "@network", True),
        (Rights(events=True), "@events", True),
        (Rights(network=True), "@events", False),
        (Rights(workspace=WorkspaceAccess.WRITE), "@workspace", True),
        (Rights(workspace=WorkspaceAccess.READ), "@workspace", False),
        (Rights(workspace=WorkspaceAccess.WRITE), "@write:/workspace", False),
        (Rights(read_dirs=("/home",)), "@read:/home", True),
        (Rights(read_dirs=("/home/",)), "@read:/home/a", True),
        (Rights(read_dirs=("/home",)), "@read:/homework", False),
        (Rights(read_dirs=("/home/a",)), "@read:/home", False),
        (Rights(read_dirs=("/home",)), "@write:/home", False),
        (Rights(write_dirs=("/home",)), "@write:/home/a", True),
        (Rights(write_dirs=("/home",)), "@read:/home/a", True),
        (Rights(read_dirs=("/",)), "@read:/etc", True),
        (Rights(read_dirs=("home", "/home/../etc", "")), "@read:/etc", False),
    ],
)
def test_permission_is_held_by_whole_components(rights: Rights, tag: str, held: bool) -> None:
    assert allows_tag(rights, parse_tag(tag)) == held


@pytest.mark.requirement("K2")
def test_who_has_no_folders_to_read_may_read_nothing() -> None:
    assert allows_tag(Rights(read_dirs=()), parse_tag("@read:/tmp")) is False


@pytest.mark.requirement("R94")
def test_no_tags_need_no_rights() -> None:
    check_tags((), NOTHING)


def test_what_one_side_reads_and_the_other_writes_can_be_read() -> None:
    reader = Rights(read_dirs=("/data", "/other"), tools=(("Read",),))
    writer = Rights(network=True, write_dirs=("/data/out", "/elsewhere"), tools=(("*",), ("Read",)))
    assert intersect(reader, writer) == Rights(read_dirs=("/data/out",), tools=(("Read",), ("*",)))


def test_folders_that_are_not_absolute_are_lost() -> None:
    odd = Rights(read_dirs=("a", "/a/../b", "/c/"), write_dirs=("..",))
    assert intersect(odd, EVERYTHING) == Rights(read_dirs=("/c",))


@given(_CALLS)
def test_everything_covers_every_call_and_nothing_covers_none(call: tuple[str, str]) -> None:
    assert (_may_call(EVERYTHING, call), _may_call(NOTHING, call)) == (True, False)


@pytest.mark.requirement("K2")
@given(_RIGHTS, _RIGHTS)
def test_order_of_two_rights_does_not_matter(a: Rights, b: Rights) -> None:
    assert _unordered(intersect(a, b)) == _unordered(intersect(b, a))


@pytest.mark.requirement("K2")
@given(_RIGHTS)
def test_rights_met_with_themselves_or_with_everything_stay_what_they_are(rights: Rights) -> None:
    assert _unordered(intersect(rights, rights)) == _unordered(rights)
    assert intersect(rights, rights) == intersect(intersect(rights, rights), rights)


@pytest.mark.requirement("R94", "K2")
@given(_RIGHTS, _RIGHTS, _TAGS, _CALLS)
def test_both_together_hold_exactly_what_each_of_them_holds(
    a: Rights, b: Rights, tag: PermissionTag, call: tuple[str, str]
) -> None:
    both = intersect(a, b)
    assert allows_tag(both, tag) == (allows_tag(a, tag) and allows_tag(b, tag))
    assert _may_call(both, call) == (_may_call(a, call) and _may_call(b, call))


@pytest.mark.requirement("K2")
@given(_RIGHTS, _TAGS, _CALLS)
def test_everything_takes_nothing_away_and_nothing_leaves_nothing(
    rights: Rights, tag: PermissionTag, call: tuple[str, str]
) -> None:
    assert allows_tag(intersect(rights, EVERYTHING), tag) == allows_tag(rights, tag)
    assert not allows_tag(intersect(rights, NOTHING), tag)
    assert not _may_call(intersect(NOTHING, rights), call)
