"""The entry point: general options, the table of commands, and the one place where errors become messages.

Only click is imported here. `prowess --version` and `prowess --help` load nothing else.
"""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from io import StringIO
from typing import NoReturn, TextIO

import click

from prowess.errors import ProwessError, WorldError
from prowess.surfaces.cli.invocation import Invocation
from prowess.version import __version__

__all__ = ["COMMANDS", "cli", "main"]

COMMANDS: dict[str, tuple[str, str]] = {
    "list": ("listing", "List all skills, with what is wrong with them."),
    "show": ("showing", "Show all that is known of one skill."),
    "why": ("explaining", "Say why a model sees a skill, or why not."),
    "prompt": ("prompting", "Print what a model is told about the skills."),
    "search": ("searching", "Find skills by what they do."),
    "activate": ("activating", "Switch a skill on and print its instructions."),
    "read": ("reading", "Print a file of a skill."),
    "run": ("running", "Run a script of a skill in a sandbox."),
    "chat": ("chatting", "Talk with a model that uses your skills."),
    "serve": ("serving", "Serve the web app: chat and skills in a browser."),
    "mcp": ("mcp_serving", "Serve your skills to other agents, over MCP."),
    "sync": ("syncing", "Bring the copies that sandboxes see up to date."),
    "mounts": ("mounting", "Print what a sandbox must mount to see the skills."),
    "validate": ("validating", "Check skills for mistakes."),
    "eval": ("evaluating", "Measure whether skills are found when they should be."),
    "new": ("creating", "Make the folder of a new skill."),
    "add": ("adding", "Add skills to your own, from a folder or a git repository."),
    "remove": ("removing", "Remove one of your own skills; it is kept."),
    "eject": ("ejecting", "Copy a skill to a folder, to edit it."),
    "export": ("exporting", "Write skills for another tool, and say what it loses."),
    "history": ("recalling", "Show the versions of one of your own skills."),
    "restore": ("restoring", "Put a former version of a skill in use again."),
    "migrate": ("migrating", "Move an old flat folder of skills to its place of today."),
    "enable": ("enabling", "Offer a skill to models again."),
    "disable": ("disabling", "Keep a skill from models, or show only its name."),
    "trust": ("trusting", "Let models see the skills of a project."),
    "untrust": ("untrusting", "Hide the skills of a project from models."),
    "grants": ("granting", "Show, give or take back consent to skills."),
    "sessions": ("remembering", "Show or end sessions, with what they switched on."),
    "usage": ("counting", "Show how much each skill was used."),
    "secrets": ("keeping", "Keep secrets that scripts of skills may be given."),
    "init": ("initialising", "Write a settings file with everything explained."),
    "doctor": ("diagnosing", "Check what works on this machine."),
    "completion": ("completing", "Print the script that completes commands in your shell."),
}
"""From a command's name to its module and what it does in a line."""
_ASK_FOR_TEXT = frozenset({"-h", "--help", "--version"})


