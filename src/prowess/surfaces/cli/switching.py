"""What `enable` and `disable` have in common."""

from prowess.catalog.switches import Switch
from prowess.surfaces.cli.invocation import Invocation
from prowess.surfaces.cli.output import print_json, print_text
from prowess.surfaces.decision_records import switch_record

__all__ = ["set_switch"]


def set_switch(invocation: Invocation, name: str, position: Switch, *, agent: str) -> None:
    """Set a switch and say what is true now."""
    with invocation.open() as runtime:
        skill = runtime.set_switch(name, position, agent=agent)
        record = switch_record(runtime, skill, position, agent=agent)
    if invocation.as_json:
        print_json(record)
        return
    whom = f" for the agent '{agent}'" if agent else ""
    print_text(f"{skill.id} is {position}{whom}, and {'visible' if record['visible'] else 'not visible'} to models")
