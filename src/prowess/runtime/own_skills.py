"""The user's own skills, as a runtime's settings find them."""

from typing import TYPE_CHECKING

from prowess.copies.layout import Layout
from prowess.copies.personal import PersonalSkills
from prowess.errors import Refused, SettingsError
from prowess.sources.real_paths import find_real_path
from prowess.sources.source import show_path

if TYPE_CHECKING:
    from prowess.runtime.runtime import Runtime

__all__ = ["find_own", "open_personal"]


def open_personal(runtime: "Runtime") -> PersonalSkills:
    """Return the user's own skills; raise if the settings do not look for any."""
    place = runtime.settings.place
    layout = Layout(place.prowess_home)
    folder = layout.personal(place.user)
    if all(source.root != folder for source in runtime.sources()):
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
        if name in (skill.name, skill.id) and (skill.root == root or find_real_path(skill.root) == root):
            if "/" in skill.relative:
                raise Refused(
                    f"'{show_path(skill.relative)}' lies deeper in the folder of your own skills",
                    hint=f"move it to {show_path(root)} itself, or deal with it by hand",
                    code="nested",
                )
            return skill.relative
    return name
