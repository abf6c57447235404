"""Activation keys: a folder's name for each skill id."""

import hashlib
import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.errors import ToolInputError
from prowess.skill.activation_keys import make_activation_key
from tests.skill.strategies import any_text

_PARTS = (
    "a",
    "b",
    "a-b",
    "a--b",
    "-a",
    "a-",
    "-",
    "--",
    "---",
    ".",
    "..",
    "...",
    ".a",
    "a.",
    "a b",
    "ä",
    "技",
    "\n",
    "A",
)
_JOINTS = ("/", ":", "--", "-", "", "//", "::", ":/", "\\", "---")


def _digits(skill_id: str) -> str:
    return hashlib.sha256(skill_id.encode()).hexdigest()[:8]


near_ids = st.lists(st.sampled_from(_PARTS + _JOINTS), min_size=1, max_size=7).map("".join)
"""Ids that differ only in what a key cannot hold, or in where a separator stands."""


def _imitate(skill_id: str) -> str:
    """Return an id that looks like the key of another one."""
    key = _find_key(skill_id) or "a"
    kind, _, rest = key.partition("--")
    return f"{kind}:{rest.replace('--', '/')}"


def _find_key(skill_id: str) -> str | None:
    try:
        return make_activation_key(skill_id)
    except ToolInputError:
        return None


any_id = near_ids | near_ids.map(_imitate) | near_ids.map(lambda one: _find_key(one) or "a") | any_text


@pytest.mark.requirement("R74", "R111")
@pytest.mark.parametrize(
    ("skill_id", "key"),
    [
        ("core:scheduling", "core--scheduling"),
        ("plugin:telegram/helper", "plugin--telegram--helper"),
        ("core:software-development/deploy", "core--software-development--deploy"),
        ("user:v1.2_final", "user--v1.2_final"),
        ("single", "single"),
    ],
)
def test_plain_id_gives_a_plain_key(skill_id: str, key: str) -> None:
    """D2."""
    assert make_activation_key(skill_id) == key


@pytest.mark.requirement("R74")
@pytest.mark.parametrize(
    ("skill_id", "stem"),
    [
        ("user:../pwn", "user--..--pwn"),
        ("user:a--b", "user--a--b"),
        ("user:a b", "user--ab"),
        ("user:技能", "user--"),
        ("user:-a", "user---a"),
        ("user:a:b", "user--a--b"),
        ("user:", "user--"),
        ("a/b", "a--b"),
    ],
)
def test_id_that_cannot_be_read_back_gets_digits(skill_id: str, stem: str) -> None:
    """D3."""
    assert make_activation_key(skill_id) == f"{stem}---{_digits(skill_id)}"


@pytest.mark.requirement("R74")
@pytest.mark.parametrize("skill_id", ["", ":", "/", "::", ".", "..", "../..", "-", "--", "技能", "\n", ":.:"])
def test_id_of_which_nothing_is_left_is_refused(skill_id: str) -> None:
    with pytest.raises(ToolInputError) as caught:
        make_activation_key(skill_id)
    assert caught.value.code == "bad-id"


@pytest.mark.requirement("R74")
def test_long_id_gives_a_name_that_file_systems_take() -> None:
    first, second = (f"user:{'a' * 5_000}{end}" for end in "xy")
    assert make_activation_key(first) != make_activation_key(second)
    assert len(make_activation_key(first)) == 211


@pytest.mark.requirement("R74", "R111")
@given(first=any_id, second=any_id)
def test_two_ids_never_share_a_key(first: str, second: str) -> None:
    if first != second:
        key = _find_key(first)
        assert key is None or key != _find_key(second)


@pytest.mark.requirement("R74")
@given(ids=st.sets(near_ids, max_size=60))
def test_many_near_ids_have_as_many_keys(ids: set[str]) -> None:
    keys = [key for key in map(_find_key, sorted(ids)) if key is not None]
    assert len(set(keys)) == len(keys)


@pytest.mark.requirement("R74")
@given(skill_id=any_id)
def test_key_is_one_safe_step_of_a_path(skill_id: str) -> None:
    key = _find_key(skill_id)
    if key is None:
        return
    assert key.isascii()
    assert all(char.isalnum() or char in "._-" for char in key)
    assert len(key) <= 255
    assert posixpath.dirname(posixpath.normpath(f"/root/{key}")) == "/root"
    assert make_activation_key(skill_id) == key
