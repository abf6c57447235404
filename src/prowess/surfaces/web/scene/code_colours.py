"""Code with classes for its colours, for the languages that people know, within bounds."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from pygments.lexer import Lexer

__all__ = ["COLOUR_CLASSES", "LANGUAGES", "MAX_CODE", "colour_code", "find_language"]

MAX_CODE = 2_000
"""Characters; longer code is shown without colours. What a lexer takes grows by the square of them, or faster."""
_KEPT = 256
"""Pieces of code whose colours are remembered: an answer is rendered again with every word that it grows by."""
_LEXERS = {
    "bash": ("sh", "shell", "zsh", "console"),
    "css": (),
    "diff": ("patch",),
    "docker": ("dockerfile",),
    "go": (),
    "html": ("htm", "svg"),
    "javascript": ("js", "mjs", "cjs"),
    "json": ("jsonc",),
    "kotlin": ("kt",),
    "lua": (),
    "php": (),
    "powershell": ("ps1",),
    "python": ("py", "python3"),
    "r": (),
    "ruby": ("rb",),
    "rust": ("rs",),
    "sql": (),
    "swift": (),
    "toml": (),
    "typescript": ("ts", "tsx", "jsx"),
    "xml": (),
    "yaml": ("yml",),
}
"""What Pygments calls a language, and what else it is called, suffixes of files included.

Each of them was tried against code that is made to be slow (`test_code_colours.py`). Those for C, C++, C#, Java, INI
files and Makefiles are not here: blanks and blank lines alone keep them busy for seconds.
"""
LANGUAGES = tuple(_LEXERS)
_NAMES = {name: lexer for lexer, others in _LEXERS.items() for name in (lexer, *others)}
COLOUR_CLASSES = frozenset(
    f"c-{kind}" for kind in ("keyword", "name", "string", "number", "comment", "added", "removed", "meta")
)
_KINDS: Sequence[tuple[str, str]] = (
    ("Token.Comment", "c-comment"),
    ("Token.Keyword", "c-keyword"),
    ("Token.Operator.Word", "c-keyword"),
    ("Token.Literal.String", "c-string"),
    ("Token.Literal.Number", "c-number"),
    ("Token.Name.Function", "c-name"),
    ("Token.Name.Class", "c-name"),
    ("Token.Name.Tag", "c-name"),
    ("Token.Name.Attribute", "c-meta"),
    ("Token.Name.Decorator", "c-meta"),
    ("Token.Generic.Inserted", "c-added"),
    ("Token.Generic.Deleted", "c-removed"),
    ("Token.Generic.Heading", "c-meta"),
    ("Token.Generic.Subheading", "c-meta"),
)


def find_language(name: str) -> str:
    """Return the language that a fence, or the suffix of a file, names; empty if it is none of ours."""
    return _NAMES.get(name.strip().lower(), "")


@lru_cache(maxsize=_KEPT)
def colour_code(code: str, language: str) -> Markup:
    """Return code as HTML; without colours if the language is unknown, or the code long."""
    if not language or len(code) > MAX_CODE:
        return escape(code)
    parts: list[Markup] = []
    for kind, text in _find_lexer(language).get_tokens(code):
        colour = _find_class(str(kind))
        parts.append(Markup('<span class="{}">{}</span>').format(colour, text) if colour else escape(text))
    return Markup("").join(parts)


@lru_cache(maxsize=len(_LEXERS))
def _find_lexer(language: str) -> "Lexer":
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]

    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@lru_cache(maxsize=512)
def _find_class(kind: str) -> str:
    return next((name for prefix, name in _KINDS if kind == prefix or kind.startswith(f"{prefix}.")), "")
