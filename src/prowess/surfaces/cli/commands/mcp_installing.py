"""`prowess mcp install` and `prowess mcp uninstall`."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prowess.errors import Refused
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.mcp.clients import CLIENTS, Scope, ServerCommand, find_file

if TYPE_CHECKING:
    from prowess.surfaces.mcp.installing import FileChange

__all__ = ["install", "uninstall"]

_F = TypeVar("_F", bound=Callable[..., Any])
_SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _client_options(function: _F) -> _F:
    """Add the options that say which file is meant, and what may be done to it."""
    options = (
        click.option("--client", required=True, type=click.Choice(list(CLIENTS)), help="Whose file to change."),
        click.option("--name", default="prowess", metavar="NAME", help="What the server is called there."),
        click.option(
            "--scope",
            type=click.Choice([scope.value for scope in Scope]),
            default="user",
            help="For you, or for a project.",
        ),
        click.option("--dry-run", is_flag=True, help="Show the change, and make none."),
        click.option("--yes", is_flag=True, help="Make the change without asking."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.command("install")
@_client_options
@json_option
@click.pass_obj
def install(invocation: Invocation, client: str, name: str, scope: str, dry_run: bool, yes: bool) -> int:
    """List Prowess among the servers of another program.

    The change is shown before it is made, all else in the file stays as it is, and the former file is kept beside it.
    General options such as --profile and --skills become part of the command that is listed.
    """
    from prowess.surfaces.mcp.installing import plan_install

    server = _make_server_command(invocation, Scope(scope))
    chosen, path = CLIENTS[client], _find_file(client, Scope(scope), name)
    change = plan_install(chosen, path, name, server)
    return _settle(invocation, change, client=client, title=chosen.title, dry_run=dry_run, yes=yes)


@click.command("uninstall")
@_client_options
@json_option
@click.pass_obj
def uninstall(invocation: Invocation, client: str, name: str, scope: str, dry_run: bool, yes: bool) -> int:
    """Take Prowess out of the servers of another program.

    If `prowess mcp install` has replaced another server of that name, that is there again.
    """
    from prowess.surfaces.mcp.installing import plan_uninstall

    chosen, path = CLIENTS[client], _find_file(client, Scope(scope), name)
    change = plan_uninstall(chosen, path, name)
    return _settle(invocation, change, client=client, title=chosen.title, dry_run=dry_run, yes=yes)


def _find_file(client: str, scope: Scope, name: str) -> Path:
    if not _SERVER_NAME.fullmatch(name):
        raise click.BadParameter("use letters, digits, - and _, at most 64", param_hint="--name")
    return find_file(CLIENTS[client], scope, home=Path.home(), project=Path.cwd(), environment=os.environ)


def _make_server_command(invocation: Invocation, scope: Scope) -> ServerCommand:
    """Return how the server is started: as this command was, from whatever folder."""
    import shutil
    import sys

    own = os.path.abspath(sys.argv[0])  # Another on the path may be another version, with other skills.
    on_path = shutil.which("prowess")
    command = own if os.path.isfile(own) and os.access(own, os.X_OK) else on_path or own
    command = "prowess" if scope is Scope.PROJECT and on_path else command
    args = [*(("--config", os.path.abspath(invocation.config)) if invocation.config else ())]
    args += ("--profile", invocation.profile) if invocation.profile else ()
    for folder in invocation.skills:
        args += ("--skills", os.path.abspath(folder))
    home = os.environ.get("PROWESS_HOME", "")
    return ServerCommand(command, (*args, "mcp"), {"PROWESS_HOME": os.path.abspath(home)} if home else {})


def _settle(invocation: Invocation, change: "FileChange", *, client: str, title: str, dry_run: bool, yes: bool) -> int:
    """Show a change, ask, and make it."""
    from prowess.surfaces.cli.consent_terminal import is_somebody_there
    from prowess.surfaces.cli.output import note, print_json, print_text
    from prowess.surfaces.mcp.installing import apply_change

    def report(*, changed: bool, backup: object = None) -> int:
        if invocation.as_json:
            kept = None if backup is None else str(backup)
            record = {"client": client, "path": str(change.path), "changed": changed, "backup": kept}
            print_json({**record, "diff": change.diff()})
        return 0

    if not change.is_needed:
        note(f"{change.path}: nothing to change")
        return report(changed=False)
    if not invocation.as_json:
        print_text(change.diff().rstrip("\n"))
    if dry_run:
        return report(changed=False)
    if not yes and not (is_somebody_there() and not invocation.as_json):
        raise Refused(
            f"{change.path} is not changed unasked", hint="give --yes, or --dry-run to see it", code="unasked"
        )
    if not yes and not click.confirm(f"Change {change.path}?", err=True):
        return 1
    backup = apply_change(change)
    kept = "The former file" if change.kept == change.before else "The file as it was before Prowess was listed"
    note(f"{change.path} is changed; start {title} anew" + (f". {kept}: {backup}" if backup else ""))
    return report(changed=True, backup=backup)
