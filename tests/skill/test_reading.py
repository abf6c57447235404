"""From bytes to a verdict, under every policy of reading."""

import unicodedata

import pytest

from prowess.policy import (
    PROFILES,
    STRICT_READING,
    MissingDescription,
    NameRule,
    Parse,
    Reading,
    UnknownKeys,
)
from prowess.skill.manifest import Behaviour, Manifest
from prowess.skill.problems import Problem, Severity
from prowess.skill.reading import Judgement, parse_skill
from tests.skill.writing import STANDARD, Place, accept, judge, places

_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
_GOOD = "name: pdf\ndescription: Fills forms.\n"


@pytest.mark.requirement("R1", "R2", "R12")
@pytest.mark.parametrize("profile", PROFILES)
def test_good_skill_is_read_without_a_word_by_every_profile(profile: str) -> None:
    found = judge(_GOOD, reading=PROFILES[profile].reading)
    assert found == Judgement(Manifest("pdf", "Fills forms.", text=_GOOD))


@pytest.mark.requirement("R12")
def test_body_never_enters_the_manifest() -> None:
    assert judge(_GOOD, body="# Secret instructions\n\nname: other\n") == judge(_GOOD, body="")


# How broken YAML is taken

_BROKEN = "name: pdf\ndescription: supports: colon values\ntags:\n  - a\n"


@pytest.mark.requirement("R13", "J3")
@pytest.mark.parametrize(
    ("parse", "expected", "problems"),
    [
        (Parse.REPAIR, ("pdf", "supports: colon values"), [("yaml-repaired", _W, 3, 1)]),
        (Parse.FALLBACK, ("pdf", "supports: colon values"), [("yaml-fallback", _W, 3, 22)]),
        (Parse.PLAIN, None, [("yaml-invalid", _E, 3, 22)]),
        (Parse.STRICT, None, [("yaml-invalid", _E, 3, 22)]),
    ],
)
def test_broken_yaml_is_mended_skimmed_or_refused(
    parse: Parse, expected: tuple[str, str] | None, problems: list[Place]
) -> None:
    found = judge(_BROKEN, reading=Reading(parse=parse))
    manifest = found.manifest
    assert (None if manifest is None else (manifest.name, manifest.description)) == expected
    assert places(found.problems) == problems


@pytest.mark.requirement("R13")
@pytest.mark.parametrize(
    ("text", "name", "description"),
    [
        pytest.param("name: pdf\ndescription: a: b\n", "pdf", "a: b", id="colon"),
        pytest.param("description: 'a: b'\nname: \"pdf\"\nx: [\n", "pdf", "a: b", id="quotes are taken off"),
        pytest.param("name: pdf\nname: other\ndescription: a: b\n", "pdf", "a: b", id="the first of two counts"),
        pytest.param("name:\tpdf  \ndescription: a: it's \t\n", "pdf", "a: it's", id="blanks"),
        pytest.param(
            "name: pdf\ndescription: a\nlist: [a: b\n  name: inner\n", "pdf", "a", id="indented lines do not count"
        ),
    ],
)
def test_fallback_takes_name_and_description_and_nothing_else(text: str, name: str, description: str) -> None:
    found = judge(text, reading=PROFILES["workspace"].reading)
    assert found.manifest is not None
    assert found.manifest.frontmatter == {"name": name, "description": description}
    assert (found.manifest.name, found.manifest.description) == (name, description)
    assert [problem.code for problem in found.problems] == ["yaml-fallback"]


@pytest.mark.requirement("R13")
def test_fallback_tells_the_lines_of_the_file() -> None:
    found = judge("x: [\ny: 1\ndescription: a: b\nname: My Pdf\n", reading=PROFILES["workspace"].reading)
    assert [(problem.code, problem.line) for problem in found.problems if problem.code == "name-sanitised"] == [
        ("name-sanitised", 5)
    ]


