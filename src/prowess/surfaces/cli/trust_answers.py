"""What `trust` and `untrust` answer."""

from prowess.runtime import Runtime
from prowess.sources.source import show_path
from prowess.surfaces.cli.invocation import Invocation
from prowess.surfaces.cli.output import print_json, print_text
from prowess.surfaces.decision_records import trust_record

__all__ = ["print_trust"]


def print_trust(invocation: Invocation, runtime: Runtime, project: str, *, trusted: bool, changed: bool) -> None:
    """Say what is true of the project now, and which of its skills are concerned."""
    record = trust_record(runtime, project, trusted=trusted)
    if invocation.as_json:
        print_json(record | {"changed": changed})
        return
    state = "trusted" if trusted else "not trusted"
    print_text(f"{show_path(project)} is {state}{'' if changed else ', as before'}")
    for skill in record["skills"]:
        print_text(f"  {skill}")
