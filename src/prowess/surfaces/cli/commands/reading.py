"""`prowess read`."""

import base64
import sys

import click

from prowess.disclosure.resources import LineRange, Resource, parse_lines
from prowess.errors import ToolInputError
from prowess.runtime import Session
from prowess.surfaces.cli.consent_terminal import choose_asker
from prowess.surfaces.cli.invocation import Invocation, complete_skill, json_option
from prowess.surfaces.cli.output import note, print_content, print_json
from prowess.surfaces.cli.using import explained
from prowess.surfaces.records import Record

__all__ = ["command"]


def _parse_range(_: click.Context, __: click.Parameter, value: str | None) -> LineRange | None:
    try:
        return None if value is None else parse_lines(value)
    except ToolInputError as error:
        raise click.BadParameter(f"{error.message}; {error.hint}") from None


@click.command("read")
@click.argument("name", shell_complete=complete_skill)
@click.argument("path")
@click.option(
    "--lines", metavar="A-B", callback=_parse_range, help="Only these lines, counted from 1; A- and -B work too."
)
@click.option("--session", "session_id", metavar="ID", help="In this session: what is active there may be read.")
@click.option("--yes", is_flag=True, help="Agree to the skill as it is now, for this one call.")
@json_option
@click.pass_obj
def command(
    invocation: Invocation, name: str, path: str, lines: LineRange | None, session_id: str | None, yes: bool
) -> None:
    """Print a file of a skill, as a model may read it.

    \b
    prowess read scheduling references/recurrence.md
    prowess read scheduling references/recurrence.md --lines 1-20
    """
    with invocation.open() as runtime:
        asker = choose_asker(runtime, yes=yes, as_json=invocation.as_json)
        with runtime.session(session_id, asker=asker) as session, explained(runtime, name):
            resource = session.read(name, path, lines=lines)
            record = _record(session, name, resource)
    if invocation.as_json:
        print_json(record)
    else:
        _print(resource)


def _record(session: Session, name: str, resource: Resource) -> Record:
    view = session.view()
    skill = view.find(name) or next((one for one in view.for_people if name in (one.name, one.id)), None)
    return {
        "name": skill.name if skill else name,
        "path": resource.path,
        "content": resource.content,
        "encoding": resource.encoding,
        "mime": resource.mime,
        "size": resource.size,
        "truncated": resource.truncated,
    }


def _print(resource: Resource) -> None:
    if resource.encoding != "base64":
        print_content(resource.content)
    elif sys.stdout.isatty():
        note(f"{resource.path} is {resource.mime}, {resource.size:,} bytes. Send it to a file, or use --json.")
    else:
        sys.stdout.buffer.write(base64.b64decode(resource.content))
