"""Says whether rules such as `Bash(git:*)`, `Edit(src/**)` or `mcp__github__*` cover a call of a tool, or forbid it.

Whatever cannot be told for certain is not covered, and is forbidden. Paths are compared as texts. Where a link leads is
for whoever opens the file to find out.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from prowess.execution.rules.globs import matches_glob
from prowess.execution.rules.shell_words import split_commands

__all__ = [
    "MAX_RULE_LENGTH",
    "SCRIPT_TOOL",
    "Covered",
    "ToolRule",
    "Uncovered",
    "Verdict",
    "covers",
    "covers_all",
    "covers_script",
    "covers_script_all",
    "find_prohibition",
    "find_script_prohibition",
    "names_tool",
    "parse_rule",
]

MAX_RULE_LENGTH = 2_000
"""Characters; a longer text is no rule, and covers nothing."""
SCRIPT_TOOL = "run_skill_script"
_SHOWN_LENGTH = 120

_RULE = re.compile(r"([^\s,()]+)(?:\((.*)\))?", re.DOTALL)
_URL = re.compile(
    r"https?://([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::[0-9]{1,5})?(?:[/?#][!-\[\]-~]*)?", re.IGNORECASE | re.ASCII
)
"""One that every reader takes apart in the same way: no user, no backslash, nothing but ASCII."""
_HAS_PARENT = re.compile(r"(?:\A|[/=:,])\.\.(?:[/=:,]|\Z)")
_FOREIGN_PATH = re.compile(r"~|[A-Za-z]:")
"""How a path begins that a tool may take for another than its text says: a home, a drive."""


class _Kind(Enum):
    """What a specifier is compared with."""

    COMMAND = auto()
    """The plain commands of a shell line."""
    FOREIGN_COMMAND = auto()
    """A line for a shell that we cannot read: all of it, exactly."""
    PATH = auto()
    FOLDER = auto()
    """A path, with all that is below."""
    URL = auto()
    OTHER = auto()


_TOOLS_OF_KIND = {
    _Kind.COMMAND: "bash shell sh terminal execute_bash execute_command local_shell run_command run_in_terminal "
    "run_shell_command run_terminal_cmd shell_command",
    _Kind.FOREIGN_COMMAND: "cmd powershell pwsh",
    _Kind.PATH: "create create_file delete_file edit edit_file multiedit notebookedit notebookread read read_file "
    f"read_skill_resource replace {SCRIPT_TOOL} str_replace_based_edit_tool view view_file write write_file",
    _Kind.FOLDER: "file_search find glob grep grep_search list list_dir list_directory ls search_file_content",
    _Kind.URL: "fetch fetch_url web_fetch webfetch",
}
_KINDS = {name: kind for kind, names in _TOOLS_OF_KIND.items() for name in names.split()}
_UNRESTRICTED = {
    _Kind.COMMAND: frozenset({"*", ":*"}),
    _Kind.FOREIGN_COMMAND: frozenset({"*", ":*"}),
    _Kind.PATH: frozenset[str](),
    _Kind.FOLDER: frozenset[str](),
    _Kind.URL: frozenset({"*", "domain:*"}),
    _Kind.OTHER: frozenset({"*", "**", ":*"}),
}
"""Specifiers that leave nothing out. For a path, `*` is one component."""


@dataclass(frozen=True, slots=True)
class ToolRule:
    """The name of a tool, or a pattern for names; and what of its calls is meant, None for all."""

    text: str
    tool: str
    specifier: str | None = None


@dataclass(frozen=True, slots=True)
class Covered:
    """The call may be made; `by` names the rules, and is empty where no rules were asked."""

    by: str


@dataclass(frozen=True, slots=True)
class Uncovered:
    """No rule speaks for the call."""

    reason: str


Verdict = Covered | Uncovered


def parse_rule(text: str) -> ToolRule | None:
    """Return the rule that a pattern of `allowed-tools` is; None if it is none, and so covers nothing."""
    found = _RULE.fullmatch(text.strip()) if len(text) <= MAX_RULE_LENGTH else None
    if found is None:
        return None
    specifier: str | None = found[2]
    return ToolRule(found[0], found[1], None if specifier is None else specifier.strip())


def covers(rules: Sequence[str], tool: str, subject: str = "", *, workspace: str = "") -> Verdict:
    """Say whether a call is covered. `subject` is what the tool works on: a line, a path, an address.

    Of a line of several commands, each must be covered. Relative paths begin at the workspace, an absolute path.
    """
    kind = _KINDS.get(tool.casefold(), _Kind.OTHER)
    if kind in {_Kind.PATH, _Kind.FOLDER} and "\0" in subject:
        return Uncovered("a path cannot hold a NUL")
    named = [rule for rule in _parse_rules(rules) if _names(rule, tool)]
    if not named:
        return Uncovered(f"no rule is for the tool {_show(tool)}")
    limits: list[tuple[str, str]] = []
    for rule in named:
        if rule.specifier is None or rule.specifier in _UNRESTRICTED[kind]:
            return Covered(rule.text)
        limits.append((rule.text, rule.specifier))
    if kind is _Kind.COMMAND:
        return _judge_line(limits, subject)
    for text, specifier in limits:
        if _matches(kind, specifier, subject, workspace):
            return Covered(text)
    return Uncovered(f"no rule for {_show(tool)} covers {_show(subject)}")


def covers_script(
    rules: Sequence[str], *, interpreters: Sequence[str], script: str, arguments: Sequence[str]
) -> Verdict:
    """Say whether running a script of a skill is covered: as `run_skill_script`, or as a command in any spelling.

    `script` is its path in the skill's folder.
    """
    spellings = list(_spell(interpreters, script, arguments))
    for rule in _parse_rules(rules):
        if _covers_script_path(rule, script) or _covers_spelling(rule, spellings):
            return Covered(rule.text)
    return Uncovered(f"no rule covers running the script {_show(script)}")


def covers_all(rule_sets: Sequence[Sequence[str]], tool: str, subject: str = "", *, workspace: str = "") -> Verdict:
    """Say whether every one of the sets covers the call."""
    return _meet(covers(rules, tool, subject, workspace=workspace) for rules in rule_sets)


def covers_script_all(
    rule_sets: Sequence[Sequence[str]], *, interpreters: Sequence[str], script: str, arguments: Sequence[str]
) -> Verdict:
    """Say whether every one of the sets covers running the script."""
    return _meet(
        covers_script(rules, interpreters=interpreters, script=script, arguments=arguments) for rules in rule_sets
    )


def names_tool(rules: Sequence[str], tool: str) -> bool:
    """Whether any of the rules is for the tool, whatever of its calls it covers."""
    return any(_names(rule, tool) for rule in _parse_rules(rules))


def find_prohibition(rules: Sequence[str], tool: str, subject: str = "", *, workspace: str = "") -> str | None:
    """Return the first of the rules that a call falls under, or may fall under; of a line, one command is enough."""
    kind = _KINDS.get(tool.casefold(), _Kind.OTHER)
    named = (rule for rule in _parse_rules(rules) if _names(rule, tool))
    return next((rule.text for rule in named if _may_be_meant(rule.specifier, kind, subject, workspace)), None)


def find_script_prohibition(
    rules: Sequence[str], *, interpreters: Sequence[str], script: str, arguments: Sequence[str]
) -> str | None:
    """Return the first of the rules that running a script of a skill falls under, in whichever spelling."""
    spellings = list(_spell(interpreters, script, arguments))
    for rule in _parse_rules(rules):
        if _names(rule, SCRIPT_TOOL) and _may_be_meant(rule.specifier, _Kind.PATH, script, ""):
            return rule.text
        if _is_for_commands(rule) and _may_be_among(rule.specifier, spellings):
            return rule.text
    return None


def _meet(verdicts: Iterable[Verdict]) -> Verdict:
    by: list[str] = []
    for verdict in verdicts:
        match verdict:
            case Uncovered():
                return verdict
            case Covered(text):
                by.append(text)
    return Covered(", ".join(dict.fromkeys(by)))


def _parse_rules(texts: Iterable[str]) -> Iterator[ToolRule]:
    return (rule for rule in map(parse_rule, texts) if rule is not None)


def _names(rule: ToolRule, tool: str) -> bool:
    """Whether the rule is for the tool. `*` stands for all tools, and ends a name only after `mcp__`."""
    name, called = rule.tool.casefold(), tool.casefold()
    if name == "*":
        return True
    if name.startswith("mcp__") and name.endswith("*"):
        return called.startswith(name[:-1])
    return name == called


def _show(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}…")


class _Rest(Enum):
    """What may follow the words of a pattern."""

    NOTHING = auto()
    INSIDE = auto()
    """Any words that do not lead up by `..`; the pattern ended in a lone `*`."""
    ANYTHING = auto()
    """Any words; the pattern ended in `:*`."""


class _WordPattern(NamedTuple):
    words: tuple[str, ...]
    rest: _Rest


def _parse_words(specifier: str) -> _WordPattern:
    if specifier.endswith(":*"):
        return _WordPattern(tuple(specifier[:-2].split()), _Rest.ANYTHING)
    words = tuple(specifier.split())
    if words[-1:] == ("*",):
        return _WordPattern(words[:-1], _Rest.INSIDE)
    return _WordPattern(words, _Rest.NOTHING)


def _judge_line(limits: Sequence[tuple[str, str]], line: str) -> Verdict:
    commands = split_commands(line)
    if commands is None:
        return Uncovered("the line is more than plain commands, and only a rule without a restriction covers such")
    patterns = [(text, _parse_words(specifier)) for text, specifier in limits]
    by: list[str] = []
    for command in dict.fromkeys(commands):
        found = next((text for text, pattern in patterns if _matches_words(pattern, command)), None)
        if found is None:
            return Uncovered(f"no rule covers the command {_show(' '.join(command))}")
        by.append(found)
    return Covered(", ".join(dict.fromkeys(by)))


def _matches_words(pattern: _WordPattern, command: Sequence[str]) -> bool:
    count = len(pattern.words)
    if count == 0 or len(command) < count or (len(command) > count and pattern.rest is _Rest.NOTHING):
        return False
    if pattern.rest is _Rest.INSIDE and any(_HAS_PARENT.search(word) for word in command[count:]):
        return False
    return all(_matches_text(one, word) for one, word in zip(pattern.words, command[:count], strict=True))


def _matches_text(pattern: str, text: str) -> bool:
    if "*" not in pattern:
        return pattern == text
    return not _HAS_PARENT.search(text) and matches_glob(pattern, text)


def _spell(interpreters: Sequence[str], script: str, arguments: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Return the commands that would run the script for somebody who stands in the skill's folder."""
    path = script.removeprefix("./")
    if not path or path.startswith("/") or "\0" in path or ".." in path.split("/"):
        return
    # An interpreter takes `-c` for an option, and a shell looks for a bare name elsewhere.
    for spelling in (f"./{path}", *([] if path.startswith("-") else [path])):
        for interpreter in interpreters:
            yield (interpreter, spelling, *arguments)
        if "/" in spelling:
            yield (spelling, *arguments)


