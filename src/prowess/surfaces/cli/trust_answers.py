"""What `trust` and `untrust` answer."""

from prowess.runtime import Runtime
from prowess.sources.source import show_path
from prowess.surfaces.cli.invocation import Invocation
from prowess.surfaces.cli.output import print_json, print_text

__all__ = ["print_trust"]


def print_trust(invocation: Invocation, runtime: Runtime, project: str, *, trusted: bool, changed: bool) -> None:
    """Say what is true of the project now, and which of its skills are concerned."""
    roots = tuple(source.root for source in runtime.sources() if source.project == project)
    skills = [skill.id for skill in runtime.catalog().skills if skill.root in roots]
    if invocation.as_json:
        print_json({"project": show_path(project), "trusted": trusted, "changed": changed, "skills": skills})
        return
    state = "trusted" if trusted else "not trusted"
    print_text(f"{show_path(project)} is {state}{'' if changed else ', as before'}")
    for skill in skills:
        print_text(f"  {skill}")
