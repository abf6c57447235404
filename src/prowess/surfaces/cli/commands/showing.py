"""`prowess show`."""

import json

import click

from prowess.skill.targets import TARGETS, Loss
from prowess.surfaces.cli.invocation import Invocation, complete_skill, json_option
from prowess.surfaces.cli.output import print_json, print_problems, print_text
from prowess.surfaces.losses import read_losses
from prowess.surfaces.records import Record, loss_record, skill_record

__all__ = ["command"]

_MOST_LABEL = 20
"""Characters of a label after which the values stand in line."""


@click.command("show")
@click.argument("name", shell_complete=complete_skill)
@click.option(
    "--for", "target", type=click.Choice(sorted(TARGETS)), help="Say what this agent would lose of the skill."
)
@json_option
@click.pass_obj
def command(invocation: Invocation, name: str, target: str | None) -> None:
    """Show all that is known of one skill, by its name or id.

    \b
    prowess show repo-survey
    prowess show core:repo-survey --for codex
    """
    with invocation.open() as runtime:
        catalog = runtime.catalog()
        skill = catalog.get(name)
        record = skill_record(runtime, catalog, skill)
        problems = (*skill.problems, *runtime.files(skill).problems)
        losses = read_losses(skill, target, limits=runtime.policy.limits) if target else ()
    if target:
        record |= {"for": target, "losses": [loss_record(loss) for loss in losses]}
    if invocation.as_json:
        print_json(record)
        return
    _print_record(record)
    print_problems(record["path"], problems)
    if target:
        _print_losses(TARGETS[target].title, losses)


def _print_record(record: Record) -> None:
    state = [word for word in ("enabled", "eligible", "trusted") if record[word]]
    rows = [
        ("name", record["name"]),
        ("id", record["id"]),
        ("description", record["description"]),
        ("version", record["version"]),
        ("category", record["category"]),
        ("path", record["path"]),
        ("digest", record["digest"]),
        ("state", ", ".join(state)),
        ("missing", "; ".join(record["missing"])),
        ("shadowed by", record["shadowed_by"]),
    ]
    rows = [(label, value) for label, value in rows if value]
    told = ("name", "description", "version")
    rows += [(key, _plain(value)) for key, value in record["frontmatter"].items() if key not in told]
    width = min(_MOST_LABEL, max(len(label) for label, _ in rows))
    for label, value in rows:
        print_text(f"{label:<{width}} {value}")
    print_text("files")
    for file in record["files"]:
        print_text(f"  {file['size']:>9,}  {file['sha256'][:12]}  {file['path']}")


def _plain(value: object) -> str:
    """Return a value of the frontmatter on one line: a text as it is, all else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return " ".join(text.split())


def _print_losses(title: str, losses: tuple[Loss, ...]) -> None:
    if not losses:
        print_text(f"{title} would lose nothing of it.")
    for loss in losses:
        print_text(f"{loss.kind}: {loss.message}")
