"""`prowess usage`."""

import click

from prowess.surfaces.cli.invocation import Invocation, json_option
from prowess.surfaces.cli.output import note, print_json, print_rows
from prowess.surfaces.records import Record, model_usage_record
from prowess.surfaces.telling_records import usage_record
from prowess.surfaces.wording import show_cost

__all__ = ["command"]


@click.command("usage")
@click.option("--days", type=click.IntRange(1), metavar="N", help="Of the last N days only.")
@json_option
@click.pass_obj
def command(invocation: Invocation, days: int | None) -> None:
    """Show how much each skill and each model was used, the most used first.

    \b
    prowess usage
    prowess usage --days 7 --json
    """
    with invocation.open() as runtime:
        usage, models = runtime.usage(days=days), [model_usage_record(one) for one in runtime.model_usage(days=days)]
    rows = [usage_record(one) for one in usage.skills]
    if invocation.as_json:
        print_json({"sessions": usage.sessions, "skills": rows, "models": models})
        return
    if not rows:
        note("No skill was used yet.")
    print_rows(
        ["NAME", "ACTIVATIONS", "SESSIONS", "TOKENS", "RUNS", "LAST USED"],
        [
            [str(row[key]) for key in ("name", "activations", "sessions", "tokens", "runs", "last_used_at")]
            for row in rows
        ],
    )
    if models:
        print_rows(["MODEL", "TURNS", "FORKS", "TOKENS IN", "TOKENS OUT", "COST"], map(_model_row, models))


def _model_row(row: Record) -> list[str]:
    use = row["use"]
    counts = (row["turns"], row["forks"], use["input_tokens"], use["output_tokens"])
    return [row["model"], *map(str, counts), show_cost(use["cost_usd"])]
