"""The pages of the docs that are made from the source, or are tables of it."""

import re
import tomllib
from pathlib import Path
from typing import Any

from prowess.settings import SETTINGS
from prowess.skill.dialects import KNOWN_KEYS
from prowess.skill.manifest import STANDARD_FIELDS
from prowess.skill.problems import KINDS
from prowess.surfaces.cli.main import COMMANDS
from tools import problems, reference


def test_page_of_problems_has_every_code_in_the_order_of_the_table() -> None:
    headings = [line.removeprefix("### ") for line in problems.render_page().splitlines() if line.startswith("### ")]
    assert headings == list(KINDS)


def test_groups_of_problems_begin_with_codes_that_exist() -> None:
    assert problems.GROUPS.keys() <= KINDS.keys()
    assert next(iter(problems.GROUPS)) == next(iter(KINDS))


def test_page_of_settings_has_every_setting() -> None:
    headings = [line.removeprefix("## ") for line in reference.render_settings().splitlines() if line.startswith("## ")]
    assert headings == [*(setting.path for setting in SETTINGS), "The whole file"]


def test_examples_of_settings_are_toml_that_sets_them() -> None:
    examples = re.findall(r"^- Example: `(.*)`$", reference.render_settings(), re.MULTILINE)
    assert len(examples) == len(SETTINGS)
    for setting, example in zip(SETTINGS, examples, strict=True):
        value: Any = tomllib.loads(example)
        for part in setting.path.split("."):
            value = value[part]
        setting.read(value)


def test_page_of_commands_has_every_command_with_an_example() -> None:
    parts = reference.render_cli().split("\n## prowess ")[1:]
    assert [part.partition("\n")[0] for part in parts] == list(COMMANDS)
    assert all("prowess" in part.partition("```sh\n")[2].partition("```")[0] for part in parts)


def test_page_of_commands_has_the_commands_below_others() -> None:
    page = reference.render_cli().splitlines()
    assert {"### prowess mcp install", "#### prowess mcp servers add", "### prowess secrets set"} <= set(page)


def test_page_on_writing_skills_has_every_field_that_is_read() -> None:
    page = (Path(reference.__file__).parents[1] / "docs/writing-skills.md").read_text("utf-8")
    texts = re.findall(r"`([^`]+)`", re.sub(r"(?ms)^```.*?^```$", "", page))
    named = {word for text in texts for word in (text, text.partition(":")[0])}
    assert {*STANDARD_FIELDS, *KNOWN_KEYS} - named == set()
