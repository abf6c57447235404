"""`prowess mounts`."""

import shlex

import click

from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_rows, print_text

__all__ = ["command"]

_ENGINES = ("docker", "podman", "bubblewrap")


@click.command("mounts")
@click.option("--user", metavar="NAME", help="Whose copies; without it the user of the settings.")
@click.option(
    "--for",
    "engine",
    type=click.Choice(_ENGINES),
    help="Print the arguments for this program in one line, quoted as a shell reads it.",
)
@click.option("--no-sync", is_flag=True, help="Do not bring the copies up to date before.")
@json_option
@click.pass_obj
def command(invocation: Invocation, user: str | None, engine: str | None, no_sync: bool) -> int:
    """Print what a sandbox must mount for the model's code to find the skills.

    \b
    prowess mounts
    docker run --rm $(prowess mounts --for docker) IMAGE ls /shared/skills
    """
    from prowess.copies.containers.arguments import render_bubblewrap, render_docker_mounts, render_podman_mounts

    with invocation.open(user=user) as runtime:
        if not no_sync:
            runtime.sync()
        mounts = runtime.mounts()
    render = {"docker": render_docker_mounts, "podman": render_podman_mounts, "bubblewrap": render_bubblewrap}
    arguments = {name: list(render[name](mounts)) for name in _ENGINES}
    if invocation.as_json:
        rows = [{"host": mount.host, "inside": mount.inside, "access": mount.access.value} for mount in mounts]
        print_json({"mounts": rows, "arguments": arguments})
    elif engine:
        print_text(shlex.join(arguments[engine]))
    elif mounts:
        print_rows(["INSIDE", "ACCESS", "HOST"], [[mount.inside, mount.access.value, mount.host] for mount in mounts])
    else:
        note("The profile mounts no shared skills; a task mounts what it has activated.")
    return 0
