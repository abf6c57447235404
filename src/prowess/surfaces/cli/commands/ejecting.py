"""`prowess eject`."""

import os
import shlex
from typing import NamedTuple

import click

from prowess.copies.incoming import is_folder_name
from prowess.copies.writable_copies import eject_skill
from prowess.errors import NotFound
from prowess.runtime import Runtime
from prowess.runtime.own_skills import find_own_folder, get_agreed_digest
from prowess.skill.skill import Skill
from prowess.sources.source import show_path
from prowess.surfaces.cli.invocation import Invocation, complete_skill, json_option
from prowess.surfaces.cli.output import note, print_json, print_text

__all__ = ["command"]


class _Found(NamedTuple):
    name: str
    folder: str
    version: int | None
    apart: bool = False
    digest: str = ""
    """Of the files that somebody has agreed to, where that is needed."""


@click.command("eject")
@click.argument("name", shell_complete=complete_skill)
@click.option("--version", type=click.IntRange(1), metavar="N", help="A former version of one of your own skills.")
@click.option("--to", "folder", default=".", metavar="DIR", help="Where its folder goes; without it here.")
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str, version: int | None, folder: str) -> None:
    """Copy a skill to a folder of its own, to look at it and edit it. Nothing is overwritten.

    \b
    prowess eject repo-survey
    prowess eject pdf-fill --version 1 --to ./old
    """
    with invocation.open() as runtime:
        found = _find(runtime, name) if version is None else _find_version(runtime, name, version)
    target = os.path.abspath(os.path.join(folder, found.name))
    files = eject_skill(found.folder, target, apart=found.apart, digest=found.digest)
    if invocation.as_json:
        record = {
            "name": show_path(found.name),
            "path": show_path(target),
            "version": found.version,
            "digest": files.digest,
            "files": len(files.files),
        }
        print_json(record)
        return
    print_text(show_path(target) if found.version is None else f"{show_path(target)}: version {found.version}")
    note(f"Edit it, then make it yours: prowess add {shlex.quote(show_path(target))}")


def _find(runtime: Runtime, name: str) -> _Found:
    """Return any skill that there is, by name or id."""
    skill = runtime.catalog().find(name)
    if skill is None:
        runtime.personal()  # Which says so if there is no such folder.
        hint = runtime.catalog().suggest(name)
        raise NotFound(f'Personal skill not found: "{show_path(name)}".', hint=hint, code="unknown-skill")
    digest = get_agreed_digest(runtime, skill) if skill.server else ""
    label = skill.name if is_folder_name(skill.name) else os.path.basename(skill.folder)
    return _Found(label, skill.real, _find_number(runtime, skill), skill.apart, digest)


def _find_number(runtime: Runtime, skill: Skill) -> int | None:
    """Return the version of a skill that is the user's own."""
    own = find_own_folder(runtime, skill)
    current = runtime.personal().current(own) if own is not None else None
    return current.number if current else None


def _find_version(runtime: Runtime, name: str, number: int) -> _Found:
    personal = runtime.personal()
    own = runtime.find_own(name)
    kept = personal.version(own, number)
    return _Found(own, kept.folder, number)
