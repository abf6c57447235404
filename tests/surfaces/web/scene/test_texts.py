"""What is shown of the texts that a model reads, and of changed files."""

from pathlib import Path

import pytest

from prowess.runtime.changed_texts import TextChange
from prowess.surfaces.web.scene.card_views import show_size
from prowess.surfaces.web.scene.diffs import make_diffs
from prowess.surfaces.web.scene.model_texts import find_content, find_instructions

_GOLDEN = Path(__file__).parents[3] / "golden"
_BODY = "# Fill in a form\n\n1. Read `references/FIELDS.md`.\n2. Run `scripts/fill.py"


def _read(profile: str, name: str) -> str:
    """Return what a model of the profile reads."""
    return (_GOLDEN / profile / f"{name}.txt").read_text("utf-8").split("\n" + "=" * 40)[0]


@pytest.mark.requirement("R71")
@pytest.mark.parametrize("profile", ["standard", "daycare", "workspace", "remcochat"])
def test_instructions_are_found_in_what_every_profile_returns(profile: str) -> None:
    found = find_instructions(_read(profile, "activated"))
    assert found.startswith(_BODY)
    assert found.endswith("Never write </skill_content> into a form.")


def test_lines_that_say_whose_instructions_they_are_are_none_of_them() -> None:
    head = "Skill name: pdf\nOrigin: the MCP server acme, and not the user\nCompatibility: needs Python\n\n"
    assert find_instructions(f'<skill_content name="pdf">\n{head}Fill it in.\n</skill_content>') == "Fill it in."


@pytest.mark.requirement("R71")
@pytest.mark.parametrize("profile", ["standard", "remcochat"])
def test_content_is_found_in_what_every_profile_returns(profile: str) -> None:
    assert find_content(_read(profile, "read-resource")).rstrip() == "# Fields\n\n- name\n- date & place"


@pytest.mark.parametrize("text", ["", "{", '{"name": ', '{"name": 3, "content": 4}', "[1]", "<skill_content>\n"])
def test_anything_else_is_shown_as_it_is(text: str) -> None:
    assert find_content(text) == text
    assert find_instructions(text).strip() == text.strip()


@pytest.mark.requirement("K1")
def test_diffs_are_plain_data() -> None:
    assert make_diffs([TextChange("a.md", "a\nb\n", "a\nc\n"), TextChange("run.sh", "x", "x")]) == [
        {
            "path": "a.md",
            "lines": [
                {"kind": "gap", "text": "@@ -1,2 +1,2 @@"},
                {"kind": "context", "text": "a"},
                {"kind": "removed", "text": "b"},
                {"kind": "added", "text": "c"},
            ],
            "truncated": False,
        },
        {
            "path": "run.sh",
            "lines": [{"kind": "gap", "text": "the same text; whether it is executable has changed"}],
            "truncated": False,
        },
    ]


@pytest.mark.requirement("K1")
def test_long_diffs_are_cut_and_say_so() -> None:
    changes = [TextChange(f"{number}.md", "", "x\n" * 1_000) for number in range(20)]
    diffs = make_diffs(changes)
    assert sum(len(diff["lines"]) for diff in diffs) <= 2_000 + len(diffs)
    assert all(diff["truncated"] for diff in diffs)
    assert diffs[0]["lines"][-1] == {"kind": "gap", "text": "… and 601 more lines of difference"}


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 kB"), (5_250_000, "5.2 MB"), (None, "")]
)
def test_sizes_are_as_people_read_them(size: int | None, shown: str) -> None:
    assert show_size(size) == shown
