"""`prowess mcp skills`."""

import click

from prowess.surfaces.cli.invocation import Invocation, json_option

__all__ = ["skills"]


@click.command("skills")
@click.option("--agent", default="", metavar="NAME", help="As this agent of the settings.")
@json_option
@click.pass_obj
def skills(invocation: Invocation, agent: str) -> None:
    """Show which skills other hosts can take, and why not the others."""
    from prowess.sources.mcp.wire import SkillEntry
    from prowess.surfaces.cli.output import print_json, print_rows
    from prowess.surfaces.mcp.published import survey

    with invocation.open() as runtime:
        invocation.check_agent(runtime, agent)
        found = survey(runtime.session(agent=agent))
    if not invocation.as_json:
        said = [
            (skill.name, uri, "yes" if isinstance(one, SkillEntry) else f"no: {one.message}")
            for skill, uri, one in found
        ]
        print_rows(("skill", "address", "published"), said)
        return
    rows = [
        {
            "name": skill.name,
            "id": skill.id,
            "uri": uri,
            "published": isinstance(one, SkillEntry),
            "files": len(one.resources or ()) if isinstance(one, SkillEntry) else None,
            "size": one.size if isinstance(one, SkillEntry) else None,
            "reason": None if isinstance(one, SkillEntry) else {"code": one.code, "message": one.message},
        }
        for skill, uri, one in found
    ]
    print_json({"skills": rows})