@pytest.mark.requirement("R13")
@pytest.mark.parametrize(("value", "meant"), [("it's 'a: b'", "it's 'a: b'"), (">\n  real text", "real text")])
def test_fallback_keeps_inner_quotes_and_does_not_take_a_block_sign_for_a_text(value: str, meant: str) -> None:
    manifest = judge(f"name: pdf\nx: [\ndescription: {value}\n", reading=PROFILES["workspace"].reading).manifest
    assert manifest is not None
    assert manifest.description == meant


@pytest.mark.requirement("R13", "R15")
def test_fallback_without_a_description_is_refused() -> None:
    found = judge("name: pdf\nx: [\n", reading=PROFILES["workspace"].reading)
    assert found.manifest is None
    assert [problem.code for problem in found.problems] == ["yaml-fallback", "description-missing"]


@pytest.mark.requirement("R13")
@pytest.mark.parametrize("text", ["name: pdf\ndescription: &a [*a]\n", "- a\n"])
def test_fallback_is_for_broken_yaml_not_for_hostile_yaml(text: str) -> None:
    assert judge(text, reading=PROFILES["workspace"].reading).manifest is None


@pytest.mark.requirement("R9", "J3")
@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"{_GOOD}license: a\nlicense: b\n", ("yaml-duplicate-key", 5, 1)),
        (f"{_GOOD}license: [MIT]\n", ("field-not-text", 4, 1)),
        (f"{_GOOD}compatibility: {{a: b}}\n", ("field-not-text", 4, 1)),
        (f"{_GOOD}compatibility: ''\n", ("compatibility-length", 4, 1)),
        (f"{_GOOD}compatibility: {'x' * 501}\n", ("compatibility-length", 4, 1)),
        (f"{_GOOD}metadata: text\n", ("metadata-not-a-map", 4, 1)),
        (f"{_GOOD}metadata: [a]\n", ("metadata-not-a-map", 4, 1)),
        (f"{_GOOD}allowed-tools: [Read]\n", ("allowed-tools-not-text", 4, 1)),
        (f"{_GOOD}allowed-tools: {{a: b}}\n", ("field-not-text", 4, 1)),
        (f"{_GOOD}allowed-tools: Read Bash(git\n", ("allowed-tools-unbalanced", 4, 1)),
        (f"name: pdf\nlicense: x\ndescription: {'x' * 1025}\n", ("description-too-long", 4, 1)),
        ('name: pdf\ndescription: "a\\u202eb"\n', ("invisible-characters", 3, 1)),
        ("name: pdf\ndescription: see раypal\n", ("look-alike-characters", 3, 1)),
        (f'{_GOOD}license: "a\\u200bb"\n', ("invisible-characters", 4, 1)),
        ("name: pdf\ndescription: a\u200db\n", ("invisible-characters", 3, 1)),
        ("name: pdf\ndescription: é\u200d\u200cé\n", ("invisible-characters", 3, 1)),
    ],
)
def test_what_the_standard_forbids_is_a_warning_and_strictly_an_error(text: str, place: tuple[str, int, int]) -> None:
    code, line, column = place
    lenient, strict = judge(text), judge(text, reading=STRICT_READING)
    assert (lenient.manifest is not None, places(lenient.problems)) == (True, [(code, _W, line, column)])
    assert (strict.manifest, places(strict.problems)) == (None, [(code, _E, line, column)])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"{_GOOD}allowed-tools: Read, Bash\n", ("allowed-tools-spelling", 4, 1)),
        ("name: pdf\ndescription: foo # bar\n", ("value-cut-by-comment", 3, 18)),
        (f"{_GOOD}compatibility: Needs C #1\n", ("value-cut-by-comment", 4, 24)),
        (f"{_GOOD}colour: red\n", ("unknown-key", 4, 1)),
        ("name: pdf\ndescription: a family 👨\u200d👩\u200d👧\n", ("invisible-characters", 3, 1)),
        ("name: pdf\ndescription: می\u200cخواهم\n", ("invisible-characters", 3, 1)),
        ("name: pdf\ndescription: שלום\u200f, a\n", ("invisible-characters", 3, 1)),
    ],
)
def test_what_the_standard_leaves_open_is_a_warning_even_strictly(text: str, place: tuple[str, int, int]) -> None:
    code, line, column = place
    for reading in (STANDARD, STRICT_READING):
        found = judge(text, reading=reading)
        assert (found.manifest is not None, places(found.problems)) == (True, [(code, _W, line, column)])


