"""`prowess init`."""

import os

import click

from prowess.errors import Refused
from prowess.settings import find_settings_file, render_template
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
    kept = _set_aside(path, force=force)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path, "x", encoding="utf-8", newline="\n") as file:
        file.write(render_template())
    if invocation.as_json:
        print_json({"path": path, "kept": kept})
        return
    print_text(path)
    if kept:
        print_text(f"the former file is {kept}")


def _set_aside(path: str, *, force: bool) -> str | None:
    if not os.path.lexists(path):
        return None
    if not force:
        raise Refused(f"{path} exists already", hint="--force replaces it and keeps the former file", code="exists")
    kept, number = f"{path}.bak", 1
    while os.path.lexists(kept):
        number += 1
        kept = f"{path}.bak{number}"
    os.replace(path, kept)
    return kept
