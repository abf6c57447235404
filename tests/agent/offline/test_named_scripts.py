"""Scripts that instructions name, and their arguments."""

import pytest

from prowess.agent.offline.markdown_blocks import parse_blocks
from prowess.agent.offline.named_scripts import choose_word, find_named_scripts


def _found(text: str, *files: str) -> list[tuple[str, ...]]:
    scripts = find_named_scripts(parse_blocks(text), files=files or None, word="WORD")
    return [(script.path, *script.arguments) for script in scripts]


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("Run `scripts/a.py`.", [("scripts/a.py",)]),
        ("Run `python3 scripts/a.py --all 'x y'` now.", [("scripts/a.py", "--all", "x y")]),
        ("Run `./scripts/a.py FILE`.", [("scripts/a.py",)]),
        ("Run `{baseDir}/scripts/a.py <file>`.", [("scripts/a.py",)]),
        ("Run `/shared/skills/k/scripts/b.sh x`.", [("scripts/b.sh", "x")]),
        ("```sh\nscripts/a.py in.csv   # the table\nbin/b | sort\n```", [("scripts/a.py", "in.csv"), ("bin/b",)]),
        ("```sh\nscripts/a.py --rule 'A;B' $HOME\n```", [("scripts/a.py",)]),
        ("```sh\nscripts/a.py --rule 'A;B'\n```", [("scripts/a.py", "--rule", "A;B")]),
        ("`scripts/a.py` here and `scripts/a.py x` there", [("scripts/a.py", "x")]),
        ("Put them in `scripts/`; `/usr/bin/env`, `tools/scripts/x.sh`, scripts/plain.py", []),
    ],
)
def test_scripts_are_named_in_backticks_and_in_code(text: str, scripts: list[tuple[str, ...]]) -> None:
    assert _found(text) == scripts


@pytest.mark.parametrize(
    ("clause", "arguments"),
    [
        (" with two arguments: that word, and `two words`. Then `x`.", ("WORD", "two words")),
        (" with the argument `x`.", ("x",)),
        (' with `x` and "y z"; not `w`', ("x", "y z")),
        (" with care.", ()),
        (" and read `x`", ()),
    ],
)
def test_arguments_may_be_given_in_words(clause: str, arguments: tuple[str, ...]) -> None:
    assert _found(f"Choose a word, and run `scripts/a.sh`{clause}") == [("scripts/a.sh", *arguments)]


def test_script_outside_of_the_usual_folders_is_one_that_the_skill_has() -> None:
    assert _found("Run `tool.py x` and `other.py`", "tool.py", "a.md") == [("tool.py", "x")]


def test_chosen_word_is_always_the_same_for_the_same_message() -> None:
    assert choose_word("a") == choose_word("a") != choose_word("b")
    assert choose_word("a").isalnum()
