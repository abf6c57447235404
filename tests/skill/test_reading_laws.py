"""What holds for every SKILL.md, whoever wrote it."""

import json

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from prowess.policy import PROFILES, STRICT_READING, MissingDescription, NameRule, Parse, Reading, UnknownKeys
from prowess.skill.deception import clean_text
from prowess.skill.manifest import STANDARD_FIELDS, Manifest
from prowess.skill.names import normalise_name
from prowess.skill.problems import KINDS, Severity
from prowess.skill.reading import parse_skill
from tests.skill.strategies import any_text, clean_line, yaml_line
from tests.skill.writing import STANDARD, skill_md

_READINGS = st.builds(
    Reading,
    parse=st.sampled_from(list(Parse)),
    unknown_keys=st.sampled_from(list(UnknownKeys)),
    name_rule=st.sampled_from(list(NameRule)),
    missing_description=st.sampled_from(list(MissingDescription)),
)
_KEYS = st.sampled_from(
    [
        *(
            "name",
            "description",
            "license",
            "compatibility",
            "metadata",
            "allowed-tools",
            "requires",
            "triggers",
            "tags",
        ),
        *(
            "secrets",
            "arguments",
            "hooks",
            "sandbox",
            "model",
            "setup",
            "  openclaw",
            "  a",
            "- b",
            "name",
            "description",
        ),
    ]
)
_LINES = st.lists(st.builds("{}: {}".format, _KEYS, yaml_line) | yaml_line, max_size=8)
_FILES = st.one_of(
    st.binary(max_size=120),
    st.binary(max_size=80).map(lambda inner: b"---\n" + inner + b"\n---\nBody"),
    _LINES.map(lambda lines: skill_md("".join(f"{line}\n" for line in lines))),
)


@pytest.mark.slow
@pytest.mark.requirement("R15", "J3")
@settings(max_examples=500)
@given(head=_FILES, folder=any_text, reading=_READINGS, sidecar=st.none() | st.binary(max_size=40))
def test_any_bytes_give_a_manifest_or_an_error(
    head: bytes, folder: str, reading: Reading, sidecar: bytes | None
) -> None:
    found = parse_skill(head, folder=folder, reading=reading, sidecar=sidecar)
    refused = any(problem.severity is Severity.ERROR for problem in found.problems)
    assert (found.manifest is None) == refused
    assert all(problem.code in KINDS and problem.message for problem in found.problems)


@pytest.mark.requirement("R15", "J3")
@settings(max_examples=150)
@given(head=_FILES)
@example(head=b"---\nname: a\ndescription: \xc3 \xa9\n---\n")  # Good UTF-8 but for what stands between.
def test_any_bytes_are_judged_by_every_profile(head: bytes) -> None:
    for policy in PROFILES.values():
        found = parse_skill(head, folder="pdf", reading=policy.reading)
        assert (found.manifest is None) == any(problem.severity is Severity.ERROR for problem in found.problems)


def _escape(text: str) -> str:
    """Return a text as YAML writes whatever characters are in it."""
    return '"' + "".join(f"\\U{ord(char):08X}" for char in text) + '"'


_SPOKEN = any_text | yaml_line | st.builds("{}{}".format, st.text(st.sampled_from("ab "), min_size=240), any_text)


@settings(max_examples=200)
@given(name=_SPOKEN, description=_SPOKEN)
@example(name="a" * 255 + " b", description="d")
def test_name_and_description_that_reach_a_model_are_clean(name: str, description: str) -> None:
    head = skill_md(f"name: {_escape(name)}\ndescription: {_escape(description)}\n")
    manifest = parse_skill(head, folder="pdf", reading=STANDARD).manifest
    if manifest is None:
        assert "" in (clean_text(description).text, clean_text(normalise_name(name)).text)
    else:
        assert clean_text(manifest.name).text == manifest.name
        assert clean_text(manifest.description).text == manifest.description


@given(body=_SPOKEN)
@example(body="a" * 1_023 + " b")
def test_description_from_the_instructions_is_clean_too(body: str) -> None:
    reading = Reading(missing_description=MissingDescription.FIRST_PARAGRAPH)
    text = body.encode("utf-8", "ignore").decode()
    manifest = parse_skill(skill_md("name: pdf\n", text), folder="pdf", reading=reading).manifest
    if manifest is not None:
        assert clean_text(manifest.description).text == manifest.description != ""


_NAMES = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True)
_TOOLS = st.lists(st.from_regex(r"[A-Za-z_]{1,8}(\([a-z :*.]{0,8}\))?", fullmatch=True), max_size=4, unique=True)
_METADATA = st.dictionaries(st.from_regex(r"x-[a-z]{1,6}", fullmatch=True), clean_line, max_size=3)


_FIELDS = st.fixed_dictionaries(
    {"name": _NAMES, "description": clean_line},
    optional={
        "license": clean_line,
        "compatibility": clean_line,
        "metadata": _METADATA,
        "allowed-tools": _TOOLS.map(" ".join),
    },
)


@pytest.mark.slow
@pytest.mark.requirement("R2", "R5", "R6", "R7", "R8", "J1")
@settings(max_examples=200)
@given(fields=_FIELDS)
def test_writing_then_reading_is_identity(fields: dict[str, str | dict[str, str]]) -> None:
    text = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())
    for reading in (STANDARD, STRICT_READING):
        found = parse_skill(skill_md(text), folder=str(fields["name"]), reading=reading)
        assert (found.problems, found.manifest and found.manifest.additions) == ((), None)
        assert found.manifest is not None
        assert _written(found.manifest) == fields


