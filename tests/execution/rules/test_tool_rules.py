"""Rules for tools: which calls they cover, and which they do not."""

from collections.abc import Sequence

import pytest

from prowess.execution.rules.tool_rules import (
    MAX_RULE_LENGTH,
    Covered,
    ToolRule,
    Uncovered,
    covers,
    covers_all,
    covers_script,
    covers_script_all,
    find_prohibition,
    find_script_prohibition,
    parse_rule,
)
from prowess.skill.tool_patterns import parse_tool_patterns

_UNREADABLE = Uncovered("the line is more than plain commands, and only a rule without a restriction covers such")


def _is_covered(rule: str, tool: str, subject: str, workspace: str = "/work") -> bool:
    return covers([rule], tool, subject, workspace=workspace) == Covered(rule)


def _runs(rules: Sequence[str], script: str = "scripts/x.py", *arguments: str) -> Covered | Uncovered:
    return covers_script(rules, interpreters=("python", "python3"), script=script, arguments=arguments)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Read", ToolRule("Read", "Read")),
        ("Bash(git:*)", ToolRule("Bash(git:*)", "Bash", "git:*")),
        (" Bash( git log ) ", ToolRule("Bash( git log )", "Bash", "git log")),
        ("Bash(echo (a))", ToolRule("Bash(echo (a))", "Bash", "echo (a)")),
        ("Bash()", ToolRule("Bash()", "Bash", "")),
        ("mcp__github__*", ToolRule("mcp__github__*", "mcp__github__*")),
        ("*", ToolRule("*", "*")),
        ("", None),
        ("Bash(git", None),
        ("(git)", None),
        ("Read Write", None),
        ("R" * MAX_RULE_LENGTH, ToolRule("R" * MAX_RULE_LENGTH, "R" * MAX_RULE_LENGTH)),
        ("R" * (MAX_RULE_LENGTH + 1), None),
    ],
)
def test_rule_is_a_name_with_or_without_a_specifier(text: str, rule: ToolRule | None) -> None:
    assert parse_rule(text) == rule


@pytest.mark.requirement("R98")
@pytest.mark.parametrize(
    ("rule", "tool", "covered"),
    [
        ("Read", "Read", True),
        ("Read", "read", True),
        ("READ", "Read", True),
        ("Read", "ReadAll", False),
        ("Re*", "Read", False),
        ("*", "Anything", True),
        ("mcp__github__*", "mcp__github__list_issues", True),
        ("mcp__github__get_*", "mcp__github__get_issue", True),
        ("mcp__github__get_*", "mcp__github__list_issues", False),
        ("mcp__github__*", "mcp__gitlab__list", False),
        ("mcp__github__*", "mcp__github", False),
        ("mcp__*", "Bash", False),
        ("mcp__*__list", "mcp__github__list", False),
        ("Bash(git", "Bash(git", False),
    ],
)
def test_names_are_compared_without_case_and_stars_stand_only_where_they_may(
    rule: str, tool: str, covered: bool
) -> None:
    verdict = Covered(rule) if covered else Uncovered(f"no rule is for the tool '{tool}'")
    assert covers([rule], tool) == verdict


