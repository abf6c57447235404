"""Which skills are exported, and by which name each can be known where it goes."""

import os
import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from prowess.activation.consent import Allow, Ask, Deny, Verdict
from prowess.catalog.catalog import Catalog
from prowess.catalog.views import View
from prowess.copies.incoming import is_folder_name
from prowess.errors import Refused
from prowess.runtime import Runtime
from prowess.skill.problems import Severity
from prowess.skill.skill import Skill
from prowess.skill.targets import LossKind
from prowess.sources.real_paths import find_real_path
from prowess.sources.source import is_below, show_path
from prowess.surfaces.export.reports import LeftOut, SkillLoss
from prowess.surfaces.losses import read_losses

__all__ = ["Named", "choose_skills", "judge_losses", "name_skills"]

_SHADOWED = "shadowed"


class Named(NamedTuple):
    """A skill with a name that a folder can have, and that no other has."""

    skill: Skill
    name: str


def choose_skills(runtime: Runtime, names: Sequence[str], *, out: str) -> tuple[list[Skill], list[LeftOut]]:
    """Return the skills of these names, or all that are visible, and what is left out of the others.

    What was exported into a folder that Prowess reads is found there again, before its original: the original counts.
    No other agent asks before it uses a skill of an MCP server, so that only those go that somebody has agreed to.
    """
    catalog, view = runtime.catalog(), runtime.view()
    left_out: list[LeftOut] = []
    wanted = [_find(catalog, view, name) for name in dict.fromkeys(names)]
    if not names:
        wanted = list(view.visible)
        left_out += _tell_hidden(catalog, view)
    chosen: dict[str, Skill] = {}
    for skill in wanted:
        original = _find_original(skill, catalog, view, out)
        if original is None:
            left_out.append(LeftOut(skill.id, f"it lies in {show_path(out)} already"))
        else:
            chosen[original.id] = original
    left_out = [one for one in left_out if one.id not in chosen]
    refused = _find_refused(runtime, chosen.values())
    return [skill for skill in chosen.values() if skill.id not in refused], [*left_out, *refused.values()]


def _find_refused(runtime: Runtime, skills: Iterable[Skill]) -> dict[str, LeftOut]:
    """Return the skills of servers that nobody has agreed to as they are now, by their ids."""
    hosted = [skill for skill in skills if skill.server]
    if not hosted:
        return {}
    with runtime.session() as session:
        verdicts = [(skill, session.decide(skill)) for skill in hosted]
    return {skill.id: LeftOut(skill.id, reason) for skill, verdict in verdicts if (reason := _explain(skill, verdict))}


def _explain(skill: Skill, verdict: Verdict) -> str:
    match verdict:
        case Allow():
            return ""
        case Deny("no-digest"):
            return f"its files cannot be fetched from the MCP server '{skill.server}'"
        case Deny():
            return "the user refused it as it is now"
        case Ask():
            return (
                f"it comes from the MCP server '{skill.server}', and nobody has agreed to it as it is now; "
                f"`prowess grants --allow {shlex.quote(skill.name)}` does"
            )


def _find(catalog: Catalog, view: View, name: str) -> Skill:
    skill = view.find(name) or next((one for one in view.for_people if name in (one.name, one.id)), None)
    if skill is not None:
        return skill
    known = catalog.get(name)
    reasons = "; ".join(reason.message for reason in view.hidden.get(known.id, ()))
    raise Refused(
        f"skill '{known.name}' is not visible: {reasons}", hint=f"prowess why {shlex.quote(known.name)}", code="hidden"
    )


def _tell_hidden(catalog: Catalog, view: View) -> list[LeftOut]:
    hidden: list[LeftOut] = []
    for skill, reasons in view.hidden.items():
        own = [reason.message for reason in reasons if reason.code != _SHADOWED]
        hidden += [LeftOut(skill, own[0])] if own else ()  # The skill that has its name goes in its place.
    for one in catalog.rejected:
        errors = [problem.message for problem in one.problems if problem.severity is Severity.ERROR]
        hidden.append(LeftOut(show_path(one.path), (errors or ["it could not be read"])[0]))
    return hidden


def _find_original(skill: Skill, catalog: Catalog, view: View, out: str) -> Skill | None:
    place = find_real_path(out) or out
    if not is_below(skill.real, place):
        return skill
    for other in catalog.skills:
        reasons = view.hidden.get(other.id, ())
        is_only_shadowed = [reason.code for reason in reasons] == [_SHADOWED]
        if other.name == skill.name and is_only_shadowed and not is_below(other.real, place):
            return other
    return None


def name_skills(skills: Sequence[Skill]) -> tuple[list[Named], list[LeftOut]]:
    """Return the skills with their names in the other tool; of two with one name, the first has it."""
    named: dict[str, Named] = {}
    left_out: list[LeftOut] = []
    for skill in skills:
        name = skill.name if is_folder_name(skill.name) else os.path.basename(skill.folder)
        taken = named.get(name.casefold())  # Some disks tell no capitals from small letters.
        if not is_folder_name(name):
            left_out.append(LeftOut(skill.id, f"no folder can have the name '{show_path(name)}'"))
        elif taken is not None:
            left_out.append(LeftOut(skill.id, f"{taken.skill.id} has the same name"))
        else:
            named[name.casefold()] = Named(skill, name)
    return list(named.values()), left_out


def judge_losses(runtime: Runtime, skill: Skill, target: str) -> tuple[list[SkillLoss], LeftOut | None]:
    """Return what the target would lose of a skill; or that it would not load it at all, and why."""
    losses = read_losses(skill, target, limits=runtime.policy.limits)
    refused = next((loss for loss in losses if loss.kind is LossKind.REFUSED), None)
    if refused is not None:
        return [], LeftOut(skill.id, refused.message)
    return [SkillLoss(skill.id, loss) for loss in losses], None
