"""`prowess mounts`."""

import os
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_rows, print_text

if TYPE_CHECKING:
    from prowess.containers.mounts import Mount

__all__ = ["command"]

_ENGINES = ("docker", "podman", "bubblewrap")


@click.command("mounts")
@click.option("--user", metavar="NAME", help="Whose copies; without it the user of the settings.")
@click.option(
    "--for",
    "engine",
    type=click.Choice(_ENGINES),
    help="Print the arguments for this program in one line, quoted where a path needs it: for a shell's eval.",
)
@click.option("--no-sync", is_flag=True, help="Do not bring the copies up to date before.")
@json_option
@click.pass_obj
def command(invocation: Invocation, user: str | None, engine: str | None, no_sync: bool) -> int:
    """Print what a sandbox must mount for the model's code to find the skills.

    A shell does not undo quotes in what $(…) gives, so a line with $(prowess mounts --for …) goes
    through eval, in double quotes.

    \b
    prowess mounts
    eval "docker run --rm $(prowess mounts --for docker) IMAGE ls /shared/skills"
    """
    with invocation.open(user=user) as runtime:
        if not no_sync:
            runtime.sync()
        mounts = runtime.mounts()
    if not mounts:
        note("The profile mounts no shared skills; a task mounts what it has activated.")
    if invocation.as_json:
        rows = [{"host": mount.host, "inside": mount.inside, "access": mount.access.value} for mount in mounts]
        print_json({"mounts": rows, "arguments": {name: _render(name, mounts) for name in _ENGINES}})
    elif engine and mounts:
        _print_for_shell(_render(engine, mounts))
    elif mounts:
        print_rows(["INSIDE", "ACCESS", "HOST"], [[mount.inside, mount.access.value, mount.host] for mount in mounts])
    return 0


def _render(engine: str, mounts: "Sequence[Mount]") -> list[str]:
    from prowess.containers.arguments import render_bubblewrap, render_docker_mounts, render_podman_mounts

    render = {"docker": render_docker_mounts, "podman": render_podman_mounts, "bubblewrap": render_bubblewrap}
    return list(render[engine](mounts))


def _print_for_shell(arguments: Sequence[str]) -> None:
    """Print the arguments in one line: every byte of a path as it is, unless a terminal would obey it."""
    line = shlex.join(arguments)
    if sys.stdout.isatty():
        print_text(line)
    else:
        sys.stdout.buffer.write(os.fsencode(line + "\n"))
