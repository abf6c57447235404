"""`allowed-tools` in every spelling that real skills use."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.skill.bounded_yaml import YamlDocument, parse_yaml
from prowess.skill.tool_patterns import ToolPatterns, parse_tool_patterns
from prowess.skill.yaml_values import YamlValue


def _commas(*patterns: str) -> ToolPatterns:
    return ToolPatterns(patterns, with_commas=True)


def _list(*patterns: str) -> ToolPatterns:
    return ToolPatterns(patterns, as_list=True)


@pytest.mark.requirement("R8", "K10")
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(
            " Read Grep Glob Bash(python:*)", ToolPatterns(("Read", "Grep", "Glob", "Bash(python:*)")), id="blanks"
        ),
        pytest.param(" terraform gcloud python", ToolPatterns(("terraform", "gcloud", "python")), id="binaries"),
        pytest.param(
            " Bash, Read, Write, AskUserQuestion", _commas("Bash", "Read", "Write", "AskUserQuestion"), id="commas"
        ),
        pytest.param(" Bash(gh *), Bash(git *), Read", _commas("Bash(gh *)", "Bash(git *)", "Read"), id="blank inside"),
        pytest.param(
            " Bash(git:*), Bash(gh:*), Bash(rg:*), Read, Write, Agent",
            _commas("Bash(git:*)", "Bash(gh:*)", "Bash(rg:*)", "Read", "Write", "Agent"),
            id="commas and prefixes",
        ),
        pytest.param(
            " Bash(uv run pytest *), Bash(uv run python .claude/skills/t/p.py *), Bash(source .env && uv run pytest *)",
            _commas(
                "Bash(uv run pytest *)",
                "Bash(uv run python .claude/skills/t/p.py *)",
                "Bash(source .env && uv run pytest *)",
            ),
            id="whole commands",
        ),
        pytest.param(" mcp__mongodb__*", ToolPatterns(("mcp__mongodb__*",)), id="wildcard"),
        pytest.param(" Bash", ToolPatterns(("Bash",)), id="single"),
        pytest.param(" []", _list(), id="empty list"),
        pytest.param(" [Bash, Read, Task, Write]", _list("Bash", "Read", "Task", "Write"), id="flow list"),
        pytest.param(' ["Read", "Write", "Edit"]', _list("Read", "Write", "Edit"), id="quoted flow list"),
        pytest.param("\n  - Bash(ls *)\n  - Bash(mkdir *)\n", _list("Bash(ls *)", "Bash(mkdir *)"), id="block list"),
        pytest.param(
            "\n  - Bash(brew install stripe/stripe-cli/stripe)\n  - Bash(npx skills add https://docs.stripe.com *)\n",
            _list("Bash(brew install stripe/stripe-cli/stripe)", "Bash(npx skills add https://docs.stripe.com *)"),
            id="address inside",
        ),
        pytest.param(
            "\n  - Bash(npx @wix/cli@latest *)\n  - Bash(uuidgen)\n",
            _list("Bash(npx @wix/cli@latest *)", "Bash(uuidgen)"),
            id="at sign inside",
        ),
        pytest.param(
            " ask_user, sql, fetch_copilot_cli_documentation",
            _commas("ask_user", "sql", "fetch_copilot_cli_documentation"),
            id="another agent's tools",
        ),
        pytest.param(
            "\n  - Bash(gh issue view:*)\n  - Bash(git merge-base:*)\n",
            _list("Bash(gh issue view:*)", "Bash(git merge-base:*)"),
            id="blank and prefix",
        ),
        pytest.param(' ["mcp__plugin_asana_asana__*"]', _list("mcp__plugin_asana_asana__*"), id="wildcard in a list"),
    ],
)
def test_spellings_in_use_are_understood(written: str, expected: ToolPatterns) -> None:
    document = parse_yaml(f"allowed-tools:{written}\n")
    assert isinstance(document, YamlDocument)
    assert parse_tool_patterns(document.values["allowed-tools"]) == expected


@pytest.mark.requirement("R8")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("", ToolPatterns(()), id="nothing"),
        pytest.param("  ", ToolPatterns(()), id="blanks"),
        pytest.param("Read Read  Bash\nRead", ToolPatterns(("Read", "Bash")), id="each once"),
        pytest.param("Read,,Bash,", _commas("Read", "Bash"), id="commas without patterns"),
        pytest.param("Bash(a, b) Read", ToolPatterns(("Bash(a, b)", "Read")), id="comma inside"),
        pytest.param("Bash(f(x) y), Read", _commas("Bash(f(x) y)", "Read"), id="parentheses inside"),
        pytest.param("Bash(f(x) y) Read", ToolPatterns(("Bash(f(x) y)", "Read")), id="parentheses inside, no comma"),
        pytest.param("Bash() Read", ToolPatterns(("Bash()", "Read")), id="empty parentheses"),
        pytest.param(["Read, Bash(a b)", "Write"], _list("Read", "Bash(a b)", "Write"), id="commas in an item"),
        pytest.param("Bash(git:* Read", ToolPatterns((), ("Bash(git:* Read",)), id="never closed"),
        pytest.param("Read Bash) Write", ToolPatterns(("Read", "Write"), ("Bash)",)), id="never opened"),
        pytest.param("Read Bash(a)b", ToolPatterns(("Read",), ("Bash(a)b",)), id="text after the parenthesis"),
        pytest.param("(git) Read", ToolPatterns(("Read",), ("(git)",)), id="no name"),
        pytest.param("Bash(a)(b)", ToolPatterns((), ("Bash(a)(b)",)), id="two pairs"),
        pytest.param(["Bash(a", "b)"], ToolPatterns((), ("Bash(a", "b)"), as_list=True), id="a pair over two items"),
        pytest.param({"Bash": "yes"}, None, id="a map"),
        pytest.param(["Read", ["Bash"]], None, id="a list in a list"),
        pytest.param([{"Bash": "yes"}], None, id="a map in a list"),
    ],
)
def test_what_cannot_be_understood_allows_nothing(value: YamlValue, expected: ToolPatterns | None) -> None:
    assert parse_tool_patterns(value) == expected


_NAMES = st.text(st.sampled_from("abcXYZ019_-*:./@"), min_size=1, max_size=10)
_INNER = st.text(st.sampled_from("ab *:,./@&-\t"), max_size=10)
_PATTERNS = st.lists(_NAMES | st.builds("{}({})".format, _NAMES, _INNER), max_size=6, unique=True).map(tuple)


@pytest.mark.requirement("R8")
@given(patterns=_PATTERNS)
def test_patterns_joined_by_blanks_or_commas_or_as_a_list_parse_back(patterns: tuple[str, ...]) -> None:
    assert parse_tool_patterns(" ".join(patterns)) == ToolPatterns(patterns)
    assert parse_tool_patterns(", ".join(patterns)) == ToolPatterns(patterns, with_commas=len(patterns) > 1)
    assert parse_tool_patterns(list(patterns)) == ToolPatterns(patterns, as_list=True)


@given(text=st.text(st.sampled_from("ab(),* "), max_size=20))
def test_no_pattern_has_open_parentheses_or_loose_blanks(text: str) -> None:
    found = parse_tool_patterns(text)
    assert found is not None
    for pattern in found.patterns:
        assert pattern.count("(") == pattern.count(")")
        assert not set(pattern.partition("(")[0]) & set(" ,)")
    assert all(part in text for part in (*found.patterns, *found.unbalanced))
