"""Settings: `prowess.toml`, the environment and the command line, made into one frozen value.

`values` is that value, `vocabulary` every key of the file as a table, `file` the file with its lines, `loading` puts
them together, `template` writes the file that `prowess init` gives, `editing` changes it, `toml_text` changes a table
and nothing else. Imports `catalog` and below.
"""

from prowess.settings.loading import find_settings_file, load_settings
from prowess.settings.template import render_template
from prowess.settings.values import AgentSettings, Settings, WebSettings
from prowess.settings.vocabulary import SETTINGS, Setting

__all__ = [
    "SETTINGS",
    "AgentSettings",
    "Setting",
    "Settings",
    "WebSettings",
    "find_settings_file",
    "load_settings",
    "render_template",
]
