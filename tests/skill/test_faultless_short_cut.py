"""The short cut for faultless skills says what the whole reading says."""

from hypothesis import given, settings
from hypothesis import strategies as st

from prowess.policy import MissingDescription, NameRule, Parse, Reading, UnknownKeys
from prowess.skill.reading import parse_skill
from tests.skill.strategies import clean_line, yaml_line
from tests.skill.writing import skill_md

_READINGS = st.builds(
    Reading,
    parse=st.sampled_from(list(Parse)),
    unknown_keys=st.sampled_from(list(UnknownKeys)),
    name_rule=st.sampled_from(list(NameRule)),
    missing_description=st.sampled_from(list(MissingDescription)),
)
_ODD_VALUES = ["", "''", "'  '", "' a '", '" a"', "a  b", "|\n  a\n  b", ">-\n  a", "a\n  b"]
_VALUES = clean_line | yaml_line | st.sampled_from([*_ODD_VALUES, "x" * 1_024, "x" * 1_025, "x" * 501])
_KEYS = st.sampled_from(["license", "compatibility", "allowed-tools", "metadata"])
_NOTES = st.sampled_from(["a", "tags", "requires", "short-description"])
_LINES = st.one_of(
    st.builds("{}: {}\n".format, _KEYS, _VALUES),
    st.builds("metadata:\n  {}: {}\n".format, _NOTES, clean_line),
    st.sampled_from(
        ["allowed-tools: Bash(a b) Read\n", "allowed-tools: Read Read, Bash\n", "# c\n", "sandbox: true\n"]
    ),
)
_FILES = st.builds(
    "name: {}\ndescription: {}\n{}".format,
    st.sampled_from(["pdf", "pdf", "pdf", "'pdf'", "PDF"]),
    _VALUES,
    st.lists(_LINES, max_size=3).map("".join),
)


@settings(max_examples=500)
@given(text=_FILES, reading=_READINGS)
def test_short_cut_for_faultless_skills_agrees_with_the_whole_reading(text: str, reading: Reading) -> None:
    """A sidecar, even an empty one, keeps the reader from the short cut and adds nothing."""
    short = parse_skill(skill_md(text), folder="pdf", reading=reading)
    assert short == parse_skill(skill_md(text), folder="pdf", reading=reading, sidecar=b"")
