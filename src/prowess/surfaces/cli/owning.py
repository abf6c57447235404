"""What the commands for the user's own skills share: where they are, and how they are called."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from prowess.errors import ProwessError
from prowess.surfaces.cli.invocation import Invocation

if TYPE_CHECKING:
    from prowess.copies.personal import PersonalSkills

__all__ = ["complete_own", "complete_own_or_former"]


def complete_own(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of one of the user's own skills in a shell."""
    return _complete(ctx, incomplete, lambda personal: personal.names())


def complete_own_or_former(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a skill that the user has, or had."""
    return _complete(ctx, incomplete, lambda personal: sorted({*personal.names(), *personal.former_names()}))


def _complete(
    ctx: click.Context, incomplete: str, find_names: "Callable[[PersonalSkills], Sequence[str]]"
) -> list[str]:
    try:
        names = find_names(_open(ctx))
    except ProwessError:  # The command itself will say what is wrong; a key says nothing.
        return []
    return [name for name in names if name.startswith(incomplete)]


def _open(ctx: click.Context) -> "PersonalSkills":
    from prowess.copies.layout import Layout
    from prowess.copies.personal import PersonalSkills

    options = ctx.find_root().params
    place = Invocation(config=options.get("config"), profile=options.get("profile")).settings().place
    return PersonalSkills(Layout(place.prowess_home), place.user)