@pytest.mark.requirement("R98", "K2")
@pytest.mark.parametrize(
    ("rule", "line", "covered"),
    [
        ("Bash(git:*)", "git", True),
        ("Bash(git:*)", "git log --oneline", True),
        ("Bash(git:*)", "git add ../x '*'", True),
        ("Bash(git:*)", "gitfoo", False),
        ("Bash(git:*)", "./git", False),
        ("Bash(git:*)", "Git status", False),
        ("Bash(git:*)", "git log; git status && git diff", True),
        ("Bash(git:*)", "git log; rm x", False),
        ("Bash(git :*)", "git log", True),
        ("Bash(npm run test:*)", "npm run test", True),
        ("Bash(npm run test:*)", "npm run test --watch", True),
        ("Bash(npm run test:*)", "npm run test:unit", False),
        ("Bash(npm run test:*)", "npm run", False),
        ("Bash(python scripts/*.py:*)", "python scripts/a.py 1 2", True),
        ("Bash(python scripts/*.py)", "python scripts/a.py", True),
        ("Bash(python scripts/*.py)", "python 'scripts/a.py'", True),
        ("Bash(python scripts/*.py)", "python scripts/a.py 1", False),
        ("Bash(python scripts/*.py)", "python scripts/deep/a.py", False),
        ("Bash(python scripts/*.py)", "python scripts/../a.py", False),
        ("Bash(python scripts/**.py)", "python scripts/deep/a.py", True),
        ("Bash(python scripts/**/a.py)", "python scripts/a.py", True),
        ("Bash(python scripts/**/a.py)", "python scripts/very/deep/a.py", True),
        ("Bash(python scripts/**/a.py)", "python scripts/aa.py", False),
        ("Bash(python scripts/**.py)", "python scripts/../a.py", False),
        ("Bash(python --in=**)", "python --in=../a", False),
        ("Bash(git log *)", "git log", True),
        ("Bash(git log *)", "git log a/b c", True),
        ("Bash(git log *)", "git log main..dev", True),
        ("Bash(git log *)", "git log ../b", False),
        ("Bash(git * --stat)", "git diff --stat", True),
        ("Bash(git * --stat)", "git --stat", False),
        ("Bash(git * --stat)", "git diff x --stat", False),
        ("Bash(ls ..)", "ls ..", True),
        ("Bash(git status)", "git status", True),
        ("Bash(git status)", "git status -s", False),
        ("Bash(git status)", "git", False),
        ("Bash()", "git", False),
        ("Bash(git:*)", "", False),
        ("*(git:*)", "git log", True),
    ],
)
def test_pattern_covers_commands_word_by_word(rule: str, line: str, covered: bool) -> None:
    assert _is_covered(rule, "Bash", line) == covered


@pytest.mark.requirement("K2")
@pytest.mark.parametrize("rule", ["Bash", "Bash(*)", "Bash(:*)", "*"])
def test_line_that_cannot_be_read_needs_a_rule_without_a_restriction(rule: str) -> None:
    assert covers(["Bash(git:*)"], "Bash", "git log $(rm x)") == _UNREADABLE
    assert covers(["Bash(git:*)", rule], "Bash", "git log $(rm x)") == Covered(rule)


def test_each_command_of_a_line_may_be_covered_by_another_rule() -> None:
    rules = ["Bash(git:*)", "Bash(npm test)", "Bash(ls)"]
    assert covers(rules, "Bash", "npm test && git add . && git commit") == Covered("Bash(npm test), Bash(git:*)")
    assert covers(rules, "Bash", "git log | sh") == Uncovered("no rule covers the command 'sh'")


def test_rule_for_one_shell_tool_is_not_for_another() -> None:
    assert covers(["run_shell_command(git:*)"], "run_shell_command", "git log") == Covered("run_shell_command(git:*)")
    assert covers(["run_shell_command(git:*)"], "Bash", "git log") == Uncovered("no rule is for the tool 'Bash'")


@pytest.mark.parametrize(
    ("rule", "line", "covered"),
    [
        ("PowerShell(git status)", "git status", True),
        ("PowerShell(git *)", "git status", False),
        ("PowerShell(git:*)", "git status; Remove-Item x", False),
        ("PowerShell(*)", "git status; Remove-Item x", True),
    ],
)
def test_line_of_a_shell_that_is_not_read_is_covered_only_as_a_whole(rule: str, line: str, covered: bool) -> None:
    assert _is_covered(rule, "PowerShell", line) == covered


def test_reason_shows_no_control_characters_and_is_short() -> None:
    assert covers(["Bash(git:*)"], "Bash", "'a\nb'") == Uncovered(r"no rule covers the command 'a\nb'")
    shown = "x" * 120 + "…"
    assert covers(["Bash(git:*)"], "Bash", "x" * 5_000) == Uncovered(f"no rule covers the command '{shown}'")


