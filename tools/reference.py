"""Make docs/settings.md from the table of settings, and docs/cli.md from the commands' own help.

python tools/reference.py            write the pages
python tools/reference.py --check    fail if one is stale
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import cast

import click

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # Started as a script, or imported by a test.

from prowess.policy import PROFILES
from prowess.settings import SETTINGS, Setting, Settings, render_template
from prowess.settings.servers import SERVER_SETTINGS
from prowess.settings.vocabulary import AGENT_SETTINGS, SWITCH_SETTING
from prowess.sources.mcp.servers import McpServer
from prowess.sources.places import LOCAL_USER, Place
from prowess.surfaces.cli.main import COMMANDS, cli
from tools.pages import write_or_check

__all__ = ["render_cli", "render_settings"]

_SETTINGS_HEAD = """# Settings

<!-- Made by tools/reference.py from prowess.settings; do not edit. -->

Settings are read from the file that `--config` or `PROWESS_CONFIG` names, or from `prowess.toml` in Prowess' home. That
home is `~/.prowess`, or where `PROWESS_HOME` says. The profile is chosen by `--profile`, `PROWESS_PROFILE` or the file,
in this order, and the database by `PROWESS_DATABASE` or the file; `PROWESS_MODEL` and `PROWESS_MODEL_URL` go before the
file's `model` and `model_url`. `PROWESS_DEBUG=1` shows where an internal error comes from. `prowess init` writes the
file below, with every line commented out. A key with dots may stand in a table: `web.port = 8080` is the same as
`port = 8080` below a line `[web]`.
"""
_SWITCHES = """## skills

The table of switches that count for everybody, a line for each skill.
"""
_AGENTS = """## agents.NAME

A table for each agent, by the name that `--agent` or the program gives it.
"""
_SERVERS = """## mcp.servers.NAME

A table for each MCP server that skills are taken from, by the name that its skills get in their ids. It has either a
`command` or a `url`. `prowess mcp servers add` writes one.
"""
_NO_SETTINGS = Settings(PROFILES["standard"], Place("", "", "", LOCAL_USER))
"""What holds where the file says nothing and no profile differs."""
_CLI_HEAD = """# Command line

<!-- Made by tools/reference.py from the commands' help; do not edit. -->
"""
_STATUSES = """Exit status: 0 done, 1 the answer is no, 2 wrong usage or settings, 3 the world failed.
"""


def render_settings() -> str:
    """Return the page of settings: one heading a key, one for each kind of table, and the whole file at the end."""
    parts = [_SETTINGS_HEAD]
    for setting in SETTINGS:
        about = (setting.about, _wanted(setting.read), setting.sample)
        parts.append(_entry(f"## {setting.path}", setting.path, about, _describe_default(setting)))
    parts += [_SWITCHES, *_describe_switches(), _AGENTS, *_describe_agents(), _SERVERS, *_describe_servers()]
    parts += ["## The whole file\n", f"```toml\n{render_template().rstrip()}\n```\n"]
    return "\n".join(parts)


def _describe_switches() -> Iterator[str]:
    one = SWITCH_SETTING
    about = (one.about, one.wanted, one.sample)
    yield _entry("### skills.SKILL", "skills.pdf-fill", about, "Default: `on`")


def _describe_agents() -> Iterator[str]:
    for key, one in AGENT_SETTINGS.items():
        about = (one.about, one.wanted, one.sample)
        yield _entry(f"### agents.NAME.{key}", f"agents.reviewer.{key}", about, "Default: not set")


def _describe_servers() -> Iterator[str]:
    for key, (read, about, sample) in SERVER_SETTINGS.items():
        default = _show(getattr(McpServer(""), key) or None)
        yield _entry(
            f"### mcp.servers.NAME.{key}",
            f"mcp.servers.acme.{key}",
            (about, _wanted(read), sample),
            f"Default: {default}",
        )


def _entry(heading: str, path: str, told: tuple[str, str, str], default: str) -> str:
    """Return what is said of one key; `told` is what it is about, what it takes, and a sample."""
    about, wanted, sample = told
    lines = [f"- It takes {wanted}.", f"- Example: `{path} = {sample}`", f"- {default}"]
    return f"{heading}\n\n{_sentence(about)}\n\n" + "\n".join(lines) + "\n"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _wanted(read: Callable[[object], object]) -> str:
    """Return what a setting takes, in the words with which its reader refuses everything else."""
    try:
        read(object())
    except Exception as refusal:  # noqa: BLE001 - the kind of refusal is the module's own business
        return str(refusal)
    raise AssertionError(f"{read} takes anything")


def _describe_default(setting: Setting) -> str:
    target = setting.target.removeprefix("policy.")
    if target == setting.target:
        return f"Default: {_show(attrgetter(target)(_NO_SETTINGS))}"
    by_value: dict[str, list[str]] = {}
    for profile, policy in PROFILES.items():
        by_value.setdefault(_show(attrgetter(target)(policy)), []).append(profile)
    if len(by_value) == 1:
        return f"Default: {next(iter(by_value))}"
    return "By profile: " + ", ".join(f"{value} ({', '.join(profiles)})" for value, profiles in by_value.items())


def _show(value: object) -> str:
    """Return a value as Markdown; numbers as TOML has them."""
    match value:
        case None | "":
            return "not set"
        case bool():
            return f"`{str(value).lower()}`"
        case int() | float():
            return f"`{value:_.0f}`" if value >= 10_000 else f"`{value:.0f}`"
        case tuple():
            return "`[" + ", ".join(f'"{item}"' for item in cast("tuple[object, ...]", value)) + "]`"
        case _:
            return f"`{value}`"


def render_cli() -> str:
    """Return the page of commands: the general options, then one heading a command, groups before their parts."""
    top = click.Context(cli, info_name="prowess", **cli.context_settings)
    parts = [_CLI_HEAD, f"{cli.help}\n", _usage(cli, top), _options(cli, top), _STATUSES]
    for name in COMMANDS:
        command = cli.get_command(top, name)
        assert command is not None, name
        parts += _describe(command, click.Context(command, info_name=name, parent=top))
    return "\n".join(parts)


def _describe(command: click.Command, context: click.Context, *, heading: str = "##") -> Iterator[str]:
    """Give the parts of the page that tell of a command, and then of each command below it."""
    text, examples = _split_help(command)
    yield from (f"{heading} {context.command_path}\n", f"{text}\n", _usage(command, context))
    if examples:
        yield f"```sh\n{examples}\n```\n"
    yield _options(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from _describe(below, click.Context(below, info_name=name, parent=context), heading=f"{heading}#")


def _split_help(command: click.Command) -> tuple[str, str]:
    """Return the text of the help, and the examples that stand in its unwrapped part."""
    text, _, examples = inspect.cleandoc(command.help or "").replace(r"\b", "\b").partition("\b\n")
    return text.strip(), examples.strip()


def _usage(command: click.Command, context: click.Context) -> str:
    return f"Usage: `{context.command_path} {' '.join(command.collect_usage_pieces(context))}`\n"


def _options(command: click.Command, context: click.Context) -> str:
    records = [record for param in command.get_params(context) if (record := param.get_help_record(context))]
    rows = [f"| `{_cell(names)}` | {_cell(about)} |" for names, about in records if about]
    return "\n".join(["| option | what it does |", "| --- | --- |", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(write_or_check({"settings.md": render_settings(), "cli.md": render_cli()}, tool="reference.py"))