@pytest.mark.requirement("R7")
def test_metadata_that_is_not_text_is_kept_with_a_note_and_strictly_refused() -> None:
    text = f"{_GOOD}metadata:\n  a: b\n  c: [d]\n  e: {{f: g}}\n"
    assert places(judge(text).problems) == [("metadata-not-text", _I, 6, 3)]
    assert accept(text).metadata == {"a": "b", "c": ["d"], "e": {"f": "g"}}
    assert places(judge(text, reading=STRICT_READING).problems) == [("metadata-not-text", _E, 6, 3)]


@pytest.mark.requirement("J3")
@pytest.mark.parametrize(
    ("text", "description", "line"),
    [
        ("name: pdf\ndescription: a\x07b\n", "ab", 3),
        ("na\x7fme: pdf\ndescription: a\x9bb\n", "ab", 2),
        ("name: pdf\ndescription: a\x01: b\n", "a: b", 3),
    ],
)
def test_characters_that_no_yaml_may_hold_are_removed_and_told(text: str, description: str, line: int) -> None:
    found = judge(text)
    assert found.manifest is not None
    assert (found.manifest.name, found.manifest.description) == ("pdf", description)
    assert ("invisible-characters", _W, line, 1) in places(found.problems)
    strict = judge(text, reading=STRICT_READING)
    assert (strict.manifest, [problem.code for problem in strict.problems]) == (None, ["yaml-invalid"])


@pytest.mark.requirement("R7")
def test_metadata_as_json_in_a_text_is_read_and_strictly_refused() -> None:
    text = f'{_GOOD}metadata: \'{{"a": "b"}}\'\n'
    assert (accept(text).metadata, judge(text).problems) == ({"a": "b"}, ())
    assert places(judge(text, reading=STRICT_READING).problems) == [("metadata-not-a-map", _E, 4, 1)]


@pytest.mark.requirement("R7")
def test_metadata_left_empty_is_strictly_refused_only() -> None:
    assert judge(f"{_GOOD}metadata:\n").problems == ()
    assert places(judge(f"{_GOOD}metadata:\n", reading=STRICT_READING).problems) == [("metadata-not-a-map", _E, 4, 1)]


@pytest.mark.requirement("R4", "R6")
@pytest.mark.parametrize(
    "text",
    [
        f"name: pdf\ndescription: {'x' * 1024}\n",
        f"name: pdf\ndescription: '  {'x' * 1024}  '\n",
        f"name: pdf\ndescription: {'技' * 1024}\n",
        f"{_GOOD}compatibility: {'x' * 500}\n",
        f"{_GOOD}compatibility: x\n",
    ],
)
def test_lengths_are_counted_in_characters_after_stripping(text: str) -> None:
    assert judge(text, reading=STRICT_READING).problems == ()


@pytest.mark.requirement("R8")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", None),
        ("allowed-tools:\n", ()),
        ("allowed-tools: []\n", ()),
        ("allowed-tools: Bash(git:*) Read\n", ("Bash(git:*)", "Read")),
        ("allowed-tools: Bash(git *), Read\n", ("Bash(git *)", "Read")),
        ("allowed-tools: [Read, Bash(a b)]\n", ("Read", "Bash(a b)")),
        ("allowed-tools: Read Bash(git\n", ("Read",)),
        ("allowed-tools: {a: b}\n", None),
    ],
)
def test_asking_for_no_tools_differs_from_saying_nothing(line: str, expected: tuple[str, ...] | None) -> None:
    assert accept(_GOOD + line).allowed_tools == expected


# Unknown keys

_UNKNOWN = f"{_GOOD}model: opus\ncolour: red\ndascription: x\n"


