"""`prowess init`."""

import os
from contextlib import suppress

import click

from prowess.copies.disk_failures import telling
from prowess.errors import Refused
from prowess.settings import find_settings_file, render_template
from prowess.sources.whole_files import write_whole
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import print_json, print_text

__all__ = ["command"]


@click.command("init")
@click.option("--print", "only_print", is_flag=True, help="Print the file instead of writing it.")
@click.option("--force", is_flag=True, help="Replace a file that exists; it is kept beside the new one as .bak.")
@json_option
@click.pass_obj
def command(invocation: Invocation, only_print: bool, force: bool) -> None:
    """Write a settings file in which every setting is explained and commented out.

    It goes to ~/.prowess/prowess.toml, or where --config says.

    \b
    prowess init
    prowess --config ./prowess.toml init
    """
    if only_print and invocation.as_json:
        print_json({"text": render_template()})
        return
    if only_print:
        print_text(render_template().rstrip("\n"))
        return
    path = find_settings_file(invocation.config)
    if os.path.lexists(path) and not force:
        raise Refused(f"{path} exists already", hint="--force replaces it and keeps the former file", code="exists")
    with telling(f"{path} cannot be written"):
        kept = _write(path)
    if invocation.as_json:
        print_json({"path": path, "kept": kept})
        return
    print_text(path)
    if kept:
        print_text(f"the former file is {kept}")


def _write(path: str) -> str | None:
    """Put the template in its place, and return where the former file is now; a disk that is full changes nothing."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    draft = f"{path}.{os.urandom(8).hex()}"
    try:
        write_whole(draft, render_template().encode(), mode=0o644)
        kept = _set_aside(path)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    return kept


def _set_aside(path: str) -> str | None:
    if not os.path.lexists(path):
        return None
    kept, number = f"{path}.bak", 1
    while os.path.lexists(kept):
        number += 1
        kept = f"{path}.bak{number}"
    os.replace(path, kept)
    return kept