@pytest.mark.requirement("R98", "K2")
@pytest.mark.parametrize(
    ("rule", "path", "covered"),
    [
        ("Read", "/etc/passwd", True),
        ("Read", "../../x", True),
        ("Read(src/*)", "src/a.py", True),
        ("Read(src/*)", "./src//a.py", True),
        ("Read(./src/*)", "src/a.py", True),
        ("Read(src/*)", "/work/src/a.py", True),
        ("Read(src/*)", "src/deep/a.py", False),
        ("Read(src/*)", "/elsewhere/src/a.py", False),
        ("Read(src/**)", "src/deep/a.py", True),
        ("Read(src/**)", "src/x/../deep/a.py", True),
        ("Read(src/**)", "src/../secret", False),
        ("Read(src/**)", "src", False),
        ("Read(src/**)", "srcs/a", False),
        ("Read(src/**/*.py)", "src/a.py", True),
        ("Read(src/**/*.py)", "src/x/y/a.py", True),
        ("Read(src/**/*.py)", "src/a.pyc", False),
        ("Read(**/**/a)", "a", True),
        ("Read(**)", "any/file", True),
        ("Read(**)", "../outside", False),
        ("Read(**)", "../work/a", False),
        ("Read(**)", "/work/../etc/passwd", False),
        ("Read(**)", "/workshop/a", False),
        ("Read(**)", "~/.ssh/id", False),
        ("Read(**)", "~root/x", False),
        ("Read(**)", "C:/Windows/x", False),
        ("Read(**)", "a\\..\\..\\x", False),
        ("Read(**)", "", False),
        ("Read(*)", "README.md", True),
        ("Read(*)", "src/a.py", False),
        ("Read(../other/**)", "../other/a", False),
        ("Read(~/notes/**)", "~/notes/a", False),
        ("Read(/etc/*)", "/etc/hosts", True),
        ("Read(//etc/*)", "/etc/hosts", True),
        ("Read(/etc/*)", "//etc/hosts", True),
        ("Read(/etc/*)", "../etc/hosts", True),
        ("Read(/etc/*)", "/etc/../root/x", False),
        ("Read(/work/**)", "src/a.py", True),
        ("Read(/**)", "/any/file", True),
        ("Read(src/?.py)", "src/a.py", False),
        ("Read(src/[ab])", "src/[ab]", True),
        ("Read()", "a", False),
    ],
)
def test_pattern_covers_paths_by_their_text(rule: str, path: str, covered: bool) -> None:
    assert _is_covered(rule, "Read", path) == covered


@pytest.mark.parametrize("rule", ["Read", "*", "Read(**)"])
def test_path_with_a_nul_is_never_covered(rule: str) -> None:
    assert covers([rule], "Read", "a\0b", workspace="/work") == Uncovered("a path cannot hold a NUL")


@pytest.mark.parametrize(
    ("rule", "path", "covered"),
    [
        ("Edit(src/**)", "src/a", True),
        ("Edit(src/**)", "src/../a", False),
        ("Edit(src/**)", "../src/a", False),
        ("Edit(src/**)", "/src/a", False),
        ("Edit(/src/**)", "/src/a", True),
        ("Edit(/src/**)", "src/a", False),
    ],
)
def test_without_a_workspace_relative_and_absolute_paths_never_meet(rule: str, path: str, covered: bool) -> None:
    assert _is_covered(rule, "Edit", path, workspace="") == covered


@pytest.mark.parametrize(("tool", "covered"), [("Grep", True), ("Glob", True), ("LS", True), ("Write", False)])
def test_search_in_a_folder_is_covered_by_a_rule_for_all_that_is_in_it(tool: str, covered: bool) -> None:
    assert _is_covered(f"{tool}(src/**)", tool, "src/") == covered
    assert _is_covered(f"{tool}(src/*)", tool, "src") is False


@pytest.mark.requirement("K2")
@pytest.mark.parametrize(
    ("rule", "address", "covered"),
    [
        ("WebFetch", "ftp://anything", True),
        ("WebFetch(*)", "ftp://anything", True),
        ("WebFetch(domain:*)", "https://any.where", True),
        ("WebFetch(domain:example.com)", "https://example.com", True),
        ("WebFetch(domain:example.com)", "HTTP://Example.COM:8080/a?b=https://x#c", True),
        ("WebFetch(domain:Example.com)", "https://example.com/", True),
        ("WebFetch(domain:example.com)", "https://www.example.com/", False),
        ("WebFetch(domain:example.com)", "https://example.com.evil.net/", False),
        ("WebFetch(domain:example.com)", "https://evil.net/example.com", False),
        ("WebFetch(domain:example.com)", "https://evil.net?example.com", False),
        ("WebFetch(domain:example.com)", "https://example.com@evil.net/", False),
        ("WebFetch(domain:example.com)", "https://evil.net\\@example.com/", False),
        ("WebFetch(domain:example.com)", "https://example.com\\.evil.net/", False),
        ("WebFetch(domain:example.com)", "https://example.com/a b", False),
        ("WebFetch(domain:example.com)", "https://example.com\n.evil.net", False),
        ("WebFetch(domain:example.com)", "ftp://example.com/", False),
        ("WebFetch(domain:example.com)", "example.com", False),
        ("WebFetch(domain:*.example.com)", "https://a.b.example.com/", True),
        ("WebFetch(domain:*.example.com)", "https://example.com/", False),
        ("WebFetch(domain:*.example.com)", "https://evilexample.com/", False),
        ("WebFetch(https://example.com/a)", "https://example.com/a", True),
        ("WebFetch(https://*.example.com/**)", "https://evil.net?.example.com/", False),
    ],
)
def test_address_is_covered_by_its_domain(rule: str, address: str, covered: bool) -> None:
    assert _is_covered(rule, "WebFetch", address) == covered