def _covers_script_path(rule: ToolRule, script: str) -> bool:
    if not _names(rule, SCRIPT_TOOL):
        return False
    return rule.specifier is None or _matches_path(rule.specifier, script, "", _Kind.PATH)


def _is_for_commands(rule: ToolRule) -> bool:
    return rule.tool == "*" or _KINDS.get(rule.tool.casefold()) is _Kind.COMMAND


def _covers_spelling(rule: ToolRule, spellings: Sequence[Sequence[str]]) -> bool:
    if not _is_for_commands(rule):
        return False
    if rule.specifier is None or rule.specifier in _UNRESTRICTED[_Kind.COMMAND]:
        return True
    pattern = _parse_words(rule.specifier)
    return any(_matches_words(pattern, spelling) for spelling in spellings)


def _matches(kind: _Kind, specifier: str, subject: str, workspace: str) -> bool:
    match kind:
        case _Kind.PATH | _Kind.FOLDER:
            return _matches_path(specifier, subject, workspace, kind)
        case _Kind.URL:
            return specifier == subject or _matches_domain(specifier, subject)
        case _Kind.OTHER:
            return _matches_text(specifier, subject)
        case _:
            return specifier == subject


def _matches_domain(specifier: str, address: str) -> bool:
    found = _URL.fullmatch(address)
    if found is None or not specifier.startswith("domain:"):
        return False
    host, domain = found[1].lower(), specifier.removeprefix("domain:").strip().lower()
    return host.endswith(domain[1:]) if domain.startswith("*.") else host == domain


