"""What a script declares of itself, by PEP 723, and what is refused."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prowess.execution.packages.script_metadata import (
    MAX_DEPENDENCIES,
    READ_BYTES,
    ScriptMetadata,
    parse_script_metadata,
    satisfies_python,
)
from prowess.skill.problems import Severity, make_problem

pytestmark = pytest.mark.requirement("K9")


def _block(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in ("# /// script", *(f"# {line}" for line in lines), "# ///")).encode()


def _declaring(*dependencies: str) -> bytes:
    return _block("dependencies = [", *(f"  '{dependency}'," for dependency in dependencies), "]")


def _found(source: bytes) -> list[tuple[str, int | None]]:
    """Return the codes and lines of the Problems, when nothing else is returned."""
    metadata, problems = parse_script_metadata(source)
    assert metadata is None
    return [(problem.code, problem.line) for problem in problems]


def test_script_says_which_packages_and_which_python_it_needs() -> None:
    source = b"#!/usr/bin/env python3\n" + _block(
        'requires-python = " >=3.11 "',
        "dependencies = [",
        '  "requests<3",  # for the network',
        '  " rich ",',
        '  "requests<3",',
        "]",
    )
    assert parse_script_metadata(source + b"print()\n") == (ScriptMetadata(("requests<3", "rich"), ">=3.11"), ())


def test_other_keys_are_named_and_not_obeyed() -> None:
    source = _block("other = 1", "[tool.uv]", 'index-url = "http://evil"', "[tool.uv.sources]", "[tool.ruff]", "x = 1")
    assert parse_script_metadata(source) == (ScriptMetadata(ignored=("other", "tool.uv", "tool.ruff")), ())


def test_ignored_keys_are_bounded_and_printable() -> None:
    metadata, _ = parse_script_metadata(_block(*(f'"k{n}\\u001b" = 1' for n in range(30))))
    assert metadata is not None
    assert metadata.ignored == (*(f"k{n}\\x1b" for n in range(20)), "and 10 more")


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"print('hello')\n",
        b"\xff\xfe\x00 not text at all",
        b"# /// script\n# dependencies = []\n",  # Not closed.
        b"# /// script\n# dependencies = []\n\n# ///\n",  # Closed too late.
        b"# /// script\n#dependencies = []\n# ///\n",  # No blank after the sign.
        b" # /// script\n # dependencies = []\n # ///\n",
        b"# /// script \n# dependencies = []\n# ///\n",
        b"#/// script\n# dependencies = []\n# ///\n",
        b"# /// Script\n# dependencies = []\n# ///\n",
        b"# /// pyproject\n# dependencies = ['-x']\n# ///\n",
        b"# /// other\n# x = '''\n# /// script\n# ///\n# '''\n# ///\n",  # Inside a block of another type.
        b"# /// script\n# dependencies = []\n# /// \n",
    ],
)
def test_script_without_a_block_declares_nothing(source: bytes) -> None:
    assert parse_script_metadata(source) == (None, ())


@pytest.mark.parametrize(
    ("source", "dependencies"),
    [
        (b"# /// script\n# ///\n", ()),
        (b"# /// script\n#\n# dependencies = ['a']\n#\n# ///", ("a",)),
        (b"\xef\xbb\xbf# /// script\r\n# dependencies = ['a']\r\n# ///\r\n", ("a",)),
        (b"# /// script\r# dependencies = ['a']\r# ///\r", ("a",)),
        (b"# /// script\n# x = 1\n\n# /// script\n# dependencies = ['a']\n# ///\n", ("a",)),  # The first is not closed.
        (b"# /// other\n# ???\n# ///\n\n# /// script\n# dependencies = ['a']\n# ///\n", ("a",)),
        (b"\xff\xfe\n# /// script\n# dependencies = ['a']\n# ///\n", ("a",)),
        (b"# /// script\n# dependencies = ['a']\n# ///\n#!not of the block\n# ///\n", ("a",)),
    ],
)
def test_block_is_found_by_the_rules_of_the_standard(source: bytes, dependencies: tuple[str, ...]) -> None:
    metadata, problems = parse_script_metadata(source)
    assert (metadata and metadata.dependencies, problems) == (dependencies, ())


def test_block_ends_at_the_last_end_before_other_lines() -> None:
    source = (
        b"# /// script\n# x = '''\n# /// <summary>\n# /// text\n# ///\n# '''\n# dependencies = ['a']\n# ///\nx = 1\n"
    )
    assert parse_script_metadata(source) == (ScriptMetadata(("a",), ignored=("x",)), ())


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (_block("a = 1") + b"\n" + _block("a = 1"), 5),
        (_block("a = 1") + _block("a = 1"), 3),  # One block, by the rules, whose content is not TOML.
        (b"x = 1\n" + _block("dependencies = [", "  ?", "]"), 4),
        (_block("dependencies = ["), 2),
        (_block("a = 1", "a = 2"), 3),
        (_block("x = " + "1" * 5000), 2),
        (_block("x = " + "[" * 50_000), 2),
        (_block("a = 1", "a" + ".a" * 600 + " = 1"), 3),
        (b"# /// script\n# a = 1\n# b = '\xff'\n# ///\n", 3),
        (_block("dependencies = 'a'"), None),
        (_block("dependencies = {a = 1}"), None),
        (_block("dependencies = ['a', 1]"), None),
        (_block("dependencies = [['a']]"), None),
        (_declaring(*(f"a{n}" for n in range(MAX_DEPENDENCIES + 1))), None),
        (_block("requires-python = 3.11"), None),
        (_block("requires-python = '''>=3.11", ",<4'''"), None),
        (_block(f"requires-python = '{'>' * 300}'"), None),
        (_block("x = '" + "x" * 140_000 + "'"), 2),
        (b"x\n# /// script\n" + b"# x\n" * (READ_BYTES // 4) + b"# ///\n", 2),
    ],
)
def test_block_that_cannot_be_used_is_a_problem_with_its_line(source: bytes, line: int | None) -> None:
    assert _found(source) == [("script-metadata-bad", line)]


def test_problem_names_the_line_and_the_fault() -> None:
    _, problems = parse_script_metadata(b"# /// script\n# a = ?\n# ///\n")
    assert problems == (make_problem("script-metadata-bad", "the block is not TOML: Invalid value", line=2),)
    assert problems[0].severity is Severity.WARNING


def test_what_lies_beyond_the_bound_is_not_looked_at() -> None:
    assert parse_script_metadata(b"x" * READ_BYTES + b"\n" + _declaring("a")) == (None, ())


@pytest.mark.parametrize(
    "dependency",
    [
        "requests",
        "A.b_c-d",
        "requests[socks]",
        "requests[ socks , use_chardet_on_py3 ] >= 2.31 , < 3",
        "requests[]",
        "requests (>=2.31,<3)",
        "requests==2.*",
        "requests~=2.31.0",
        "requests===2.31+local.1",
        "requests!=1!2.0rc1",
        'requests; python_version < "3.12"',
        'requests>=2 ; (os_name == "posix" and sys_platform != "darwin") or extra == "x"',
        'requests; "linux" in sys_platform',
        'requests; sys_platform not in "win32, cygwin"',
        'requests; ((python_full_version >= "3.11.2"))',
    ],
)
def test_package_by_name_with_extras_versions_and_marker_is_taken(dependency: str) -> None:
    source = _block("dependencies = ['''" + dependency + "''']")
    assert parse_script_metadata(source) == (ScriptMetadata((dependency,)), ())


@pytest.mark.parametrize(
    ("dependency", "why"),
    [
        ("evil @ https://example.org/evil.whl", "an address or a path"),
        ("evil@https://example.org/evil.whl", "an address or a path"),
        ("evil @ file:///etc", "an address or a path"),
        ("https://example.org/evil.whl", "an address or a path"),
        ("git+https://example.org/evil", "an address or a path"),
        ("./evil", "an address or a path"),
        ("../evil.whl", "an address or a path"),
        ("/etc/evil", "an address or a path"),
        ("C:\\\\evil", "an address or a path"),
        ("-r evil.txt", "an option"),
        ("-e .", "an option"),
        ("--index-url=https://example.org", "an option"),
        ("requests --index-url https://example.org", "an address or a path"),
        ("requests --pre", "not a package's name"),
        ("requests --hash=sha256:00", "an address or a path"),
        ("requests # evil", "not a package's name"),
        ("requests \\\\", "an address or a path"),
        ("", "not a package's name"),
        ("requests 2.0", "not a package's name"),
        ("requests>=", "not a package's name"),
        ("requests=2", "not a package's name"),
        ("requests[", "not a package's name"),
        ("_requests", "not a package's name"),
        ("requests-", "not a package's name"),
        ("réquests", "not a package's name"),
        ("${HOME}", "not a package's name"),
        ("requests\\n-r evil.txt", "line breaks or control"),
        ("requests\\n", "line breaks or control"),
        ("requests\\r", "line breaks or control"),
        ("req\\u0000uests", "line breaks or control"),
        ("requests\\u007f", "line breaks or control"),
        ("a" * 501, "longer than 500"),
        ("requests;", "not a marker"),
        ("requests; evil", "not a marker"),
        ("requests; os_name", "not a marker"),
        ("requests; os_name == 'a' and", "not a marker"),
        ("requests; os_name == 'a' os_name == 'a'", "not a marker"),
        ("requests; (os_name == 'a'", "not a marker"),
        ("requests; os_name == 'a')", "not a marker"),
        ("requests; ()", "not a marker"),
        ("requests; os_name == 'a #b'", "not a marker"),
        ("requests; os_name == '${HOME}'", "not a marker"),
        ("requests; os_name == 'a' @ https://example.org", "not a marker"),
    ],
)
def test_dependency_that_is_more_than_a_package_by_name_is_refused(dependency: str, why: str) -> None:
    metadata, problems = parse_script_metadata(_block("dependencies = [", "  'fine',", f'  "{dependency}",', "]"))
    assert (metadata, [problem.code for problem in problems]) == (None, ["dependency-refused"])
    assert why in problems[0].message
    assert problems[0].message.isprintable()


def test_each_refused_dependency_is_a_problem_at_its_line() -> None:
    assert _found(_declaring("fine", "-r x", "ok", "./y")) == [("dependency-refused", 4), ("dependency-refused", 6)]


def test_as_many_dependencies_as_are_allowed_are_taken() -> None:
    names = tuple(f"package-{n}" for n in range(MAX_DEPENDENCIES))
    assert parse_script_metadata(_declaring(*names)) == (ScriptMetadata(names), ())


@pytest.mark.parametrize(
    "line",
    ["a" + ".a" * 400 + " = 1", "[" + "a." * 400 + "a]", "x = " + "[" * 400 + "]" * 400, "x = '''" + "'" * 400],
)
def test_hostile_block_is_read_in_bounded_time(line: str) -> None:
    source = _block(*([line] * (100_000 // len(line))))
    start = time.process_time()
    parse_script_metadata(source)
    assert time.process_time() - start < 5


@given(st.binary(max_size=300))
@example(b"# /// script\n# ///")
def test_any_bytes_give_metadata_or_problems(content: bytes) -> None:
    for source in (content, b"# /// script\n# " + content + b"\n# ///\n"):
        metadata, problems = parse_script_metadata(source)
        assert metadata is None or problems == ()


_PIECES = [
    "b",
    "-",
    "[x]",
    " ",
    ">=1",
    ",",
    "==2.*",
    ";os_name == 'a'",
    " or 'b' in extra",
    "@",
    "/",
    "\\",
    "#",
    "$",
    "\n",
]
_NEARLY = st.builds(str.__add__, st.sampled_from(["a", "Z.9", "-r"]), st.lists(st.sampled_from(_PIECES)).map("".join))


@settings(max_examples=500)  # Few of them are taken.
@given(st.text(max_size=60) | _NEARLY)
def test_dependency_that_is_taken_is_one_line_without_options(text: str) -> None:
    quoted = "".join(f"\\U{ord(character):08x}" for character in text if not "\ud800" <= character <= "\udfff")
    metadata, _ = parse_script_metadata(_block(f'dependencies = ["{quoted}"]'))
    for dependency in metadata.dependencies if metadata else ():
        assert dependency[0].isalnum()
        assert dependency.isascii()
        assert not set(dependency) & set("\r\n\\/@#$")


@pytest.mark.parametrize(
    ("requires", "version", "is_met"),
    [
        ("", (3, 11, 2), True),
        (">=3.11", (3, 11, 2), True),
        (">=3.12", (3, 11, 2), False),
        (">=3.10,<3.12", (3, 11, 2), True),
        ("==3.11.*", (3, 11, 2), True),
        ("~=3.11", (3, 13, 0), True),
        ("!=3.11.2", (3, 11, 2), False),
        ("python3", (3, 11, 2), False),
    ],
)
def test_python_is_compared_with_what_the_script_requires(
    requires: str, version: tuple[int, ...], *, is_met: bool
) -> None:
    assert satisfies_python(requires, version) == is_met
