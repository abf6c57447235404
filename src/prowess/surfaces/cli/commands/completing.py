"""`prowess completion`."""

import click
from click.shell_completion import get_completion_class

from prowess.surfaces.cli.output import print_text

__all__ = ["command"]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    r"""Print the script that completes commands and skill names in your shell.

    \b
    echo 'eval "$(prowess completion bash)"' >> ~/.bashrc
    prowess completion fish > ~/.config/fish/completions/prowess.fish
    """
    kind = get_completion_class(shell)
    if kind is not None:
        print_text(kind(ctx.find_root().command, {}, "prowess", "_PROWESS_COMPLETE").source())
