"""The user's own skills, as a runtime's settings find them, and what may become one of them."""

import shlex
from typing import TYPE_CHECKING

from prowess.activation.consent import Allow, Ask, Deny
from prowess.copies.layout import Layout
from prowess.copies.personal import PersonalSkills
from prowess.errors import Refused, SettingsError
from prowess.skill.skill import Skill
from prowess.sources.real_paths import find_real_path
from prowess.sources.source import show_path

if TYPE_CHECKING:
    from prowess.runtime.runtime import Runtime

__all__ = ["find_own", "find_own_folder", "get_agreed_digest", "open_personal"]


def open_personal(runtime: "Runtime") -> PersonalSkills:
    """Return the user's own skills; raise if the settings do not look for any."""
    place = runtime.settings.place
    layout = Layout(place.prowess_home)
    folder = layout.personal(place.user)
    if not any(_is_same(source.root, folder) for source in runtime.sources()):
        raise SettingsError(
            "Personal skills directory is not configured",
            hint=f'use the profile standard or daycare, or set sources.extra = ["{show_path(folder)}"]',
            code="not-configured",
        )
    return PersonalSkills(layout, place.user, clock=runtime.clock)


def find_own(runtime: "Runtime", personal: PersonalSkills, name: str) -> str:
    """Return the name of the folder of one of the user's own skills, that may be called by its name or id as well."""
    if personal.knows(name):
        return name
    root = personal.layout.personal(personal.user)
    for skill in runtime.catalog().skills:
        if name in (skill.name, skill.id) and _is_same(skill.root, root):
            if "/" in skill.relative:
                raise Refused(
                    f"'{show_path(skill.relative)}' lies deeper in the folder of your own skills",
                    hint=f"move it to {show_path(root)} itself, or deal with it by hand",
                    code="nested",
                )
            return skill.relative
    return name


def find_own_folder(runtime: "Runtime", skill: Skill) -> str | None:
    """Return the name of a skill's folder if it is one of the user's own; None of one that lies deeper in theirs."""
    place = runtime.settings.place
    is_own = _is_same(skill.root, Layout(place.prowess_home).personal(place.user))
    return skill.relative if is_own and skill.relative and "/" not in skill.relative else None


def _is_same(root: str, folder: str) -> bool:
    """Whether these are one folder, though links lead there, as where the user's home is one."""
    return root == folder or find_real_path(root) == find_real_path(folder)


def get_agreed_digest(runtime: "Runtime", skill: Skill) -> str:
    """Have all files of a skill of an MCP server here, and return their digest; raise unless somebody agreed to it.

    A copy is the user's own, and nobody is asked about it again.
    """
    files, shown = runtime.files(skill), show_path(skill.name)
    if not files.digest:
        faults = "; ".join(problem.message for problem in files.problems[:3])
        raise Refused(
            f"not all files of '{shown}' can be fetched: {faults}",
            hint=f"`prowess mcp servers refresh {skill.server}` asks its MCP server again",
            code="no-digest",
        )
    with runtime.session() as session:
        verdict = session.decide(skill)
    match verdict:
        case Allow():
            return files.digest
        case Deny():
            raise Refused(
                f"the user refused skill '{shown}' as it is now",
                hint=f"`prowess grants --revoke {shlex.quote(skill.name)}` takes the refusal back",
                code="refused",
            )
        case Ask():
            raise Refused(
                f"skill '{shown}' comes from the MCP server '{skill.server}', and nobody has agreed to it as it is now",
                hint=f"look at it with `prowess show {shlex.quote(skill.name)}`; "
                f"`prowess grants --allow {shlex.quote(skill.name)}` agrees to it",
                code="consent-needed",
            )