def _written(manifest: Manifest) -> dict[str, str | dict[str, str]]:
    """Return the fields that the model holds, as they would be written."""
    tools = None if manifest.allowed_tools is None else " ".join(manifest.allowed_tools)
    metadata = (
        {key: str(value) for key, value in manifest.metadata.items()} if "metadata" in manifest.frontmatter else None
    )
    values = (manifest.name, manifest.description, manifest.license, manifest.compatibility, metadata, tools)
    return {key: value for key, value in zip(STANDARD_FIELDS, values, strict=True) if value is not None}


_ODD_VALUES = ["", "''", "'  '", "' a '", '" a"', "a  b", "|\n  a\n  b", ">-\n  a", "a\n  b"]
_PADDED = "name: pdf\ndescription: d\n"
_VALUES = clean_line | yaml_line | st.sampled_from([*_ODD_VALUES, "x" * 1_024, "x" * 1_025, "x" * 501])
_FURTHER_KEYS = st.sampled_from(["license", "compatibility", "allowed-tools", "metadata"])
_NOTES = st.sampled_from(["a", "tags", "requires", "short-description"])
_FURTHER_LINES = st.one_of(
    st.builds("{}: {}\n".format, _FURTHER_KEYS, _VALUES),
    st.builds("metadata:\n  {}: {}\n".format, _NOTES, clean_line),
    st.sampled_from(
        ["allowed-tools: Bash(a b) Read\n", "allowed-tools: Read Read, Bash\n", "# c\n", "sandbox: true\n"]
    ),
)
_IN_QUOTES = st.builds("{0}{1}{0}".format, st.sampled_from("'\""), clean_line)
_BLOCK_LINES = st.sampled_from(["  a", "  b: c ", "  d  e", "   f", "  # g", "  'h", "# i", "", "  \u00e9"])
_BLOCKS = st.builds(
    "{}\n{}".format,
    st.sampled_from(["|", ">", "|-", ">-", ""]),
    st.lists(_BLOCK_LINES, min_size=1, max_size=3).map("\n".join),
)
_NOTED = st.builds("  {}: {}\n".format, st.sampled_from(["a", "b", "c-d", "tags"]), _VALUES | _IN_QUOTES)


def _perhaps(lines: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.just("") | lines


_IN_ORDER = st.tuples(
    st.just("name: pdf\n"),
    _perhaps(st.just("# c\n")),
    st.builds("description: {}\n".format, _VALUES | _IN_QUOTES | _BLOCKS),
    *(_perhaps(st.builds(f"{key}: {{}}\n".format, _VALUES)) for key in ("license", "compatibility", "allowed-tools")),
    _perhaps(st.lists(_NOTED, min_size=1, max_size=3).map(lambda lines: f"metadata:\n{''.join(lines)}")),
    _perhaps(st.just("# c\n")),
).map("".join)
"""As most skills are written, and slips within that."""
_NEARLY_FAULTLESS = _IN_ORDER | st.builds(
    "name: {}\ndescription: {}\n{}".format,
    st.sampled_from(["pdf", "pdf", "pdf", "'pdf'", "PDF"]),
    _VALUES,
    st.lists(_FURTHER_LINES, max_size=3).map("".join),
)


@settings(max_examples=300)
@given(text=_NEARLY_FAULTLESS)
def test_what_is_strictly_valid_is_loaded_by_the_standard_profile_too(text: str) -> None:
    strict = parse_skill(skill_md(text), folder="pdf", reading=STRICT_READING).manifest
    event("valid" if strict else "refused")
    if strict is not None:
        lenient = parse_skill(skill_md(text), folder="pdf", reading=STANDARD).manifest
        assert lenient is not None
        assert (lenient.name, lenient.description, lenient.text) == (strict.name, strict.description, strict.text)


@pytest.mark.slow
@pytest.mark.requirement("R1", "R9", "J3")
@settings(max_examples=500)
@given(text=_NEARLY_FAULTLESS, reading=_READINGS)
@example(text=_PADDED + "license: ' a '\n", reading=STANDARD)
@example(text=_PADDED + "license: a: b\n", reading=STANDARD)
@example(text=_PADDED + "license: a:\n", reading=STANDARD)
@example(text=_PADDED + "metadata:\n  a: b\n  a: c\n", reading=STANDARD)
@example(text=_PADDED + "metadata:\n  a: b: c\n", reading=STANDARD)
@example(text="name: pdf\ndescription: >-\n  a  b\n", reading=STANDARD)
@example(text="name: pdf\ndescription: |\n  a  b\n", reading=STANDARD)
@example(text="name: pdf\ndescription: |-\n  a \n  b\n", reading=STANDARD)
@example(text=_PADDED + "compatibility: ' a '\n", reading=STANDARD)
@example(text=_PADDED + "compatibility: '  '\n", reading=STANDARD)
@example(text=_PADDED + "license: '  '\n", reading=STANDARD)
def test_short_cut_for_faultless_skills_agrees_with_the_whole_reading(text: str, reading: Reading) -> None:
    """A sidecar, even an empty one, keeps the reader from the short cut and adds nothing."""
    short = parse_skill(skill_md(text), folder="pdf", reading=reading)
    assert short == parse_skill(skill_md(text), folder="pdf", reading=reading, sidecar=b"")
