"""Which scripts of a skill its instructions name, and with which arguments."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from prowess.agent.offline.content_words import find_words
from prowess.agent.offline.customary_folders import RUN_FOLDERS, is_script
from prowess.agent.offline.markdown_blocks import CODE_SPAN, Block, Kind
from prowess.agent.offline.wishes import split_command

__all__ = ["NamedScript", "choose_word", "find_named_scripts"]

_BASE = r"(?:\./|\$?\{\w+\}/|\$\w+/|/(?:[\w.-]+/)*?skills/[\w.-]+/)"
"""How instructions may write the skill's own folder."""
_SCRIPT = re.compile(
    rf"(?:\A|(?<=[\s\"'(=])){_BASE}?(?P<script>(?:{'|'.join(RUN_FOLDERS)})/[\w./-]*\w)(?P<rest>[^\n]*)"
)
_WITH = re.compile(
    r"\s*+,?\s*+(?:with|and give it|and pass it)\s+(?:\w+\s+){0,2}arguments?\b:?\s*(?P<rest>.*)", re.IGNORECASE
)
_WITH_CODE = re.compile(r"\s*+,?\s*+with\s+(?P<rest>[`'\"“].*)", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.;](?:\s|\Z)|\s—\s")
_VALUE = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”“\n]+)”|(?<!\w)'([^'\n]+)'(?!\w)|\b(word|text|string)\b")
_COMMENT = re.compile(r"\s#\s.*\Z")
_IN_QUOTES = re.compile(r"'[^'\n]*'|\"[^\"$\n]*\"")
_SHELL = re.compile(r"[<>\[\]{}$*|;&`…]|\.\.\.")
"""What is for a shell to read, or for a reader to fill in."""
_PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_-]*\Z|<[^<>]*>\Z")
_MAX_ARGUMENTS = 50
_MAX_NAMED = 50
_AROUND = 500
"""Characters before and after a script that are about it."""


@dataclass(frozen=True, slots=True)
class NamedScript:
    """A script that instructions name."""

    path: str
    arguments: tuple[str, ...] = ()
    """Those that the instructions give, if they can be taken as they are."""
    words: tuple[str, ...] = ()
    """Stems of its name and of what is said where it is named."""
    step: int | None = None


def find_named_scripts(
    blocks: Iterable[Block], *, files: Sequence[str] | None = None, word: str = ""
) -> tuple[NamedScript, ...]:
    """Return the scripts that are named, each once, in the order of the text.

    `files` are all that the skill has; `word` stands where the instructions leave the choice of a word.
    """
    found: dict[str, NamedScript] = {}
    for block in blocks:
        if len(found) >= _MAX_NAMED:
            break
        for script in _find_in_block(block, files, word):
            known = found.get(script.path)
            if known is None or (script.arguments and not known.arguments):
                found[script.path] = script
    return tuple(found.values())


def choose_word(text: str) -> str:
    """Return a word that hardly anybody else would choose, and for the same text always the same."""
    return "w" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def _find_in_block(block: Block, files: Sequence[str] | None, word: str) -> Iterator[NamedScript]:
    """Look at each command of a block, and at the words after it."""
    text = block.text
    spans = [(span.start(), span[1], text[span.end() : span.end() + _AROUND]) for span in CODE_SPAN.finditer(text)]
    for at, command, after in [(0, text, "")] if block.kind is Kind.CODE else spans:
        found = _find_script(command, files)
        if found is not None:
            path, rest = found
            arguments = _read_arguments(rest) or _read_clause(after, word)
            around = text[max(at - _AROUND, 0) : at + _AROUND]
            yield NamedScript(path, arguments, find_words(f"{path} {around}"), block.step)


def _find_script(command: str, files: Sequence[str] | None) -> tuple[str, str] | None:
    """Return the script of a command, and what follows it; one outside of the customary folders if the skill has it."""
    customary = _SCRIPT.search(command)
    if customary is not None:
        return customary["script"], customary["rest"]
    first, _, rest = command.strip().partition(" ")
    path = first.removeprefix("./")
    return (path, rest) if files and path in files and is_script(path) else None


def _read_arguments(rest: str) -> tuple[str, ...]:
    """Return the arguments of a command line, if none of them stands for something else."""
    command = _COMMENT.sub("", rest)
    if _SHELL.search(_IN_QUOTES.sub("", command)):
        return ()
    given = split_command(command)
    return () if any(map(_PLACEHOLDER.match, given)) else tuple(given[:_MAX_ARGUMENTS])


def _read_clause(after: str, word: str) -> tuple[str, ...]:
    """Return the arguments of a sentence such as: run `it` with two arguments: that word, and `two words`."""
    clause = _WITH.match(after) or _WITH_CODE.match(after)
    if clause is None:
        return ()
    rest = _CLAUSE_END.split(clause["rest"], maxsplit=1)[0]
    values = [(*found.groups()[:4], word if found[5] else None) for found in _VALUE.finditer(rest)]
    return tuple(value for groups in values for value in groups if value)[:_MAX_ARGUMENTS]
