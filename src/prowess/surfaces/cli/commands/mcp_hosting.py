"""`prowess mcp servers`: the MCP servers that skills are taken from."""

import time
from typing import TYPE_CHECKING, Any

import click

from prowess.errors import NotFound, SettingsError
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.statuses import STATUS_OF_WORLD

if TYPE_CHECKING:
    from prowess.runtime import Runtime
    from prowess.sources.mcp.servers import McpServer

__all__ = ["servers"]


@click.group("servers", invoke_without_command=True)
@json_option
@click.pass_context
def servers(ctx: click.Context) -> None:
    """Show the MCP servers that skills are taken from, or change them.

    \b
    prowess mcp servers
    prowess mcp servers add acme -- acme-mcp --stdio
    prowess mcp servers add team --url https://mcp.example.org/mcp --header-from Authorization=TEAM_TOKEN
    prowess mcp servers refresh
    """
    if ctx.invoked_subcommand is None:
        invocation = ctx.ensure_object(Invocation)
        with invocation.open() as runtime:
            _show(invocation, runtime)


@servers.command("add")
@click.argument("name")
@click.argument("command", nargs=-1)
@click.option("--url", default="", metavar="URL", help="Where the server is, if it is reached by HTTP.")
@click.option(
    "--header-from", "headers", multiple=True, metavar="HEADER=VARIABLE", help="Send a header from a variable."
)
@click.option("--variable", "variables", multiple=True, metavar="NAME", help="Start the command with this variable.")
@click.option("--skill", "skills", multiple=True, metavar="URI", help="Take this skill, listed or not.")
@json_option
@click.pass_obj
def add(
    invocation: Invocation,
    name: str,
    command: tuple[str, ...],
    url: str,
    headers: tuple[str, ...],
    variables: tuple[str, ...],
    skills: tuple[str, ...],
) -> None:
    """Take skills from a server: one that COMMAND starts, or one at a URL.

    Nobody is trusted by that: each of its skills is asked about when it is first used.
    """
    from prowess.settings.editing import edit_settings_file
    from prowess.settings.loading import check_settings
    from prowess.settings.server_tables import add_server_table
    from prowess.sources.mcp.servers import SERVER_NAME_HINT, McpServer, is_server_name

    if not is_server_name(name):
        raise SettingsError(f"'{name}' cannot be a server's name", hint=SERVER_NAME_HINT, code="bad-server-name")
    if bool(command) == bool(url):
        raise click.UsageError("give either --url or a command after --")
    if command and "://" in command[0]:
        raise click.UsageError(f"'{command[0]}' is no command; an address goes with --url")
    server = McpServer(name, command, url, tuple(_split(header) for header in headers), variables, skills)

    def change(text: str) -> str:
        changed = add_server_table(text, server)
        check_settings(changed, config=invocation.config, profile=invocation.profile)
        return changed

    path = edit_settings_file(invocation.config, change)
    _say(invocation, {"server": name, "path": path}, f"added to {path}; `prowess mcp servers refresh {name}` asks it")


@servers.command("remove")
@click.argument("name")
@json_option
@click.pass_obj
def remove(invocation: Invocation, name: str) -> None:
    """Take no more skills from a server, and remove what was fetched from it.

    This works even if the settings cannot be loaded because of it.
    """
    from prowess.runtime.hosting import find_mirror
    from prowess.settings.editing import edit_settings_file
    from prowess.settings.loading import find_prowess_home
    from prowess.settings.server_tables import remove_server_table
    from prowess.sources.mcp.servers import is_server_name

    path = edit_settings_file(invocation.config, lambda text: remove_server_table(text, name))
    if is_server_name(name):  # Nothing was fetched from a server with another one.
        find_mirror(find_prowess_home(), name).remove()
    _say(invocation, {"server": name, "path": path}, f"removed from {path}")


@servers.command("refresh")
@click.argument("name", required=False)
@json_option
@click.pass_obj
def refresh(invocation: Invocation, name: str | None) -> int:
    """Ask the servers, or one, for their lists of skills now. The exit status is 3 if one of them gives none."""
    with invocation.open() as runtime:
        hosting = runtime.hosting
        known = hosting.servers if hosting is not None else ()
        asked = known if name is None else (_find(known, name),)
        if hosting is not None:
            hosting.refresh([server.name for server in asked])
        _show(invocation, runtime)
        has_failed = hosting is not None and any(hosting.record(server).failure for server in asked)
        return STATUS_OF_WORLD if has_failed else 0


def _show(invocation: Invocation, runtime: "Runtime") -> None:
    from prowess.surfaces.cli.output import note, print_json, print_rows

    rows = [_record(runtime, server) for server in runtime.settings.mcp_servers]
    if invocation.as_json:
        print_json({"servers": rows})
        return
    if not rows:
        note("No servers. `prowess mcp servers add NAME` adds one.")
        return
    shown = [(row["name"], _name_place(row), str(row["skills"]), _name_time(row), _name_state(row)) for row in rows]
    print_rows(["NAME", "WHERE", "SKILLS", "LISTED", "STATE"], shown)


def _record(runtime: "Runtime", server: "McpServer") -> dict[str, Any]:
    hosting = runtime.hosting
    record = hosting.record(server) if hosting is not None and server.enabled else None
    problems = [] if record is None else [*filter(None, (record.failure,)), *record.problems]
    return {
        "name": server.name,
        "command": list(server.command) or None,
        "url": server.url or None,
        "enabled": server.enabled,
        "skills": 0 if record is None else len(record.skills),
        "listed_at": (record.listed_at or None) if record is not None else None,
        "problems": [{"code": one.code, "message": one.message, "remedy": one.remedy} for one in problems],
    }


def _name_place(row: dict[str, Any]) -> str:
    import shlex

    return str(row["url"]) if row["url"] else shlex.join(row["command"])


def _name_time(row: dict[str, Any]) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(row["listed_at"])) if row["listed_at"] else "never"


def _name_state(row: dict[str, Any]) -> str:
    if not row["enabled"]:
        return "off"
    return "; ".join(f"{one['message']} [{one['code']}]" for one in row["problems"]) or "ok"


def _find(known: "tuple[McpServer, ...]", name: str) -> "McpServer":
    found = next((server for server in known if server.name == name), None)
    if found is None:
        names = ", ".join(server.name for server in known) or "none"
        raise NotFound(f"no server '{name}' is configured", hint=f"servers: {names}", code="unknown-server")
    return found


def _split(header: str) -> tuple[str, str]:
    name, sign, variable = header.partition("=")
    if not sign or not name or not variable:
        raise click.UsageError(f"'{header}' is not HEADER=VARIABLE")
    return name, variable


def _say(invocation: Invocation, record: dict[str, Any], text: str) -> None:
    from prowess.surfaces.cli.output import print_json, print_text

    if invocation.as_json:
        print_json(record)
    else:
        print_text(text)