@pytest.mark.requirement("R9", "R10", "K10")
@pytest.mark.parametrize(
    ("choice", "additions", "problems"),
    [
        (UnknownKeys.DIALECTS, Behaviour(model="opus"), [("unknown-key", _W, 5, 1), ("unknown-key", _W, 6, 1)]),
        (UnknownKeys.WARN, None, [("unknown-key", _W, 4, 1), ("unknown-key", _W, 5, 1), ("unknown-key", _W, 6, 1)]),
        (UnknownKeys.IGNORE, None, []),
    ],
)
def test_unknown_keys_are_read_warned_about_or_ignored(
    choice: UnknownKeys, additions: Behaviour | None, problems: list[Place]
) -> None:
    found = judge(_UNKNOWN, reading=Reading(unknown_keys=choice))
    assert found.manifest is not None
    assert found.manifest.additions == additions
    assert places(found.problems) == problems


@pytest.mark.requirement("R9")
@pytest.mark.parametrize("extra", ["colour: red\n", "a: 1\nb: 2\nc: 3\n", "license: MIT\nversion: 1\nmodel: x\n"])
def test_refused_keys_are_named_in_one_problem(extra: str) -> None:
    """A8."""
    found = judge(_GOOD + extra, reading=PROFILES["agent-base"].reading)
    keys = [line.partition(":")[0] for line in extra.splitlines() if not line.startswith("license")]
    assert found.manifest is None
    assert [(problem.code, problem.message) for problem in found.problems] == [
        ("unknown-key-refused", f"keys outside the standard: {', '.join(keys)}")
    ]
    assert found.problems[0].line == 4 + extra.startswith("license")


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("dascription", "did you mean 'description'?"),
        ("Licence", "did you mean 'license'?"),
        ("allowed_tools", "did you mean 'allowed-tools'?"),
        ("colour", "correct the key, or move it under metadata"),
    ],
)
def test_slip_of_the_pen_is_answered_with_the_nearest_key(key: str, remedy: str) -> None:
    assert judge(f"{_GOOD}{key}: x\n").problems == (Problem("unknown-key", _W, f"unknown key '{key}'", 4, 1, remedy),)


# Names


@pytest.mark.requirement("R3", "R14", "R15", "R16", "J3")
@pytest.mark.parametrize(
    ("rule", "written", "name", "problems"),
    [
        pytest.param(NameRule.WARN, "name: pdf", "pdf", [], id="warn, good"),
        pytest.param(NameRule.WARN, "", "pdf", [("name-missing", _W, 2, 1)], id="warn, none"),
        pytest.param(NameRule.WARN, "name: ' '", "pdf", [("name-missing", _W, 2, 1)], id="warn, blank"),
        pytest.param(NameRule.WARN, "name: [pdf]", "pdf", [("field-not-text", _W, 3, 1)], id="warn, a list"),
        pytest.param(NameRule.WARN, "name: other", "other", [("name-differs-from-folder", _W, 3, 1)], id="warn, other"),
        pytest.param(
            NameRule.WARN,
            "name: My PDF",
            "My PDF",
            [("name-invalid", _W, 3, 1), ("name-differs-from-folder", _W, 3, 1)],
            id="warn, invalid",
        ),
        pytest.param(
            NameRule.WARN,
            f"name: {'a' * 65}",
            "a" * 65,
            [("name-too-long", _W, 3, 1), ("name-differs-from-folder", _W, 3, 1)],
            id="warn, long",
        ),
        pytest.param(
            NameRule.WARN,
            'name: "\\u200b"',
            None,
            [("invisible-characters", _W, 3, 1), ("name-empty", _E, 3, 1)],
            id="warn, invisible",
        ),
        pytest.param(NameRule.FOLDER_DEFAULT, "name: My PDF", "My PDF", [], id="folder default, any name"),
        pytest.param(NameRule.FOLDER_DEFAULT, "", "pdf", [("name-missing", _W, 2, 1)], id="folder default, none"),
        pytest.param(NameRule.SANITISE, "name: pdf", "pdf", [], id="sanitise, good"),
        pytest.param(
            NameRule.SANITISE, "name: My PDF", "my-pdf", [("name-sanitised", _W, 3, 1)], id="sanitise, rewritten"
        ),
        pytest.param(NameRule.SANITISE, "name: 技能", None, [("name-empty", _E, 3, 1)], id="sanitise, nothing left"),
        pytest.param(NameRule.SANITISE, "", None, [("name-missing", _E, 2, 1)], id="sanitise, none"),
        pytest.param(NameRule.MUST_MATCH, "name: pdf", "pdf", [], id="must match, good"),
        pytest.param(
            NameRule.MUST_MATCH, "name: other", None, [("name-differs-from-folder", _E, 3, 1)], id="must match, other"
        ),
        pytest.param(
            NameRule.MUST_MATCH,
            "name: PDF",
            None,
            [("name-invalid", _E, 3, 1), ("name-differs-from-folder", _E, 3, 1)],
            id="must match, invalid",
        ),
        pytest.param(NameRule.MUST_MATCH, "", None, [("name-missing", _E, 2, 1)], id="must match, none"),
    ],
)
def test_name_is_judged_by_the_rule(rule: NameRule, written: str, name: str | None, problems: list[Place]) -> None:
    found = judge(f"description: d\n{written}\n", reading=Reading(name_rule=rule))
    assert (None if found.manifest is None else found.manifest.name) == name
    assert places(found.problems) == problems


