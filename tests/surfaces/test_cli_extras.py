"""`prowess doctor` knows every extra, and by which libraries it is recognised."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from prowess.surfaces.cli.extras import EXTRAS, Extra, find_missing, render_install

_PROJECT = Path(__file__).parents[2]
_DECLARED: dict[str, list[str]] = tomllib.loads((_PROJECT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]


@cache
def _owners() -> Mapping[str, list[str]]:
    return packages_distributions()


def _plain(distribution: str) -> str:
    return distribution.lower().replace("_", "-")


def test_extras_are_those_of_the_package() -> None:
    assert sorted(extra.name for extra in EXTRAS) == sorted(_DECLARED)


@pytest.mark.parametrize("extra", [pytest.param(extra, id=extra.name) for extra in EXTRAS])
def test_extra_is_recognised_by_the_libraries_that_it_brings(extra: Extra) -> None:
    assert list(find_missing(extra)) == []
    recognised = {_plain(owner) for module in extra.modules for owner in _owners()[module.partition(".")[0]]}
    brought = {_plain(match[0]) for line in _DECLARED[extra.name] if (match := re.match(r"[\w.-]+", line))}
    assert brought - recognised <= {"pydantic-monty"}, "another package has its module"


def test_library_whose_package_is_not_there_either_is_missing() -> None:
    extra = Extra("x", ("json", "nowhere_at_all", "nowhere_at_all.within"), "nothing")
    assert list(find_missing(extra)) == ["nowhere_at_all", "nowhere_at_all.within"]
    assert render_install(extra) == "pip install 'prowess[x]'"