def _matches_path(specifier: str, path: str, workspace: str, kind: _Kind) -> bool:
    parts = [part for part in specifier.split("/") if part not in {"", "."}]
    if specifier.startswith("~") or not specifier or ".." in parts:
        return False
    if not path or "\0" in path or "\\" in path or _FOREIGN_PATH.match(path):
        return False
    absolute = specifier.startswith("/")
    found = _make_absolute(path, workspace) if absolute else _make_relative(path, workspace)
    if found is None:
        return False
    pattern = "/".join(parts)
    if kind is _Kind.FOLDER and pattern.endswith("/**") and matches_glob(pattern.removesuffix("/**"), found):
        return True
    return matches_glob(pattern, found)


def _make_absolute(path: str, workspace: str) -> str | None:
    """Return the path from the root, without its first slash; None if nobody knows where it begins."""
    if not path.startswith("/"):
        if not workspace.startswith("/"):
            return None
        path = f"{workspace}/{path}"
    return posixpath.normpath(f"/{path.lstrip('/')}")[1:]


def _make_relative(path: str, workspace: str) -> str | None:
    """Return the path from the workspace; None if it is elsewhere, or comes back from elsewhere by `..`."""
    if path.startswith("/"):
        if not workspace.startswith("/"):
            return None
        path = posixpath.relpath(f"/{path.lstrip('/')}", f"/{workspace.lstrip('/')}")
    path = posixpath.normpath(path)
    if path == ".." or path.startswith("../"):
        return None
    return "" if path == "." else path


