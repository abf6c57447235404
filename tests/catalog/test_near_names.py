"""What was probably meant by a name that nobody has."""

import pytest

from prowess.catalog.near_names import find_near_names

_NAMES = [
    f"{verb}-{noun}-{at:05}" for at in range(400) for verb in ("review", "draft") for noun in ("invoices", "plans")
]
_IDS = [f"project:{name}" for name in _NAMES]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("review-invoice-00017", "review-invoices-00017"),
        ("reveiw-invoices-00399", "review-invoices-00399"),
        ("xraft-plas-00123", "draft-plans-00123"),
        ("project:draft-plan-00042", "project:draft-plans-00042"),
        ("REVIEW-INVOICE-00017", "review-invoices-00017"),
    ],
)
def test_slip_is_recognised_among_thousands_of_names_much_alike(asked: str, meant: str) -> None:
    found = find_near_names(asked, names=_NAMES, ids=_IDS)
    assert meant in found
    assert len(found) <= 3


def test_few_names_are_all_compared_whatever_they_share() -> None:
    assert find_near_names("pfd-fll", names=["pdf-fill", "xyz"], ids=["user:xyz"]) == ["pdf-fill"]


def test_large_letters_are_taken_for_small_ones_and_the_other_way_round() -> None:
    assert find_near_names("ALPHA", names=["alpha", "beta"], ids=[]) == ["alpha"]
    assert find_near_names("pdf", names=["PDF", "Pdf", "xyz"], ids=[]) == ["PDF", "Pdf"]


@pytest.mark.parametrize("asked", ["", "x", "zzzz", "z" * 100_000])
def test_what_is_like_nothing_gives_nothing(asked: str) -> None:
    assert find_near_names(asked, names=_NAMES, ids=_IDS) == []
