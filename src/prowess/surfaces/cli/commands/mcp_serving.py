"""`prowess mcp`."""

import gc
import os
import secrets
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from prowess.errors import SettingsError
from prowess.surfaces.cli.commands.mcp_hosting import servers
from prowess.surfaces.cli.commands.mcp_installing import install, uninstall
from prowess.surfaces.cli.commands.mcp_publishing import skills
from prowess.surfaces.cli.invocation import Invocation

if TYPE_CHECKING:
    from prowess.runtime import Runtime
    from prowess.surfaces.http.options import HttpOptions

__all__ = ["command"]

_LOOPBACK = "127.0.0.1"
_MAX_PORT = 65_535


@click.group("mcp", invoke_without_command=True)
@click.option("--http", "address", metavar="HOST:PORT", help="Serve over HTTP there; port 0 is any that is free.")
@click.option("--agent", default="", metavar="NAME", help="As this agent of the settings.")
@click.option("--session", "session_id", default="", metavar="ID", help="One session for all clients, which is kept.")
@click.option("--allow-host", "hosts", metavar="NAME", multiple=True, help="With --http: answer to this name as well.")
@click.option("--no-token", is_flag=True, help="With --http on this machine: let in who has no token.")
@click.pass_context
def command(
    ctx: click.Context, address: str | None, agent: str, session_id: str, hosts: tuple[str, ...], no_token: bool
) -> None:
    """Serve your skills to other agents, over MCP.

    Without --http, one client is served on standard input and output, as those start it that list servers in a file;
    `prowess mcp install` writes such files. Over HTTP, clients send the token in PROWESS_TOKEN, or the one that is
    printed.

    \b
    prowess mcp install --client claude
    prowess mcp --http 127.0.0.1:8766
    """
    if ctx.invoked_subcommand is not None:
        return
    if address is None and (hosts or no_token):
        raise click.UsageError("--allow-host and --no-token are for --http")
    if address is None and sys.__stdin__ is None:
        raise click.UsageError("standard input is closed, so no client can be heard; with --http none is needed")
    invocation = ctx.ensure_object(Invocation)
    gc.disable()  # What is loaded now stays: whoever serves says when there can be garbage.
    from prowess.surfaces.mcp.options import McpOptions
    from prowess.surfaces.mcp.serving import serve_http, serve_stdio

    _check_libraries(["mcp"] if address is None else ["mcp", "granian"])
    http = None if address is None else _make_http(address, hosts=hosts, no_token=no_token)
    options = McpOptions(agent=agent, session=session_id, http=http)
    with _open(invocation) as runtime:
        invocation.check_agent(runtime, agent)
        if http is None:
            serve_stdio(runtime, options)
            return
        serve_http(runtime, options, announce=lambda url: _announce(url, http.token))


for _other in (install, uninstall, skills, servers):
    command.add_command(_other)


def _open(invocation: Invocation) -> "Runtime":
    """Open the runtime. A client's code sees no folder of ours, so its model is told of none but the host's own."""
    from dataclasses import replace

    from prowess.policy import BaseDirectory
    from prowess.runtime import Runtime

    settings = invocation.settings()
    if settings.policy.base_directory is not BaseDirectory.HOST:
        settings = replace(settings, policy=replace(settings.policy, base_directory=BaseDirectory.NONE))
    return Runtime(settings, skills=invocation.skills or None)


def _check_libraries(names: Sequence[str]) -> None:
    from importlib.util import find_spec

    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise SettingsError(
            f"the library '{missing[0]}' is not installed", hint="pip install 'prowess[mcp]'", code="missing-library"
        )


def _make_http(address: str, *, hosts: tuple[str, ...], no_token: bool) -> "HttpOptions":
    from prowess.surfaces.http.options import HttpOptions, check_options

    host, port = _parse_address(address)
    token = "" if no_token else os.environ.get("PROWESS_TOKEN", "") or secrets.token_hex(24)
    options = HttpOptions(host=host, port=port, token=token, hosts=hosts)
    check_options(options)
    return options


def _parse_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()):
        raise click.BadParameter(f"'{text}' has no port; write it like 127.0.0.1:8766", param_hint="--http")
    if int(port[:6]) > _MAX_PORT:
        raise click.BadParameter(f"there is no port {port}; the last one is {_MAX_PORT}", param_hint="--http")
    return host.strip("[]") or _LOOPBACK, int(port)


def _announce(url: str, token: str) -> None:
    """Say where the server is, and the token unless whoever started it knows that."""
    click.echo(f"MCP: {url}", err=True)
    if token and token != os.environ.get("PROWESS_TOKEN"):
        click.echo(f"token: {token}", err=True)
