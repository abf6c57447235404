"""`prowess serve`."""

import os
import sys
from typing import TYPE_CHECKING

import click

from prowess.errors import SettingsError
from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json_line, print_text

if TYPE_CHECKING:
    from prowess.runtime import Runtime
    from prowess.settings import Settings
    from prowess.surfaces.http.options import HttpOptions

__all__ = ["command"]

_LIBRARIES = frozenset(
    {"granian", "jinja2", "markdown_it", "markupsafe", "nh3", "prometheus_client", "pygments", "starlette", "structlog"}
)


@click.command("serve")
@click.option("--host", metavar="ADDRESS", help="Listen on this address; without it on 127.0.0.1, for this machine.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Listen on this port, 0 for any; without it on 8765.")
@click.option("--public-url", metavar="URL", help="The address for browsers, if a proxy stands before it.")
@click.option("--allow-host", "hosts", metavar="NAME", multiple=True, help="Answer to this name too; may be repeated.")
@click.option("--model", default="", metavar="NAME", help="The model that answers; without it that of the settings.")
@click.option("--agent", default="", metavar="NAME", help="As this agent of the settings.")
@click.option("--no-token", is_flag=True, help="Let everybody at this machine in without a token.")
@click.option("--new-token", is_flag=True, help="Make a new token; whoever was logged in must log in again.")
@click.option("--open", "opens", is_flag=True, help="Open it in the browser.")
@json_option
@click.pass_obj
def command(
    invocation: Invocation,
    host: str | None,
    port: int | None,
    public_url: str | None,
    hosts: tuple[str, ...],
    model: str,
    agent: str,
    no_token: bool,
    new_token: bool,
    opens: bool,
) -> None:
    """Serve the web app: a chat that shows what its skills do, and a place to look after skills.

    The first line of output is the address to open. It holds a token that lets the browser in, and that is kept in
    ~/.prowess/web-token; PROWESS_TOKEN gives another. Ctrl-C ends it.

    \b
    prowess serve
    prowess serve --port 0 --json
    prowess serve --host 0.0.0.0 --public-url https://skills.example.org
    """
    if no_token and new_token:
        raise click.UsageError("give --no-token or --new-token")
    options = _read_options(
        invocation.settings(), host=host, port=port, public_url=public_url, hosts=hosts, model=model, agent=agent
    )
    options = _add_token(options, invocation.settings(), choice="none" if no_token else "new" if new_token else "kept")
    with invocation.open() as runtime:
        invocation.check_agent(runtime, agent)
        _serve(runtime, options, invocation, opens=opens)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # A thread of the server, which is not ours to wait for, aborts if the interpreter ends before it.


def _read_options(
    settings: "Settings",
    *,
    host: str | None,
    port: int | None,
    public_url: str | None,
    hosts: tuple[str, ...],
    model: str,
    agent: str,
) -> "HttpOptions":
    from prowess.surfaces.http.options import HttpOptions

    web = settings.web
    return HttpOptions(
        host=host or web.host,
        port=web.port if port is None else port,
        public_url=(web.public_url if public_url is None else public_url).rstrip("/"),
        hosts=(*web.hosts, *hosts),
        model=model,
        agent=agent,
    )


def _add_token(options: "HttpOptions", settings: "Settings", *, choice: str) -> "HttpOptions":
    """Return the options with the token: none, a new one, or that of the environment or of the file."""
    from dataclasses import replace

    from prowess.surfaces.http.options import check_options
    from prowess.surfaces.web.token_file import make_token, read_token

    home = settings.place.prowess_home
    if choice == "none":
        token = ""
    elif choice == "new":
        token = make_token(home)
    else:
        token = os.environ.get("PROWESS_TOKEN") or read_token(home)
    options = replace(options, token=token)
    check_options(options)
    return options


def _serve(runtime: "Runtime", options: "HttpOptions", invocation: Invocation, *, opens: bool) -> None:
    import asyncio

    try:
        from prowess.surfaces.web.serving import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _LIBRARIES:
            raise
        raise SettingsError(
            f"the web app needs {error.name}", hint="pip install 'prowess[web]'", code="extra-missing"
        ) from error

    def announce(found: "HttpOptions") -> None:
        if invocation.as_json:
            print_json_line({"url": found.login_url, "host": found.host, "port": found.port, "token": found.token})
        else:
            print_text(found.login_url)
        sys.stdout.flush()
        _tell(runtime, found)
        if opens:
            _open_browser(found.login_url)

    asyncio.run(serve(runtime, options, announce=announce))


def _tell(runtime: "Runtime", options: "HttpOptions") -> None:
    from prowess.state.opening import describe_database

    settings = runtime.settings
    where = describe_database(settings.database, state_file=settings.state_file)
    note(f"model {options.model or settings.model}; state in {where}")
    if not options.token:
        note("there is no token: every program on this machine can use it")
    note("Ctrl-C ends it")


def _open_browser(address: str) -> None:
    """Open a browser with windows, if there is one; one in this very terminal would be in the way."""
    import webbrowser

    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        note("no screen for a browser; open the address yourself")
    elif not webbrowser.open(address):
        note("no browser was found; open the address yourself")