@pytest.mark.requirement("R3")
@pytest.mark.parametrize(
    "name",
    [
        "",
        "a" * 65,
        "Hello",
        "SKILL",
        "-hello",
        "hello-",
        "hello--world",
        "hello_world",
        "hello.world",
        "hello@world",
        "hello world",
    ],
)
@pytest.mark.parametrize("profile", ["agent-base", "remcochat"])
def test_bad_names_are_refused_by_the_strict_profiles(profile: str, name: str) -> None:
    """A2, RC2."""
    found = judge(f"name: '{name}'\ndescription: d\n", folder=name, reading=PROFILES[profile].reading)
    assert found.manifest is None
    assert all("name" in problem.message for problem in found.problems)


@pytest.mark.requirement("R3")
@pytest.mark.parametrize("name", ["my-ſkill", "ｍｙ", "ﬁx", "a①", "x²", "my－skill"])
def test_letters_that_only_come_to_ascii_are_no_standard_name(name: str) -> None:
    folder = unicodedata.normalize("NFKC", name)
    text = f"name: {name}\ndescription: d\n"
    assert judge(text, folder=folder).problems == ()
    for reading in (STRICT_READING, PROFILES["agent-base"].reading):
        assert places(judge(text, folder=folder, reading=reading).problems) == [("name-invalid", _E, 2, 1)]


@pytest.mark.requirement("R3")
@pytest.mark.parametrize("name", ["hello", "skill123", "hello-world", "a", "a" * 64])
def test_good_names_are_accepted_by_the_strict_profiles(name: str) -> None:
    """A1."""
    for profile in ("agent-base", "remcochat"):
        assert accept(f"name: {name}\ndescription: d\n", folder=name, reading=PROFILES[profile].reading).name == name


def test_endless_name_is_cut() -> None:
    assert accept(f"name: {'a' * 5_000}\ndescription: d\n").name == "a" * 256


@pytest.mark.requirement("R3")
def test_folder_in_another_spelling_of_the_same_characters_matches() -> None:
    assert judge("name: cafe\u0301\ndescription: d\n", folder="caf\xe9").problems == ()


# Descriptions