@pytest.mark.parametrize(
    ("rule", "subject", "covered"),
    [
        ("Skill", "pdf", True),
        ("Skill(*)", "a/b", True),
        ("Skill(pdf)", "pdf", True),
        ("Skill(pdf)", "pdf-fill", False),
        ("Skill(pdf-*)", "pdf-fill", True),
        ("Skill(team/*)", "team/a/b", False),
        ("Skill(team/**)", "team/../b", False),
    ],
)
def test_other_tools_are_covered_by_an_exact_or_starred_subject(rule: str, subject: str, covered: bool) -> None:
    assert _is_covered(rule, "Skill", subject) == covered


@pytest.mark.requirement("R98")
def test_patterns_of_a_skill_are_rules_as_they_are() -> None:
    found = parse_tool_patterns("Read, Bash(git add:*) Bash(python scripts/*.py)")
    assert found is not None
    assert covers(found.patterns, "Bash", "python scripts/a.py && git add .") == Covered(
        "Bash(python scripts/*.py), Bash(git add:*)"
    )
    assert covers(found.patterns, "Write", "a") == Uncovered("no rule is for the tool 'Write'")


@pytest.mark.requirement("R98", "K2")
@pytest.mark.parametrize(
    "rule",
    [
        *("Bash", "Bash(*)", "Shell(:*)", "*"),
        *("Bash(python:*)", "Bash(python3:*)", "Bash(python scripts/*.py a b)", "Bash(python ./scripts/x.py *)"),
        *("Bash(scripts/x.py:*)", "Bash(./scripts/*:*)", "run_shell_command(scripts/x.py *)"),
        *("run_skill_script", "Run_Skill_Script", "run_skill_script(scripts/*.py)", "run_skill_script(**)"),
    ],
)
def test_script_is_covered_in_any_spelling(rule: str) -> None:
    assert _runs([rule], "scripts/x.py", "a", "b") == Covered(rule)
    assert _runs([rule], "./scripts/x.py", "a", "b") == Covered(rule)


@pytest.mark.requirement("R98", "K2")
@pytest.mark.parametrize(
    "rule",
    [
        *("Read", "Bash()", "Bash(node:*)", "Bash(python scripts/x.py)", "Bash(python scripts/y.py:*)", "Bash(x.py:*)"),
        *("run_skill_script(scripts/*.sh)", "run_skill_script(*)", "run_skill_script(/scripts/x.py)", "PowerShell"),
    ],
)
def test_script_that_no_rule_means_is_not_covered(rule: str) -> None:
    assert _runs([rule], "scripts/x.py", "a") == Uncovered("no rule covers running the script 'scripts/x.py'")


def test_arguments_of_a_script_are_words_whatever_they_hold() -> None:
    assert _runs(["Bash(python scripts/x.py *)"], "scripts/x.py", "; rm $(x) > 'y'", "") == Covered(
        "Bash(python scripts/x.py *)"
    )
    assert _runs(["Bash(scripts/x.py:*)"], "scripts/x.py", "a\0\n") == Covered("Bash(scripts/x.py:*)")


@pytest.mark.requirement("K2")
@pytest.mark.parametrize(
    ("rule", "script"),
    [
        ("Bash(git:*)", "git"),
        ("Bash(python -c:*)", "-c"),
        ("Bash(python:*)", "../x.py"),
        ("Bash(python:*)", "/etc/x.py"),
        ("run_skill_script(**)", "scripts/../../x.py"),
        ("run_skill_script(**)", "/etc/x.py"),
    ],
)
def test_script_is_not_taken_for_a_command_or_file_elsewhere(rule: str, script: str) -> None:
    assert _runs([rule], script, "a") == Uncovered(f"no rule covers running the script '{script}'")


