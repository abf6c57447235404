"""Tests that fail against src/ today; each goes into the file named in its comment once the fault is mended."""

import os
import subprocess
import sys
import time

import pytest

from prowess.policy import PROFILES, MissingDescription, Reading
from prowess.skill.bounded_yaml import YamlDocument, parse_yaml
from prowess.skill.deception import CleanText, clean_text
from prowess.skill.frontmatter import is_closed
from prowess.skill.manifest import Behaviour, Requirements
from prowess.skill.problems import Problem
from prowess.skill.reading import parse_skill
from prowess.skill.repair import mend_yaml
from prowess.skill.targets import find_losses
from tests.skill.writing import STANDARD, accept, judge, places, skill_md

_GOOD = "name: pdf\ndescription: d\n"


# test_reading.py
@pytest.mark.parametrize("line", ["description: '   '\n", 'description: "\\u200b"\n'])
def test_blank_description_is_refused(line: str) -> None:
    assert judge(f"name: pdf\n{line}").manifest is None


# test_reading_laws.py: put "'  '", "' a '", '" a"' back into _SHORT_VALUES
@pytest.mark.parametrize(
    "line", ["license: ' a '\n", "compatibility: ' a '\n", "compatibility: '  '\n", "license: '  '\n"]
)
def test_short_cut_agrees_on_padded_quotes(line: str) -> None:
    text = skill_md(_GOOD + line)
    assert parse_skill(text, folder="pdf", reading=STANDARD) == parse_skill(
        text, folder="pdf", reading=STANDARD, sidecar=b""
    )


# test_hostile.py
def test_many_unknown_keys_take_linear_time() -> None:
    text = _GOOD + "".join(f"k{n}: v\n" for n in range(600))
    start = time.process_time()
    judge(text)
    assert time.process_time() - start < 0.5


# test_hostile.py
def test_many_line_breaks_in_a_body_take_linear_time() -> None:
    start = time.process_time()
    judge(
        "name: pdf\n", reading=Reading(missing_description=MissingDescription.FIRST_PARAGRAPH), body="\n" * 4_000 + "#"
    )
    assert time.process_time() - start < 0.3


# test_hostile.py
def test_many_blanks_in_a_skimmed_description_take_linear_time() -> None:
    start = time.process_time()
    judge(f"name: pdf\nx: [\ndescription: a{' ' * 16_000}b\n", reading=PROFILES["workspace"].reading)
    assert time.process_time() - start < 0.3


# test_bounded_yaml.py
@pytest.mark.parametrize("text", ["".join(f"k{n}: v\n" for n in range(2_000)), "x:\n" + "- a\n" * 2_001])
def test_short_cut_keeps_the_bound_on_values(text: str) -> None:
    assert isinstance(parse_yaml(text), Problem)


# test_repair.py
def test_good_map_in_a_list_is_left_alone_when_another_line_is_mended() -> None:
    mended, _ = mend_yaml("d: a: b\nl:\n  - name: idea\n    required: true\n")
    assert parse_yaml(mended) == YamlDocument({"d": "a: b", "l": [{"name": "idea", "required": "true"}]})


# test_repair.py, and narrow _as_it_stands
def test_value_that_begins_and_ends_with_quoted_words_keeps_its_quotes() -> None:
    assert accept('name: pdf\ndescription: "foo" and "bar"\n').description == '"foo" and "bar"'


# test_frontmatter.py
@pytest.mark.parametrize("end", [b"---", b"--- ", b"---\r", b"---\t"])
def test_fence_at_the_very_end_of_a_head_is_not_yet_closed(end: bytes) -> None:
    assert is_closed(b"---\na: b\n" + end) is False


# test_frontmatter.py
def test_head_of_blank_lines_is_not_yet_closed() -> None:
    assert is_closed(b"\n" * 8_192) is False


# test_dialects.py
def test_reading_does_not_depend_on_the_seed_of_hashes() -> None:
    code = (
        "from prowess.policy import PROFILES\nfrom prowess.skill.reading import parse_skill\n"
        "head = b'---\\nname: p\\ndescription: d\\nsandbox: false\\ncontext: fork\\nmodeSlugs: [a]\\nmode: b\\n---\\n'\n"
        "print(parse_skill(head, folder='p', reading=PROFILES['standard'].reading).manifest.behaviour)"
    )
    run = [
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": str(n)}, capture_output=True, check=True
        )
        for n in range(6)
    ]
    assert len({result.stdout for result in run}) == 1


# test_dialects.py
def test_requirements_in_two_spellings_are_joined() -> None:
    text = f"{_GOOD}requires: [git]\nmetadata:\n  openclaw:\n    requires:\n      bins: [uv]\n"
    assert accept(text).behaviour == Behaviour(requires=Requirements(binaries=("git", "uv")))


# test_targets.py
def test_losses_are_seen_in_metadata_that_is_json_text() -> None:
    text = _GOOD + """metadata: '{"openclaw": {"requires": {"bins": ["uv"]}}}'\n"""
    losses = find_losses(accept(text), target="hermes", folder="pdf", original=text)
    assert [loss.field for loss in losses] == ["metadata.openclaw.requires"]


# test_targets.py
def test_target_that_requires_a_name_refuses_a_skill_without_one() -> None:
    text = "description: d\n"
    assert find_losses(accept(text), target="roo", folder="pdf", original=text) != ()


# test_reading.py
def test_every_text_that_reaches_a_model_or_a_person_is_clean() -> None:
    manifest = accept(
        f'{_GOOD}when_to_use: "a\\u202eb"\npermissions: ["@read:\\u200b/x"]\nallowed-tools: "Ba\\u200bsh"\n'
    )
    assert "\u202e" not in manifest.behaviour.when_to_use
    assert "\u200b" not in "".join(manifest.behaviour.permissions)
    assert "\u200b" not in "".join(manifest.allowed_tools or ())


# test_reading.py
def test_fault_in_metadata_as_json_text_is_placed_at_metadata() -> None:
    assert [place[2:] for place in places(judge(f"{_GOOD}metadata: '{{\"a\": [1]}}'\n").problems)] == [(4, 1)]


# test_reading.py
def test_every_problem_with_a_line_has_a_column() -> None:
    found = judge("name: pdf\ndescription: a: b\n", reading=PROFILES["workspace"].reading)
    assert all(problem.column for problem in found.problems)


# test_reading.py
@pytest.mark.parametrize(("value", "meant"), [("it's 'a: b'", "it's 'a: b'"), (">\n  real text", None)])
def test_fallback_keeps_inner_quotes_and_does_not_take_a_block_sign_for_a_text(value: str, meant: str | None) -> None:
    manifest = judge(f"name: pdf\nx: [\ndescription: {value}\n", reading=PROFILES["workspace"].reading).manifest
    assert (None if manifest is None else manifest.description) == meant


# test_deception.py
@pytest.mark.parametrize("text", ["می\u200cخواهم", "👨\u200d👩\u200d👧", "क्\u200dष"])
def test_joiners_that_a_script_or_an_emoji_needs_are_left_alone(text: str) -> None:
    assert clean_text(text) == CleanText(text)


# test_deception.py
def test_word_is_replaced_only_where_it_is_a_word() -> None:
    assert clean_text("аb жаbж").text == "ab жаbж"