@pytest.mark.requirement("R4", "R15", "J3")
@pytest.mark.parametrize(
    "line",
    [
        *("", "description:\n", "description: ''\n", "description: |\n", "description: # c\n"),
        "description: '   '\n",
    ],
)
@pytest.mark.parametrize(
    ("choice", "description", "problems"),
    [
        (MissingDescription.REFUSE, None, [("description-missing", _E)]),
        (MissingDescription.ALLOW, "", []),
        (MissingDescription.FIRST_PARAGRAPH, "Fills forms. Really.", [("description-from-body", _W)]),
    ],
)
def test_missing_description_is_refused_allowed_or_taken_from_the_body(
    choice: MissingDescription, description: str | None, problems: list[tuple[str, Severity]], line: str
) -> None:
    body = "# PDF\n\nFills forms.\nReally.\n\nMore.\n"
    found = judge(f"name: pdf\n{line}", reading=Reading(missing_description=choice), body=body)
    assert (None if found.manifest is None else found.manifest.description) == description
    assert [(problem.code, problem.severity) for problem in found.problems] == problems
    assert all((problem.line, problem.column) == (3 if line else 2, 1) for problem in found.problems)
    assert all("missing required frontmatter fields" in problem.message for problem in found.problems)


@pytest.mark.parametrize(
    ("body", "description"),
    [
        ("Text at once.\n", "Text at once."),
        ("\n\n## A\n\n- list\n\n> quote\n\n```\ncode\n```\n\nThe paragraph\ngoes on.\n", "The paragraph goes on."),
        ("# T\n\n1. item\n\n| table |\n\nEnd", "End"),
        ("Fill forms.\n- step one\n", "Fill forms."),
        ("Fill forms\n#1 of all.\n## Next\nmore", "Fill forms #1 of all."),
        ("Fill forms.\n```\ncode\n```\n", "Fill forms."),
        ("Forms\n=====\n\nFill them.\n", "Fill them."),
        ("A dash - and a\n-5 degrees\n1) one", "A dash - and a -5 degrees"),
        ("x" * 2_000, "x" * 1_024),
        ("a\u202eb\n", "ab"),
        ("# Only a title\n", None),
        ("", None),
    ],
)
def test_first_paragraph_stands_in(body: str, description: str | None) -> None:
    reading = Reading(missing_description=MissingDescription.FIRST_PARAGRAPH)
    manifest = judge("name: pdf\n", reading=reading, body=body).manifest
    assert (None if manifest is None else manifest.description) == description


@pytest.mark.requirement("R2")
@pytest.mark.parametrize("value", ["[a]", "{a: b}", "\n  - a"])
def test_description_that_is_no_text_is_never_guessed(value: str) -> None:
    for choice in MissingDescription:
        found = judge(f"name: pdf\ndescription: {value}\n", reading=Reading(missing_description=choice))
        assert found.manifest is None
        assert places(found.problems) == [("description-missing", _E, 3, 1)]


@pytest.mark.requirement("R4", "R15")
def test_description_of_invisible_characters_is_no_description() -> None:
    found = judge('name: pdf\ndescription: "\\u200b"\n')
    assert (found.manifest, [problem.code for problem in found.problems][-1]) == (None, "description-missing")


@pytest.mark.requirement("R15")
def test_workspace_profile_says_which_fields_are_missing() -> None:
    """S2."""
    found = judge("name: pdf\n", reading=PROFILES["workspace"].reading)
    assert found.manifest is None
    assert found.problems[0].message == "missing required frontmatter fields: description"


@pytest.mark.requirement("R2")
def test_empty_frontmatter_gives_both_errors() -> None:
    """A10."""
    found = judge("", reading=STRICT_READING)
    assert places(found.problems) == [("name-missing", _E, 2, 1), ("description-missing", _E, 2, 1)]


# Files without frontmatter


@pytest.mark.requirement("R12", "R15", "R16")
@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (MissingDescription.REFUSE, None),
        (MissingDescription.ALLOW, Manifest("pdf", "")),
        (MissingDescription.FIRST_PARAGRAPH, Manifest("pdf", "Fills forms.")),
    ],
)
def test_file_without_frontmatter_is_named_by_its_folder_where_descriptions_may_be_missing(
    choice: MissingDescription, expected: Manifest | None
) -> None:
    found = parse_skill(b"# PDF\n\nFills forms.\n", folder="pdf", reading=Reading(missing_description=choice))
    assert found.manifest == expected
    assert places(found.problems)[0] == ("no-frontmatter", _E if expected is None else _W, 1, 1)


