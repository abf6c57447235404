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
    tables = ["skills", "agents.NAME", "mcp.servers.NAME"]
    assert headings == [*(setting.path for setting in SETTINGS), *tables, "The whole file"]


def test_page_of_settings_says_of_every_key_what_holds_without_it() -> None:
    page = reference.render_settings()
    defaults = re.findall(r"^- (?:Default|By profile): (.*)$", page, re.MULTILINE)
    assert len(defaults) == page.count("\n- It takes ") == len(_find_examples())
    assert all(re.fullmatch(r"not set|`[^`]+`(?: \(.*\))?", default) for default in defaults)
    for path, default in (("model", "`offline`"), ("keep_receipts_days", "`365`"), ("execution.image", "not set")):
        assert f"- Default: {default}\n" in page.partition(f"## {path}\n")[2].partition("\n## ")[0]


def test_examples_of_settings_are_toml_that_sets_them() -> None:
    examples = _find_examples()
    for setting, example in zip(SETTINGS, examples, strict=False):
        value: Any = tomllib.loads(example)
        for part in setting.path.split("."):
            value = value[part]
        setting.read(value)
    tables = [tomllib.loads(example) for example in examples[len(SETTINGS) :]]
    assert {key for table in tables for key in table} == {"skills", "agents", "mcp"}
    (path,) = {key for table in tables for key in table.get("mcp", {}).get("servers", {})}
    assert path == "acme"


def _find_examples() -> list[str]:
    return re.findall(r"^- Example: `(.*)`$", reference.render_settings(), re.MULTILINE)


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