# What a rule forbids


def _may_be_meant(specifier: str | None, kind: _Kind, subject: str, workspace: str) -> bool:
    if specifier is None or specifier in _UNRESTRICTED[kind]:
        return True
    match kind:
        case _Kind.COMMAND:
            commands = split_commands(subject)
            return commands is None or _may_be_among(specifier, commands)
        case _Kind.FOREIGN_COMMAND:
            return True
        case _Kind.PATH | _Kind.FOLDER:
            return _may_be_below(specifier, subject, workspace, kind)
        case _Kind.URL:
            return specifier == subject or _URL.fullmatch(subject) is None or _matches_domain(specifier, subject)
        case _Kind.OTHER:
            return matches_glob(specifier, subject)


def _may_be_among(specifier: str | None, commands: Iterable[Sequence[str]]) -> bool:
    if specifier is None or specifier in _UNRESTRICTED[_Kind.COMMAND]:
        return True
    words = _parse_words(specifier).words
    return any(_begins(words, command) for command in commands)


def _begins(words: Sequence[str], command: Sequence[str]) -> bool:
    """Whether a command begins with these words; its program may be called by its path."""
    called = (posixpath.basename(command[0]), *command[1:])
    return any(
        len(line) >= len(words) and all(matches_glob(one, word) for one, word in zip(words, line, strict=False))
        for line in (command, called)
    )


def _may_be_below(specifier: str, path: str, workspace: str, kind: _Kind) -> bool:
    parts = [part for part in specifier.split("/") if part not in {"", "."}]
    if (
        specifier.startswith("~")
        or ".." in parts
        or not path
        or "\0" in path
        or "\\" in path
        or _FOREIGN_PATH.match(path)
    ):
        return True
    base = workspace if workspace.startswith("/") else ""
    if not base and specifier.startswith("/") != path.startswith("/"):
        return True
    place = posixpath.normpath(posixpath.join(base, path)).lstrip("/")
    if place.split("/")[0] == "..":
        return True
    pattern = "/".join(parts) if specifier.startswith("/") else posixpath.join(base.strip("/"), *parts)
    if matches_glob(pattern, place):
        return True
    above = "" if place in {"", "."} else f"{place}/"
    return kind is _Kind.FOLDER and pattern.partition("*")[0].startswith(above)
