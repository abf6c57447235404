"""Tags for permissions: what they may say, and what is said of those that are wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.errors import ToolInputError
from prowess.execution.rules.permission_tags import MAX_TAGS, PermissionKind, PermissionTag, normalise_tags, parse_tag

_MALFORMED = "Permission must be @network, @events, @workspace, @read:<path>, or @write:<path>."


@pytest.mark.requirement("K2")
@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("@network", PermissionTag(PermissionKind.NETWORK)),
        ("@events", PermissionTag(PermissionKind.EVENTS)),
        ("@workspace", PermissionTag(PermissionKind.WORKSPACE)),
        ("@read:/p", PermissionTag(PermissionKind.READ, "/p")),
        ("@write:/p", PermissionTag(PermissionKind.WRITE, "/p")),
        (" @read: /p/./q//r/ ", PermissionTag(PermissionKind.READ, "/p/q/r")),
        ("@read:/", PermissionTag(PermissionKind.READ, "/")),
        ("@read:/a:b c/..d", PermissionTag(PermissionKind.READ, "/a:b c/..d")),
    ],
)
def test_tag_names_a_permission(text: str, tag: PermissionTag) -> None:
    assert parse_tag(text) == tag
    assert parse_tag(str(tag)) == tag


@pytest.mark.requirement("K2")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(
            (text, _MALFORMED)
            for text in ("read:/tmp", "network", "", "@", "@net", "@Network", "@network:", "@events:/p")
        ),
        *((text, _MALFORMED) for text in ("@read", "@write", "@@network", "@read:/a\0b", "@read:/a\nb", "@ network")),
        ("@read:", "Read permission requires a path."),
        ("@read:  ", "Read permission requires a path."),
        ("@write:", "Write permission requires a path."),
        ("@read:tmp", "Permission path must be absolute: tmp"),
        ("@write:~/x", "Permission path must be absolute: ~/x"),
        ("@write:/a/../b", "Permission path must be absolute: /a/../b"),
        ("@read:/..", "Permission path must be absolute: /.."),
    ],
)
def test_wrong_tag_is_answered_with_what_is_right(text: str, message: str) -> None:
    with pytest.raises(ToolInputError) as caught:
        parse_tag(text)
    assert caught.value.message == message


def test_tags_are_kept_in_order_and_each_once() -> None:
    assert normalise_tags([" @network ", "@read:/tmp", "@read:/tmp"]) == (
        PermissionTag(PermissionKind.NETWORK),
        PermissionTag(PermissionKind.READ, "/tmp"),
    )
    assert normalise_tags(["@read:/tmp/", "@read://tmp"]) == (PermissionTag(PermissionKind.READ, "/tmp"),)
    assert normalise_tags([]) == ()
    assert normalise_tags(None) == ()


def test_there_are_only_so_many_tags_at_once() -> None:
    assert normalise_tags(["@network"] * MAX_TAGS) == (PermissionTag(PermissionKind.NETWORK),)
    with pytest.raises(ToolInputError) as caught:
        normalise_tags(["@network"] * (MAX_TAGS + 1))
    assert caught.value.message == "At most 100 permissions can be asked for at once, not 101."


@given(
    st.text(st.sampled_from("@readwitnkv:/.~ \t\n\0é"), max_size=20)
    | st.text(st.sampled_from("/.a"), max_size=8).map("@read:{}".format)
)
def test_any_text_is_a_plain_permission_or_an_error(text: str) -> None:
    try:
        tag = parse_tag(text)
    except ToolInputError:
        return
    assert parse_tag(str(tag)) == tag
    assert ".." not in tag.path.split("/")
