"""`prowess secrets`."""

import os
import sys
from typing import TYPE_CHECKING

import click

from prowess.errors import NotFound, Refused
from prowess.execution.secrecy.given_secrets import gather_secrets
from prowess.execution.secrecy.secret_stores import (
    MAX_VALUE_BYTES,
    SecretStore,
    check_secret_name,
    check_secret_value,
    open_secret_store,
)
from prowess.policy import SecretKeeping
from prowess.skill.declared_secrets import declared_secrets, find_name_fault
from prowess.surfaces.cli.invocation import Invocation, complete_skill, json_option
from prowess.surfaces.cli.output import note, print_json, print_rows, print_text
from prowess.surfaces.records import Record

if TYPE_CHECKING:
    from prowess.runtime import Runtime
    from prowess.settings import Settings

__all__ = ["command"]

_PLACES = {
    SecretKeeping.FILE.value: "the file of secrets",
    SecretKeeping.KEYRING.value: "the keyring",
    "environment": "the environment",
}
_NEWLINES = (b"\r\n", b"\n")


@click.group("secrets", invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context) -> None:
    """List the secrets that scripts of skills may be given, and those that skills still lack. No value is ever shown.

    A skill declares the variables that it needs. Their values are kept in a file that only you may read, or in the
    keyring of the system, and are given to the runs of skills that declare them.

    \b
    prowess secrets
    prowess secrets set GITHUB_TOKEN < token.txt
    prowess secrets set API_KEY --skill release-notes
    prowess secrets unset GITHUB_TOKEN
    """
    if ctx.invoked_subcommand is None:
        invocation = ctx.ensure_object(Invocation)
        with invocation.open() as runtime:
            _list(invocation, runtime)


@command.command("set", context_settings={"allow_extra_args": True})
@click.argument("name", metavar="NAME")
@click.option("--skill", default="", metavar="SKILL", shell_complete=complete_skill, help="For this skill only.")
@json_option
@click.pass_context
def _set(ctx: click.Context, name: str, skill: str) -> None:
    """Keep a secret. Its value is read from standard input, or asked for; it never stands on the command line.

    \b
    prowess secrets set GITHUB_TOKEN
    prowess secrets set GITHUB_TOKEN < token.txt
    pass show work/api | prowess secrets set API_KEY --skill release-notes
    """
    if ctx.args:  # Not repeated: it is likely the value.
        raise click.UsageError("the value is read from standard input, and never from the command line")
    check_secret_name(name, skill)
    if fault := find_name_fault(name):
        raise Refused(f"the variable '{name}' {fault}", code="secret-name-refused")
    invocation = ctx.ensure_object(Invocation)
    store = _open_store(invocation.settings())
    store.set(name, _read_value(name), skill)
    if invocation.as_json:
        print_json({"name": name, "skill": skill or None, "set": True})
    else:
        print_text(f"{name} is kept{_say_scope(skill)}")


@command.command("unset")
@click.argument("name", metavar="NAME")
@click.option("--skill", default="", metavar="SKILL", shell_complete=complete_skill, help="The one for this skill.")
@json_option
@click.pass_obj
def _unset(invocation: Invocation, name: str, skill: str) -> None:
    """Forget a secret.

    \b
    prowess secrets unset GITHUB_TOKEN
    prowess secrets unset API_KEY --skill release-notes
    """
    if not _open_store(invocation.settings()).unset(name, skill):
        message = f"no secret {name} is kept{_say_scope(skill)}"
        raise NotFound(message, hint="`prowess secrets` lists all", code="unknown-secret")
    if invocation.as_json:
        print_json({"name": name, "skill": skill or None, "unset": True})
    else:
        print_text(f"{name} is forgotten{_say_scope(skill)}")


def _say_scope(skill: str) -> str:
    return f" for the skill {skill}" if skill else ""


def _open_store(settings: "Settings") -> SecretStore:
    return open_secret_store(settings.policy.execution.secrets, home=settings.place.prowess_home)


def _read_value(name: str) -> str:
    if sys.stdin.isatty():
        return check_secret_value(click.prompt(f"Value of {name}", hide_input=True, err=True, type=str))
    content = sys.stdin.buffer.read(MAX_VALUE_BYTES + 3)  # A newline is taken off; a byte more shows that it is cut.
    ending = next((ending for ending in _NEWLINES if content.endswith(ending)), b"")
    return check_secret_value(content.removesuffix(ending).decode("utf-8", "surrogateescape"))


def _list(invocation: Invocation, runtime: "Runtime") -> None:
    rows = _list_kept(runtime.settings)
    missing = _list_missing(runtime)
    if invocation.as_json:
        print_json({"secrets": rows, "missing": missing})
        return
    if not rows and not missing:
        note("No secrets are kept, and no skill lacks one.")
    shown = [[row["name"], row["skill"] or "every skill", _PLACES[row["kept_in"]], ""] for row in rows]
    shown += [[row["name"], row["skill"], "missing", row["prompt"]] for row in missing]
    print_rows(["NAME", "FOR", "KEPT IN", "WHAT IT IS"], shown)


def _list_kept(settings: "Settings") -> list[Record]:
    execution = settings.policy.execution
    kept = _open_store(settings).names()
    rows = [{"name": key.name, "skill": key.skill or None, "kept_in": execution.secrets.value} for key in kept]
    given = sorted(name for name in execution.host_variables if os.environ.get(name))
    return [*rows, *({"name": name, "skill": None, "kept_in": "environment"} for name in given)]


def _list_missing(runtime: "Runtime") -> list[Record]:
    """Return what visible skills cannot do without, and do not find."""
    store = _open_store(runtime.settings)
    rows: list[Record] = []
    for skill in runtime.view().visible:
        declared = declared_secrets(skill.manifest.behaviour)
        gathered = gather_secrets(
            declared,
            store=store,
            host_variables=runtime.policy.execution.host_variables,
            environ=os.environ,
            skill_id=skill.id,
            skill_name=skill.name,
        )
        prompts = {wanted.name: wanted.prompt for wanted in declared}
        rows += [{"name": name, "skill": skill.name, "prompt": prompts[name]} for name in gathered.missing]
    return rows
