"""What the commands for the user's own skills share: where they are, and how they are called."""

from typing import TYPE_CHECKING

import click

from prowess.surfaces.cli.invocation import Invocation

if TYPE_CHECKING:
    from prowess.copies.history import Origin
    from prowess.copies.personal import Change, PersonalSkills
    from prowess.surfaces.records import Record

__all__ = ["change_record", "complete_own", "complete_own_or_former", "origin_record"]


def origin_record(origin: "Origin | None") -> "Record | None":
    """Return where a version came from as plain data."""
    if origin is None:
        return None
    if not origin.is_git:
        return {"path": origin.place}
    return {
        "repository": origin.place,
        "ref": origin.ref or None,
        "folder": origin.folder or None,
        "commit": origin.commit,
    }


def change_record(change: "Change") -> "Record":
    """Return what became of a skill as plain data."""
    from prowess.sources.source import show_path
    from prowess.surfaces.records import problem_record

    return {
        "name": show_path(change.name),
        "status": change.status.value,
        "path": show_path(change.folder),
        "version": change.version,
        "digest": change.digest or None,
        "kept": change.kept,
        "origin": origin_record(change.origin),
        "problems": [problem_record(problem) for problem in change.problems],
    }


def complete_own(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of one of the user's own skills in a shell."""
    return [name for name in _open_quietly(ctx).names() if name.startswith(incomplete)]


def complete_own_or_former(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a skill that the user has, or had."""
    personal = _open_quietly(ctx)
    names = sorted({*personal.names(), *personal.former_names()})
    return [name for name in names if name.startswith(incomplete)]


def _open_quietly(ctx: click.Context) -> "PersonalSkills":
    from prowess.copies.layout import Layout
    from prowess.copies.personal import PersonalSkills

    options = ctx.find_root().params
    place = Invocation(config=options.get("config"), profile=options.get("profile")).settings().place
    return PersonalSkills(Layout(place.prowess_home), place.user)
