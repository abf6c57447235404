"""The settings file that `prowess init` writes."""

from prowess.settings.vocabulary import SETTINGS

__all__ = ["render_template"]


def render_template() -> str:
    """Return a settings file in which every setting is explained and commented out."""
    lines = ["# Settings of Prowess. Each is commented out, and shows the standard profile's value or an example.", ""]
    table = ""
    for setting in SETTINGS:
        section, _, key = setting.path.rpartition(".")
        if section != table:
            lines += ["", f"[{section}]"]
            table = section
        lines += [f"# {setting.about}", f"# {key} = {setting.sample}"]
    lines += [
        "",
        "[skills]",
        "# a switch for a skill, by name or id: on, name-only, user-only or off",
        '# pdf-fill = "off"',
        "",
        "# [agents.reviewer]",
        "# the skills that this agent may see; without the line all, with [] none",
        '# skills = ["repo-survey", "safe-edit"]',
        '# switches = { repo-survey = "name-only" }',
        "",
    ]
    return "\n".join(lines)
