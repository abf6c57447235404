"""The settings file that `prowess init` writes."""

from collections.abc import Callable, Iterator

from prowess.settings.servers import FOR_ADDRESSES, SERVER_SETTINGS
from prowess.settings.vocabulary import AGENT_SETTINGS, SETTINGS, SWITCH_SETTING

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
        f"# {SWITCH_SETTING.about}",
        f"# pdf-fill = {SWITCH_SETTING.sample}",
        "",
        "# [agents.reviewer]",
        *(line for key, one in AGENT_SETTINGS.items() for line in (f"# {one.about}", f"# {key} = {one.sample}")),
        "",
        "# an MCP server that skills are taken from, by the name that its skills get in their ids",
        "# [mcp.servers.acme]",
        *_explain_server(lambda key: key not in FOR_ADDRESSES),
        "",
        "# [mcp.servers.team]",
        *_explain_server(lambda key: key in FOR_ADDRESSES),
        "",
    ]
    return "\n".join(lines)


def _explain_server(is_meant: Callable[[str], bool]) -> Iterator[str]:
    for key, (_, about, sample) in SERVER_SETTINGS.items():
        if is_meant(key):
            yield from (f"# {about}", f"# {key} = {sample}")
