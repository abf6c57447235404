"""What holds for all rules and all lines; and that real shells run what we have read, and nothing else."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from prowess.execution.rules.shell_words import split_commands
from prowess.execution.rules.tool_rules import (
    Covered,
    covers,
    covers_all,
    covers_script,
    find_prohibition,
    find_script_prohibition,
)

pytestmark = pytest.mark.slow

_SHELLS = ["/bin/sh", *filter(None, [shutil.which("bash")])]
_SIGNS = "\t ;&|<>(){}$`!*?['\"\\#~=:^%@+,.-/]\n\r\0\x07\x1b\xa0é"

_NAMES = st.sampled_from(["git", "npm", "ls", "rm"])
_WORDS = st.sampled_from(
    ["log", "run", "test", "-a", "src/a.py", "../b", "a b", "it's", "$x", "*", ";", "", "é", "x=1"]
)
_COMMANDS = st.tuples(_NAMES, st.lists(_WORDS, max_size=3)).map(lambda drawn: (drawn[0], *drawn[1]))
_RULES = st.sampled_from(
    [
        *("Bash(git:*)", "Bash(git log:*)", "Bash(git log *)", "Bash(npm run test)", "Bash(npm * test)", "Bash(ls **)"),
        *("Bash(ls)", "Bash(rm -a)", "Bash(git log src/*.py)", "Read", "Bash()", "Bash(* log)", "Bash", "*"),
        *("Bash(scripts/x.py:*)", "Bash(git scripts/*.py *)", "run_skill_script(scripts/*)", "run_skill_script"),
    ]
)
_RULE_LISTS = st.lists(_RULES, max_size=4)
_LIMITED_LISTS = st.lists(_RULES.filter(lambda rule: "(" in rule), max_size=4)

_SEPARATORS = st.sampled_from([";", "&&", "||", "|", "|&", "&", "\n", " ; ", " && ", " || ", " | ", " & ", "\n\n"])
_INJECTIONS = st.one_of(
    st.builds("{}{}".format, _SEPARATORS, st.sampled_from(["rm x", "rm", "git log", "", "eval rm", "A=b rm"])),
    st.sampled_from(
        ["$(rm)", "`rm`", "> rm", "< rm", "<(rm)", "'", '"', "\\", "\\\n", "\0", "\r", "\x1b", "#", "!", "~"]
    ),
    st.text(st.sampled_from(_SIGNS + "rm"), max_size=4),
)


@st.composite
def _spoiled_lines(draw: st.DrawFn) -> str:
    """Lines of good commands into which something was put, anywhere."""
    line = draw(_COMMANDS.map(shlex.join) | _COMMANDS.map(" ".join))
    for injection in draw(st.lists(_INJECTIONS, min_size=1, max_size=2)):
        place = draw(st.integers(0, len(line)))
        line = line[:place] + injection + line[place:]
    return line


def _is_covered(rules: Sequence[str], line: str) -> bool:
    return isinstance(covers(rules, "Bash", line), Covered)


@given(st.text(st.sampled_from(_SIGNS + "ab") | st.integers(0, 0x10FFFF).map(chr), max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    commands = split_commands(text)
    assert commands is None or (commands and all(command and command[0] for command in commands))


@given(_NAMES, st.lists(st.text(st.sampled_from(_SIGNS.translate({ord(c): None for c in "\r\0\x07\x1b\xa0"}) + "ab"))))
def test_words_that_were_joined_are_found_again(name: str, words: list[str]) -> None:
    assert split_commands(shlex.join([name, *words])) == ((name, *words),)


@pytest.mark.requirement("R98", "K2")
@settings(max_examples=500)
@given(_LIMITED_LISTS, _spoiled_lines())
def test_line_is_covered_only_if_each_of_its_commands_is(rules: list[str], line: str) -> None:
    commands = split_commands(line)
    each = commands is not None and all(_is_covered(rules, shlex.join(command)) for command in commands)
    assert _is_covered(rules, line) == each


@pytest.mark.requirement("R98", "K2")
@settings(max_examples=500)
@given(_spoiled_lines())
@example("git log\\\n; rm x")
@example("git 'log\n' ; rm x")
@example("git log 'a'\\'' ; rm x'")
def test_rule_for_one_program_never_covers_a_line_with_another(line: str) -> None:
    commands = split_commands(line)
    only_git = commands is not None and {command[0] for command in commands} == {"git"}
    assert _is_covered(["Bash(git:*)"], line) == only_git


@given(_LIMITED_LISTS, _COMMANDS)
def test_quoting_a_covered_command_leaves_it_covered(rules: list[str], command: tuple[str, ...]) -> None:
    plain = " ".join(command)
    assume(split_commands(plain) == (tuple(plain.split()),))
    assert _is_covered(rules, shlex.join(plain.split())) == _is_covered(rules, plain)


@pytest.mark.requirement("K2")
@settings(max_examples=300)
@given(_RULE_LISTS, _RULES, st.integers(0, 4), _COMMANDS.map(shlex.join) | _spoiled_lines())
def test_another_rule_never_covers_less_and_one_rule_less_never_covers_more(
    rules: list[str], rule: str, place: int, line: str
) -> None:
    more = [*rules[:place], rule, *rules[place:]]
    assert _is_covered(rules, line) <= _is_covered(more, line)


@pytest.mark.requirement("K2")
@given(_RULE_LISTS, _RULES, st.sampled_from(["scripts/x.py", "x.py", "../x.py"]), st.lists(_WORDS, max_size=2))
def test_another_rule_never_covers_fewer_scripts(
    rules: list[str], rule: str, script: str, arguments: list[str]
) -> None:
    fewer, more = (
        isinstance(covers_script(some, interpreters=("git",), script=script, arguments=arguments), Covered)
        for some in (rules, [rule, *rules])
    )
    assert fewer <= more


@pytest.mark.requirement("K2")
@given(st.lists(_RULE_LISTS, max_size=3), _COMMANDS.map(shlex.join))
def test_sets_together_cover_what_each_of_them_covers(sets: list[list[str]], line: str) -> None:
    together = isinstance(covers_all(sets, "Bash", line), Covered)
    assert together == all(_is_covered(rules, line) for rules in sets)


@settings(max_examples=500)
@given(
    st.text(st.sampled_from("ab/"), max_size=8),
    st.lists(st.sampled_from(["a", "b", "*", "**", "/", "**/", "/**/"]), max_size=5).map("".join),
)
@example("aa/b", "a*/**/b")
@example("b", "**/**/b")
def test_stars_mean_what_a_slow_and_simple_reading_says(text: str, pattern: str) -> None:
    covered = isinstance(covers([f"Bash(git /{pattern})"], "Bash", f"git /{text}"), Covered)
    assert covered == _matches_slowly(f"/{pattern}", f"/{text}", start=True)


def _matches_slowly(pattern: str, text: str, *, start: bool) -> bool:
    if not pattern:
        return not text
    if start and pattern.startswith("**/") and _matches_slowly(pattern[3:], text, start=True):
        return True
    if pattern.startswith("**"):
        rest = pattern.lstrip("*")
        return any(_matches_slowly(rest, text[cut:], start=False) for cut in range(len(text) + 1))
    if pattern[0] == "*":
        ends = text.find("/") if "/" in text else len(text)
        return any(_matches_slowly(pattern[1:], text[cut:], start=False) for cut in range(ends + 1))
    return text[:1] == pattern[0] and _matches_slowly(pattern[1:], text[1:], start=pattern[0] == "/")


class _Stubs:
    """A folder of programs that note how they were started, and nothing else on the search path."""

    def __init__(self, folder: Path) -> None:
        self._programs = folder / "programs"
        self._programs.mkdir()
        self._notes = folder / "notes"

    def add(self, name: str) -> None:
        stub = self._programs / name
        if not stub.exists():
            stub.write_text('#!/bin/sh\nprintf "%s\\0" "$#" "${0##*/}" "$@" >>"$NOTES"\nexit "$STATUS"\n', "utf-8")
            stub.chmod(0o755)

    def run(self, shell: str, line: str, *, status: int) -> Counter[tuple[str, ...]]:
        """Return which commands a shell has run for a line, all of them ending with the status."""
        self._notes.write_bytes(b"")
        environment = {
            "PATH": str(self._programs),
            "NOTES": str(self._notes),
            "STATUS": str(status),
            "LC_ALL": "C.UTF-8",
        }
        # Commands in the background hold the pipes open, so that this waits for them too.
        subprocess.run(
            [shell, "-c", line],
            env=environment,
            cwd=self._programs,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return Counter(_read_notes(os.fsdecode(self._notes.read_bytes()).split("\0")[:-1]))


def _read_notes(texts: list[str]) -> Iterator[tuple[str, ...]]:
    while texts:
        end = int(texts[0]) + 2
        yield tuple(texts[1:end])
        texts = texts[end:]


@pytest.fixture(scope="module")
def stubs() -> Iterator[_Stubs]:
    with tempfile.TemporaryDirectory() as folder:
        yield _Stubs(Path(folder))


_RAW_PIECES = st.one_of(
    st.text(st.sampled_from("aqz2é,%+@-:/]^#~=."), min_size=1, max_size=3),
    st.text(st.sampled_from('aq $`!*?[]{}()<>;&|\\#~"\n\té'), max_size=4).map(lambda inner: f"'{inner}'"),
    st.text(st.sampled_from("aq *?[]{}()<>;&|#~'\n\té"), max_size=4).map(lambda inner: f'"{inner}"'),
    st.sampled_from(['"\\""', '"\\\\"', "'\\'"]),
    st.sampled_from("aq $`!*?[]{}()<>;&|\\#~'\"").map(lambda char: f"\\{char}"),
)
_RAW_WORDS = st.lists(_RAW_PIECES, min_size=1, max_size=3).map("".join)
_RAW_NAMES = st.sampled_from(["a", "q", "za", "'a'q", '"q"', "\\a", "é"]) | _RAW_WORDS
_RAW_COMMANDS = st.tuples(st.sampled_from([" ", "\t", "  "]), _RAW_NAMES, st.lists(_RAW_WORDS, max_size=3)).map(
    lambda drawn: drawn[0].join([drawn[1], *drawn[2]])
)
_RAW_TAILS = st.lists(st.tuples(_SEPARATORS, _RAW_COMMANDS).map("".join), max_size=3).map("".join)
_RAW_LINES = st.tuples(_RAW_COMMANDS, _RAW_TAILS, st.sampled_from(["", ";", " &", "\n"])).map("".join)
_RAW_NOISE = st.tuples(_RAW_LINES, st.integers(0, 40), st.sampled_from([*_SIGNS, "''", '""', "\\\n"])).map(
    lambda drawn: drawn[0][: drawn[1]] + drawn[2] + drawn[0][drawn[1] :]
)
_NOT_PROGRAMS = frozenset({":", "..", "["})
"""Names that a shell knows itself, or that no file can have."""


def _can_be_tried(line: str, commands: Sequence[Sequence[str]]) -> bool:
    names = [command[0] for command in commands]
    # Only bash knows `|&`.
    return "|&" not in line and not any("/" in name or "\n" in name or name in _NOT_PROGRAMS for name in names)


@pytest.mark.slow
@pytest.mark.requirement("R98", "K2")
@pytest.mark.parametrize("shell", _SHELLS)
@settings(max_examples=400)
@given(_RAW_LINES | _RAW_NOISE)
@example("a 'x\ny' && q z || a\nq | za &")
@example("a ''\\~ '#'q \"\\\\\" =~ a=z:q")
@example("a HEAD~1 a^ a#q %1 --a=q")
@example("q &&\n\n a |\n za")
def test_shell_runs_the_commands_that_were_read_and_no_others(shell: str, stubs: _Stubs, line: str) -> None:
    commands = split_commands(line)
    assume(commands is not None and _can_be_tried(line, commands))
    assert commands is not None
    for command in commands:
        stubs.add(command[0])
    expected = Counter(commands)
    succeeded, failed = (stubs.run(shell, line, status=status) for status in (0, 1))
    if "&&" not in line and "||" not in line:
        assert (succeeded, failed) == (expected, expected)
    # What follows `&&` runs where all succeed, what follows `||` where all fail, the rest in both rounds.
    assert succeeded <= expected
    assert failed <= expected
    assert expected <= succeeded + failed


@pytest.mark.slow
@pytest.mark.parametrize("shell", [shell for shell in _SHELLS if shell.endswith("bash")])
def test_bash_joins_commands_by_a_pipe_for_both_streams(shell: str, stubs: _Stubs) -> None:
    for name in ("a", "q"):
        stubs.add(name)
    assert stubs.run(shell, "a 1 |& q 2", status=0) == Counter(split_commands("a 1 |& q 2"))


@pytest.mark.slow
@pytest.mark.requirement("R98", "K2")
@pytest.mark.parametrize("shell", _SHELLS)
@settings(max_examples=1_500)
@given(_spoiled_lines())
def test_covered_line_starts_no_program_that_no_rule_names(shell: str, stubs: _Stubs, line: str) -> None:
    if not _is_covered(["Bash(git:*)", "Bash(ls:*)"], line):
        return
    for name in ("git", "ls", "rm", "npm"):
        stubs.add(name)
    ran = stubs.run(shell, line, status=0) | stubs.run(shell, line, status=1)
    assert {command[0] for command in ran} <= {"git", "ls"}


@settings(max_examples=1_000)  # Few of them are covered.
@given(_RULES, st.lists(_COMMANDS, min_size=1, max_size=3), _SEPARATORS)
def test_whatever_a_rule_covers_it_also_forbids(rule: str, commands: list[tuple[str, ...]], separator: str) -> None:
    line = separator.join(map(shlex.join, commands))
    if _is_covered([rule], line):
        assert find_prohibition([rule], "Bash", line) == rule


@settings(max_examples=300)
@given(_RULES, st.lists(_WORDS, max_size=2))
def test_script_that_a_rule_covers_it_also_forbids(rule: str, arguments: list[str]) -> None:
    if isinstance(covers_script([rule], interpreters=("git",), script="scripts/x.py", arguments=arguments), Covered):
        found = find_script_prohibition([rule], interpreters=("git",), script="scripts/x.py", arguments=arguments)
        assert found == rule
