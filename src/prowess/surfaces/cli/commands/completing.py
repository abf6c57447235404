"""`prowess completion`."""

import sys

import click
from click.shell_completion import get_completion_class

from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import print_json

__all__ = ["command"]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_option
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands and skill names in your shell.

    \b
    echo 'eval "$(prowess completion bash)"' >> ~/.bashrc
    prowess completion fish > ~/.config/fish/completions/prowess.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        return
    script = kind(ctx.find_root().command, {}, "prowess", "_PROWESS_COMPLETE").source()
    if ctx.ensure_object(Invocation).as_json:
        print_json({"text": script})
    else:
        sys.stdout.write(f"{script}\n")