@pytest.mark.requirement("K2")
def test_call_must_be_covered_by_every_set() -> None:
    sets = [["Bash(git:*)"], ["Bash(git log:*)", "Read"]]
    assert covers_all(sets, "Bash", "git log") == Covered("Bash(git:*), Bash(git log:*)")
    assert covers_all(sets, "Bash", "git push") == Uncovered("no rule covers the command 'git push'")
    assert covers_all(sets, "Read", "a") == Uncovered("no rule is for the tool 'Read'")
    assert covers_all([["Read(src/*)"]], "Read", "/w/src/a", workspace="/w") == Covered("Read(src/*)")
    assert covers_all([[]], "Read", "a") == Uncovered("no rule is for the tool 'Read'")
    assert covers_all([], "Read", "a") == Covered("")


@pytest.mark.requirement("K2")
def test_script_must_be_covered_by_every_set() -> None:
    def run(*sets: Sequence[str]) -> Covered | Uncovered:
        return covers_script_all(sets, interpreters=("python",), script="scripts/x.py", arguments=())

    assert run(["Bash(python:*)"], ["run_skill_script"]) == Covered("Bash(python:*), run_skill_script")
    assert run(["Bash(python:*)"], ["Read"]) == Uncovered("no rule covers running the script 'scripts/x.py'")
    assert run() == Covered("")


@pytest.mark.requirement("K2", "K10")
@pytest.mark.parametrize(
    ("rule", "tool", "subject", "forbidden"),
    [
        ("Write", "write", "a.txt", True),
        ("Write", "Edit", "a.txt", False),
        ("Bash(rm *)", "Bash", "rm -rf ../x", True),
        ("Bash(rm:*)", "Bash", "ls && /bin/rm x", True),
        ("Bash(rm:*)", "Bash", "echo $(rm x)", True),
        ("Bash(rm:*)", "Bash", "rmdir x; echo rm", False),
        ("Bash(git push)", "Bash", "git push --force", True),
        ("Bash(git push)", "Bash", "git pull", False),
        ("PowerShell(rm *)", "PowerShell", "ls", True),
        ("Write(secrets/**)", "Write", "src/../secrets/a", True),
        ("Write(secrets/**)", "Write", "/work/secrets/a", True),
        ("Write(secrets/**)", "Write", "../secrets/a", False),
        ("Write(secrets/**)", "Write", "~/secrets/a", True),
        ("Write(/etc/**)", "Write", "../etc/passwd", True),
        ("Write(src/**)", "Write", "/etc/passwd", False),
        ("Grep(secrets/**)", "Grep", ".", True),
        ("Grep(secrets/**)", "Grep", "src", False),
        ("WebFetch(domain:evil.org)", "WebFetch", "https://evil.org/a", True),
        ("WebFetch(domain:evil.org)", "WebFetch", "https://good.org", False),
        ("WebFetch(domain:evil.org)", "WebFetch", "//evil.org", True),
        ("mcp__mail__*", "mcp__mail__send", "", True),
        ("search(a*)", "search", "abc", True),
    ],
)
def test_call_that_a_rule_may_mean_is_forbidden(rule: str, tool: str, subject: str, forbidden: bool) -> None:
    assert find_prohibition([rule], tool, subject, workspace="/work") == (rule if forbidden else None)


@pytest.mark.requirement("K2", "K10")
@pytest.mark.parametrize(
    ("rule", "forbidden"),
    [
        ("Bash", True),
        ("*", True),
        ("run_skill_script", True),
        ("run_skill_script(scripts/*)", True),
        ("run_skill_script(tools/*)", False),
        ("Bash(python3:*)", True),
        ("Bash(python3 scripts/x.py --fast)", True),
        ("Bash(python3 scripts/x.py --slow)", False),
        ("Bash(rm:*)", False),
        ("Write", False),
    ],
)
def test_script_that_a_rule_may_mean_is_forbidden(rule: str, forbidden: bool) -> None:
    found = find_script_prohibition(
        ["Read", rule], interpreters=("python3",), script="scripts/x.py", arguments=("--fast", "now")
    )
    assert found == (rule if forbidden else None)
