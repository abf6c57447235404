"""Files that instructions name for reading."""

import pytest

from prowess.agent.offline.markdown_blocks import parse_blocks
from prowess.agent.offline.named_files import NamedFile, find_named_files, match_file


def _paths(text: str, *files: str) -> list[str]:
    return [file.path for file in find_named_files(parse_blocks(text), files=files or None)]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Read `references/a.md` first.", ["references/a.md"]),
        ("See [the guide](references/guide.md#top) and [this](./docs/b.md).", ["references/guide.md", "docs/b.md"]),
        ("See references/a.md, then assets/b.json.", ["references/a.md", "assets/b.json"]),
        ("- `templates/x.html`: the page", ["templates/x.html"]),
        ("| long | read `references/a.md` |", ["references/a.md"]),
        ("`references/b.md` after `references/a.md` after `references/b.md`", ["references/b.md", "references/a.md"]),
        ("`references/` and `references/*.md` and `references/<name>.md`", []),
        ("`scripts/a.py`, `settings.py`, `AGENTS.md`, `SKILL.md`, `x.y()`, `../a/b.md`, `/etc/x.conf`", []),
        ("[site](https://example.org/references/a.md) [here](#references/a.md)", []),
        ("```sh\ncat references/a.md\n```", []),
        ("my-references/a.md and x/references/a.md", []),
    ],
)
def test_files_are_named_in_prose_and_not_in_code(text: str, paths: list[str]) -> None:
    assert _paths(text) == paths


def test_any_file_that_the_skill_has_is_one() -> None:
    text = "Read `FORMS.md`, `sub/x.txt`, [more](more.md), `other.md` and `tool.py`."
    assert _paths(text, "FORMS.md", "sub/x.txt", "more.md", "tool.py") == ["FORMS.md", "sub/x.txt", "more.md"]


@pytest.mark.requirement("R109")
@pytest.mark.parametrize(
    "intro",
    [
        "Ask the resource tool for each of these paths.",
        "Read each file:",
        "Try to open all of the following paths; they must be refused.",
    ],
)
def test_paths_of_a_list_that_is_to_be_asked_for_are_taken_to_the_letter(intro: str) -> None:
    items = ("`../x/SKILL.md`", "`/etc/hostname`: the host's", "an empty path", "`.`", "**`a b`**", "others")
    assert _paths("\n".join([intro, "", *(f"1. {item}" for item in items)])) == [
        "../x/SKILL.md",
        "/etc/hostname",
        "",
        ".",
        "a b",
    ]


@pytest.mark.parametrize("intro", ["Never do these:", "These paths are refused.", "Read the beginning of long files."])
def test_paths_of_another_list_are_not(intro: str) -> None:
    assert _paths(f"{intro}\n\n1. `../x/SKILL.md`\n2. an empty path\n3. `references/a.md`") == ["references/a.md"]


def test_script_in_a_list_of_files_is_not_read() -> None:
    assert _paths("Read each file.\n\n- `scripts/a.py`\n- `b.md`") == ["b.md"]


def test_what_stands_beside_a_file_is_kept_with_it() -> None:
    text = "Read each file.\n\n1. `a.json`: the value of `key`\n\n## 2. Later\n\nSee `references/b.md` for `X:`."
    assert find_named_files(parse_blocks(text)) == (
        NamedFile("a.json", ("key",)),
        NamedFile("references/b.md", ("X:",), 2),
    )


@pytest.mark.parametrize(
    ("asked", "found"),
    [("a/x.md", "a/x.md"), ("./a/x.md", "a/x.md"), ("x.md", ""), ("y.md", "a/y.md"), ("z.md", ""), ("", "")],
)
def test_bare_name_means_the_one_file_that_has_it(asked: str, found: str) -> None:
    assert match_file(asked, known=["a/x.md", "b/x.md", "a/y.md", "a/y.md"]) == found
