"""Reads shell lines that are made of plain commands, and refuses every other.

What it reads means the same to every POSIX shell, whichever variables are set and whichever files there are. A line
that a shell may read in another way than it seems is not read at all: better a refusal too many.
"""

import re
from collections.abc import Sequence

__all__ = ["MAX_LINE_LENGTH", "split_commands"]

MAX_LINE_LENGTH = 10_000
"""Characters; longer lines are not read."""

_PIECE = r"""[^\s;&|<>(){}$`!*?\['"\\]++|\\[^\n]|'[^']*+'|"(?:[^"\\$`!]|\\["\\])*+\""""
"""Of a word: plain characters, an escaped one, or quoted text. History is expanded within double quotes too."""
_PIECES = re.compile(_PIECE)
_TOKEN = re.compile(rf"(?P<blank>[ \t]++)|(?P<separator>&&|\|\||\|&|[;|&\n])|(?P<word>(?:{_PIECE})++)")
_ESCAPED = re.compile(r"\\(.)")
_JOINTS = frozenset({"&&", "||", "|", "|&"})
"""Separators after which another command must come."""
_TILDE_AFTER = ("=", ":")
"""Bash expands a tilde there as well, in words that look like assignments."""
_KEYWORDS = "if then elif else fi for while until do done case esac select function time coproc [[ ]] { } !"
_RUNNERS = (
    "eval exec source . builtin command alias bind compgen complete declare enable fc getopts hash jobs let local "
    "mapfile read readarray trap typeset"
)
"""Built-in commands that run or evaluate what they are given, or change what later words mean."""
_RESERVED = frozenset((*_KEYWORDS.split(), *_RUNNERS.split()))
"""First words that make what follows more than a plain command. Quotes do not take that from all of them."""
_TAKES_VARIABLES = frozenset({"[", "export", "printf", "readonly", "test", "unset", "wait"})
"""Built-in commands to which a word such as `a[$(b)]`, quoted or not, is a variable: bash runs `b` to find which."""


def split_commands(text: str) -> tuple[tuple[str, ...], ...] | None:
    """Return the plain commands of a line, each as its words without their quotes.

    None if there is none, or if anything but words, quotes and separators is in the line.
    """
    if len(text) > MAX_LINE_LENGTH or not all(char.isprintable() or char in "\t\n" for char in text):
        return None
    commands: list[tuple[str, ...]] = []
    words: list[str] = []
    unfinished = False
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            return None
        position = token.end()
        if token.lastgroup == "word":
            word = _unquote(token[0])
            if word is None or not (words or _may_begin_command(word)):
                return None
            words.append(word)
        elif token.lastgroup == "separator":
            if words:
                commands.append(tuple(words))
                words = []
                unfinished = token[0] in _JOINTS
            elif token[0] != "\n":
                return None
    if words:
        commands.append(tuple(words))
    elif unfinished:
        return None
    return tuple(commands) if commands and not any(map(_sets_variable, commands)) else None


def _unquote(raw: str) -> str | None:
    """Return what a shell makes of a word; None if it might be a comment or hold somebody's home."""
    text = ""
    for found in _PIECES.finditer(raw):
        piece = found[0]
        match piece[0]:
            case "'":
                text += piece[1:-1]
            case '"':
                text += _ESCAPED.sub(r"\1", piece[1:-1])
            case "\\":
                text += piece[1]
            case _:
                if _is_expanded(piece, before=text):
                    return None
                text += piece
    return text


def _is_expanded(plain: str, *, before: str) -> bool:
    if not before and plain[0] in "~#":
        return True
    if plain[0] == "~" and before.endswith(_TILDE_AFTER):
        return True
    return any(f"{sign}~" in plain for sign in _TILDE_AFTER)


def _may_begin_command(word: str) -> bool:
    """Whether a word can only be the name of a command.

    It is no assignment, keyword, `^old^new` of the history, job such as `%1`, or option of a shell that gets the line.
    """
    return word != "" and "=" not in word and word[0] not in "^-+%" and word not in _RESERVED


def _sets_variable(command: Sequence[str]) -> bool:
    """Whether a built-in command may evaluate one of its words, or set what other commands are found by."""
    name, *words = command
    if name not in _TAKES_VARIABLES:
        return False
    return any("[" in word for word in words) or (name == "printf" and any(word.startswith("-v") for word in words))