class _Commands(click.Group):
    """Loads a command's module when the command is called, and not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            import difflib

            near = difflib.get_close_matches(cmd_name, COMMANDS, n=1)
            ctx.fail(f"no command '{cmd_name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
        module = import_module(f"prowess.surfaces.cli.commands.{COMMANDS[cmd_name][0]}")
        return module.command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Examples: 'prowess list', 'prowess why pdf-fill', 'prowess --skills ./skills validate ./skills'.",
)
@click.option("--config", metavar="FILE", help="Settings file; without it ~/.prowess/prowess.toml.")
@click.option("--profile", metavar="NAME", help="Set of policies: standard, daycare, workspace, agent-base, remcochat.")
@click.option("--skills", metavar="DIR", multiple=True, help="Use the skills in this folder only; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
@click.version_option(__version__, prog_name="prowess")
@click.pass_context
def cli(ctx: click.Context, config: str | None, profile: str | None, skills: tuple[str, ...], as_json: bool) -> None:
    """Prowess finds skills for agents, judges them, tells a model about them, and switches them on with consent."""
    ctx.obj = Invocation(config=config, profile=profile, skills=skills, as_json=as_json)


def main() -> NoReturn:
    """Run the command line and leave with its status: 0 done, 1 no, 2 wrong usage or settings, 3 the world failed."""
    try:
        status = _run()
    except click.exceptions.Exit as leave:
        status = leave.exit_code
    except (click.Abort, KeyboardInterrupt):
        status = 130
    except click.ClickException as error:
        status = _report_usage(error)
    except BrokenPipeError:
        _give_up(sys.stdout)
        status = 0
    except ProwessError as error:
        status = _report(error)
    except OSError as error:
        status = _report(WorldError(str(error), hint="the system refused; what was done before that stays done"))
    except Exception as error:  # noqa: BLE001 - no traceback reaches a user
        status = _report_bug(error)
    sys.exit(status)


def _run() -> int:
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - it was closed before the start
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - for the life of the process
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the life of the process
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if "_PROWESS_COMPLETE" in os.environ:
        cli.main(prog_name="prowess")
    asks_for_text = not _ASK_FOR_TEXT.isdisjoint(_own_arguments())
    result = _invoke_for_text() if asks_for_text and _wants_json() else _invoke()
    sys.stdout.flush()  # While a failure can still be told.
    return result if isinstance(result, int) else 0


def _invoke() -> object:
    with cli.make_context("prowess", sys.argv[1:]) as context:
        try:
            return cli.invoke(context)
        except ProwessError as error:
            error.hint = context.ensure_object(Invocation).keep_options(error.hint)
            raise


def _invoke_for_text() -> object:
    """Have what is printed stand in one JSON document, if it is none itself."""
    from prowess.surfaces.cli.output import has_json, print_json

    printed, is_json = StringIO(), False
    try:
        with redirect_stdout(printed):
            try:
                return _invoke()
            finally:
                is_json = has_json()
    finally:
        if is_json:
            sys.stdout.write(printed.getvalue())
        elif printed.getvalue():
            print_json({"text": printed.getvalue().rstrip("\n")})


@contextmanager
def _as_far_as_it_goes(stream: TextIO) -> Generator[None]:
    """Tell what a stream takes: a full disk, or a reader that has gone, does not change what has happened."""
    try:
        yield
        stream.flush()
    except OSError:
        _give_up(stream)


def _give_up(stream: TextIO) -> None:
    """Keep the interpreter from trying once more to print what nobody takes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _report(error: ProwessError) -> int:
    from prowess.surfaces.cli.output import print_error
    from prowess.surfaces.cli.statuses import find_status

    _tell_program(error.code, error.message, error.hint)
    with _as_far_as_it_goes(sys.stderr):
        print_error(error)
    return find_status(error)


def _tell_program(code: str, message: str, hint: str) -> None:
    """Print an error as JSON where that is wanted, and end what was printed before."""
    from prowess.surfaces.cli.output import has_json, print_json

    with _as_far_as_it_goes(sys.stdout):
        if _wants_json() and not has_json():
            print_json({"error": {"code": code, "message": message, "hint": hint}})


def _wants_json() -> bool:
    """Whether the caller asked for JSON; what comes after -- is not for Prowess."""
    return "--json" in _own_arguments()


def _own_arguments() -> list[str]:
    return sys.argv[1 : sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]


def _report_usage(error: click.ClickException) -> int:
    _tell_program("usage", error.format_message(), "`prowess --help`")
    with _as_far_as_it_goes(sys.stderr):
        error.show()
    return error.exit_code


def _report_bug(error: Exception) -> int:
    if os.environ.get("PROWESS_DEBUG"):
        raise error
    message = f"internal error: {type(error).__name__}: {error}"
    return _report(WorldError(message, hint="PROWESS_DEBUG=1 shows where; please report it", code="internal-error"))
