"""`prowess grants`."""

import click

from prowess.activation.grants import Act, Decision, Grant
from prowess.runtime import Runtime
from prowess.surfaces.cli.invocation import Invocation, complete_skill, json_option
from prowess.surfaces.cli.output import note, print_json, print_rows, print_text
from prowess.surfaces.decision_records import grant_record

__all__ = ["command"]

_FILES = {True: "as it is now", False: "changed since", None: "not found here"}
"""What became of the files that a decision is about."""


@click.command("grants")
@click.option("--allow", metavar="NAME", shell_complete=complete_skill, help="Agree to a skill as it is now.")
@click.option("--refuse", metavar="NAME", shell_complete=complete_skill, help="Refuse a skill as it is now.")
@click.option("--revoke", metavar="NAME", shell_complete=complete_skill, help="Forget what was decided on a skill.")
@click.option("--revoke-all", is_flag=True, help="Forget everything that was decided.")
@click.option("--run", "to_run", is_flag=True, help="With --allow or --refuse: to run its scripts.")
@click.option("--power", "powers", multiple=True, metavar="POWER", help="With --run: network, secret:NAME, …")
@click.option("--session", "session_id", default="", metavar="ID", help="With --allow or --refuse: for it only.")
@json_option
@click.pass_obj
def command(
    invocation: Invocation,
    allow: str | None,
    refuse: str | None,
    revoke: str | None,
    revoke_all: bool,
    to_run: bool,
    powers: tuple[str, ...],
    session_id: str,
) -> None:
    """Show what was agreed to and refused, or decide on a skill before anybody asks.

    A decision counts for the exact files that the skill has now: once one of them changes, the question comes again.
    To use a skill and to run its scripts are decided apart.

    \b
    prowess grants
    prowess grants --allow release-notes
    prowess grants --allow release-notes --run --power network
    prowess grants --revoke release-notes
    """
    if sum(choice is not None for choice in (allow, refuse, revoke)) + revoke_all > 1:
        raise click.UsageError("give one of --allow, --refuse, --revoke and --revoke-all")
    if (session_id or to_run) and allow is None and refuse is None:
        raise click.UsageError("--session and --run go with --allow or --refuse")
    if powers and not (to_run and allow is not None):
        raise click.UsageError("--power goes with --allow and --run")
    with invocation.open() as runtime:
        named = allow if allow is not None else refuse
        if named is not None:
            decision = Decision.ALLOW if allow is not None else Decision.REFUSE
            act = Act.RUN if to_run else Act.USE
            grant = runtime.decide(named, decision, session_id=session_id, given_by="command", act=act, powers=powers)
            _print_decision(invocation, runtime, grant)
        elif revoke is not None or revoke_all:
            count = runtime.revoke(revoke)
            if invocation.as_json:
                print_json({"revoked": count})
            else:
                print_text(f"{count} decision{'' if count == 1 else 's'} forgotten")
        else:
            _print_all(invocation, runtime)


def _print_decision(invocation: Invocation, runtime: Runtime, grant: Grant) -> None:
    if invocation.as_json:
        print_json({"grant": grant_record(runtime, grant)})
        return
    word = "agreed to" if grant.decision is Decision.ALLOW else "refused"
    if grant.act is Act.RUN:
        word = f"{word} for running its scripts" + (f" with {', '.join(grant.powers)}" if grant.powers else "")
    where = f" in session {grant.session}" if grant.session else ""
    print_text(f"{grant.name} is {word}{where}, as it is now ({grant.digest[:12]})")


def _print_all(invocation: Invocation, runtime: Runtime) -> None:
    rows = [grant_record(runtime, grant) for grant in runtime.grants()]
    if invocation.as_json:
        print_json({"grants": rows})
        return
    if not rows:
        note("Nothing was agreed to or refused yet.")
    shown = [
        [
            row["name"],
            row["decision"],
            " ".join((row["act"], *row["powers"])),
            f"session {row['session']}" if row["session"] else "always",
            _FILES[row["current"]],
            row["at"],
            row["digest"][:12],
        ]
        for row in rows
    ]
    print_rows(["NAME", "DECISION", "TO", "SCOPE", "FILES", "WHEN", "DIGEST"], shown)
