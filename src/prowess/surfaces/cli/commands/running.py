"""`prowess run`."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import IO, Any

import click

from prowess.errors import ToolInputError
from prowess.execution.jobs import OutputFile
from prowess.policy import Backend, WorkspaceAccess
from prowess.runtime.run_results import RunRequest, RunResult, run_record
from prowess.surfaces.cli.consent_terminal import choose_asker
from prowess.surfaces.cli.invocation import Invocation, complete_skill, json_option
from prowess.surfaces.cli.live_output import LiveOutput
from prowess.surfaces.cli.output import note, print_json
from prowess.surfaces.cli.statuses import STATUS_OF_WORLD
from prowess.surfaces.cli.using import explained

__all__ = ["command"]

_BACKENDS = [backend.value for backend in Backend]
_ACCESS = [access.value for access in WorkspaceAccess]
_MAX_INPUT_BYTES = 64 << 20
"""Of the JSON as it is given; a run takes less."""


def _check_number(_ctx: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    """Refuse what is no number at all, which lies in every range."""
    if value is not None and value != value:  # noqa: PLR0124 - so it is with what is no number
        raise click.BadParameter("'nan' is not a valid number.")
    return value


@click.command("run")
@click.argument("name", shell_complete=complete_skill)
@click.argument("script")
@click.argument("arguments", nargs=-1)
@click.option("--yes", is_flag=True, help="Agree to this one run, with all that it asks for.")
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 86_400),
    metavar="SECONDS",
    callback=_check_number,
    help="End it after so long.",
)
@click.option("--backend", type=click.Choice(_BACKENDS), help="The sandbox; without it that of the settings.")
@click.option("--session", "session_id", metavar="ID", help="In this session, which keeps the receipt.")
@click.option("--agent", default="", metavar="NAME", help="For this agent of the settings.")
@click.option("--input", "given", type=click.File("rb"), metavar="FILE", help="JSON for the script; - for stdin.")
@click.option(
    "--output",
    "folder",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Copy what it leaves to this folder; nothing there is overwritten.",
)
@click.option("--network", is_flag=True, help="Ask for the network, if the settings allow any.")
@click.option("--workspace", type=click.Choice(_ACCESS), help="Show it the working folder, if the settings allow that.")
@json_option
@click.pass_obj
def command(
    invocation: Invocation,
    name: str,
    script: str,
    arguments: tuple[str, ...],
    yes: bool,
    timeout: float | None,
    backend: str | None,
    session_id: str | None,
    agent: str,
    given: IO[bytes] | None,
    folder: str | None,
    network: bool,
    workspace: str | None,
) -> int:
    """Run a script of a skill in a sandbox.

    The script sees its skill, read-only, and the folder in PROWESS_OUTPUT, whose files are kept. It has no network and
    nothing of your environment. Running asks for your consent, unless you gave it before. Arguments come after --.

    \b
    prowess run scheduling scripts/next_dates.py -- 2026-03-03T09:00 --zone Europe/Berlin
    prowess run report scripts/make.py --yes --input data.json --output ./report
    prowess grants --allow report --run
    """
    request = RunRequest(
        _read_input(given),
        timeout,
        Backend(backend) if backend else None,
        network,
        WorkspaceAccess(workspace) if workspace else None,
    )
    with invocation.open() as runtime:
        invocation.check_agent(runtime, agent)
        asker = choose_asker(runtime, yes=yes, as_json=invocation.as_json)
        live = LiveOutput(quiet=invocation.as_json, limit_bytes=runtime.policy.execution.limits.output_bytes)
        with runtime.session(session_id, agent=agent, asker=asker) as session, explained(runtime, name, agent=agent):
            result = session.run(name, script, arguments, request=request, listener=live.hear, progress=live.say)
        live.finish()
    copies = _copy_outputs(result, folder) if folder is not None else {}
    failures = [f"{place}: {error}" for place, error in copies.values() if error]
    result = replace(result, notices=(*result.notices, *failures))
    if invocation.as_json:
        print_json(run_record(result))
    else:
        _describe(result, {path: place for path, (place, error) in copies.items() if not error})
    if failures:
        return STATUS_OF_WORLD
    return 0 if result.succeeded else 1


def _read_input(given: IO[bytes] | None) -> Any:
    if given is None:
        return None
    raw = given.read(_MAX_INPUT_BYTES + 1)
    if len(raw) > _MAX_INPUT_BYTES:
        raise ToolInputError(f"the input has more than {_MAX_INPUT_BYTES:,} bytes", hint="give less", code="bad-input")
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ToolInputError(f"the input is not JSON: {error}", hint="give JSON", code="bad-input") from error


def _describe(result: RunResult, copies: Mapping[str, str]) -> None:
    """Say what the streams did not."""
    for notice in result.notices:
        note(notice, label="! ", colour="yellow")
    if result.timed_out:
        what = f"ended at its time limit after {result.seconds:.1f} s; --timeout gives it more"
        note(what, label="error: ", colour="red")
    elif result.exit_status != 0:
        note(f"the script ended with status {result.exit_status}", label="error: ", colour="red")
    if result.network:
        note("It had a network.")
    for file in result.outputs:
        note(f"left {copies.get(file.path, file.location)} ({file.size_bytes:,} bytes)")


def _copy_outputs(result: RunResult, folder: str) -> dict[str, tuple[str, str]]:
    """Copy outputs to a folder of the user's; return for each its place there, and why it is not there.

    A file that was there is not overwritten. The run is over, so one that cannot be copied keeps no other back.
    """
    return {file.path: (place := os.path.join(folder, file.path), _copy(file, place)) for file in result.outputs}


def _copy(file: OutputFile, place: str) -> str:
    import shutil

    try:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(file.location, "rb") as source, open(place, "xb") as copy:
            shutil.copyfileobj(source, copy)
    except FileExistsError:
        return f"is there already, and was not overwritten; the new one is kept as {file.location}"
    except OSError as error:
        return f"cannot be written: {error.strerror}; the output is kept as {file.location}"
    return ""