@pytest.mark.requirement("R12")
@pytest.mark.parametrize(
    ("head", "code"),
    [
        (b"---\nname: pdf\n", "frontmatter-unclosed"),
        (b"# T\n---\nname: pdf\ndescription: d\n---\n", "text-before-frontmatter"),
        (b"\xff\xfe-\0", "utf-16"),
        (b"---\nname: \xe9\n---\n", "not-utf-8"),
    ],
)
@pytest.mark.parametrize("choice", list(MissingDescription))
def test_damaged_frontmatter_is_refused_whatever_may_be_missing(
    choice: MissingDescription, head: bytes, code: str
) -> None:
    found = parse_skill(head, folder="pdf", reading=Reading(missing_description=choice))
    assert (found.manifest, [problem.code for problem in found.problems]) == (None, [code])


# Places


@pytest.mark.requirement("J4")
def test_places_are_those_of_the_file_whatever_comes_before_the_fence() -> None:
    head = b"\xef\xbb\xbf\r\n\r\n---\r\nname: pdf\r\ndescription: d\r\nlicense: [a]\r\n---\r\n"
    found = parse_skill(head, folder="pdf", reading=STANDARD)
    assert places(found.problems) == [("blank-lines-first", _W, 1, 1), ("field-not-text", _W, 6, 1)]


@pytest.mark.requirement("R12", "R15")
@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"# none\n", "does not begin with a line ---"),
        (b"---\nname: pdf\n", "not properly closed"),
        (b"---\nname: pdf\ndescription: [invalid yaml\n---\n", "YAML parse error"),
        (b"---\nname: INVALID_NAME\ndescription: d\n---\n", "'INVALID_NAME'"),
        (b"---\nname: pdf\n---\n", "missing required frontmatter fields: description"),
        (b"---\nname: other\ndescription: d\n---\n", "the name 'other' differs from its folder 'pdf'"),
    ],
)
def test_refusals_of_the_three_tier_profile_say_what_is_wrong(head: bytes, words: str) -> None:
    """A16 to A21."""
    found = parse_skill(head, folder="pdf", reading=PROFILES["agent-base"].reading)
    assert found.manifest is None
    assert any(words in problem.message for problem in found.problems)


@pytest.mark.requirement("R12")
@pytest.mark.parametrize(
    ("head", "description"),
    [
        pytest.param(b"---\r\nname: pdf\r\ndescription: d\r\n---\r\nB\r\n", "d", id="A15"),
        pytest.param(b"---\nname: pdf\ndescription: d\n---", "d", id="A22"),
        pytest.param(b"\n---\nname: pdf\ndescription: d\n---\n", "d", id="A23"),
        pytest.param(b'---\nname: pdf\ndescription: "a: b"\n---\n', "a: b", id="A24"),
    ],
)
def test_unusual_but_good_files_are_read_by_the_three_tier_profile(head: bytes, description: str) -> None:
    manifest = parse_skill(head, folder="pdf", reading=PROFILES["agent-base"].reading).manifest
    assert manifest is not None
    assert manifest.description == description


@pytest.mark.requirement("R7")
def test_fault_in_metadata_as_json_text_is_placed_at_metadata() -> None:
    assert [place[2:] for place in places(judge(f"{_GOOD}metadata: '{{\"a\": [1]}}'\n").problems)] == [(4, 1)]


@pytest.mark.requirement("R13")
def test_every_problem_with_a_line_has_a_column() -> None:
    found = judge("name: pdf\ndescription: a: b\n", reading=PROFILES["workspace"].reading)
    assert all(problem.column for problem in found.problems)


# What could deceive


@pytest.mark.requirement("J3")
def test_every_text_that_reaches_a_model_or_a_person_is_clean() -> None:
    manifest = accept(
        f'{_GOOD}when_to_use: "a\\u202eb"\npermissions: ["@read:\\u200b/x"]\nallowed-tools: "Ba\\u200bsh"\n'
    )
    assert "\u202e" not in manifest.behaviour.when_to_use
    assert "\u200b" not in "".join(manifest.behaviour.permissions)
    assert "\u200b" not in "".join(manifest.allowed_tools or ())
