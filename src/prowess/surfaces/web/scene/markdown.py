"""Markdown as HTML that is safe to show, whoever wrote it: no HTML of theirs, no pictures, links to the web only."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, cast

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup

from prowess.skill.deception import make_printable, strip_invisible
from prowess.surfaces.web.scene.code_colours import COLOUR_CLASSES, colour_code, find_language

__all__ = ["MAX_MARKDOWN", "render_markdown"]

MAX_MARKDOWN = 50_000
"""Characters; a longer text is shown as it is written."""
_MAX_SIGNS = 2_500
"""Of one kind: what opens brackets and never closes them keeps the parser busy by the square of their number."""
_SIGNS = "[]`*_~<&"
_MAX_CELLS = 20_000
"""Of all tables: rows that are too short are filled up, so that a short text can have very many."""
_TABLE_RULE = re.compile(r"^[ \t>]*[|:-][|: \t-]*$", re.MULTILINE)
"""The line beneath the head of a table."""
_MAX_COLOURED = 10_000
"""Characters of all code in one text that has colours."""
_MAX_NESTING = 20
"""Of quotes, lists and emphasis within each other."""
_HEADING_SHIFT = 2
"""The page has headings of its own above."""
_MAX_LABEL = 30
_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_ALIGNED = {"text-align:left": "left", "text-align:center": "centre", "text-align:right": "right"}
_TAGS = frozenset(
    (
        *("p", "br", "hr", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong", "s"),
        *("a", "table", "thead", "tbody", "tr", "th", "td", "div", "span", "button"),
    )
)
_ATTRIBUTES = {
    "a": {"href", "target", "title"},
    "ol": {"start"},
    "button": {"type", "data-copy"},
    "div": {"data-copyable", "tabindex"},
}
_CLASSES = {
    "div": {"code", "code-head", "table-wrap"},
    "span": {"code-language", "picture", *COLOUR_CLASSES},
    "button": {"copy"},
    "th": {"left", "centre", "right"},
    "td": {"left", "centre", "right"},
}


def render_markdown(text: str) -> Markup:
    """Return the HTML of a text; one that is too long or too tangled is shown as it is written, and says so."""
    if len(text) > MAX_MARKDOWN:
        return _show_plainly(text, f"{len(text):,} characters: too long to be shown as Markdown")
    seen = strip_invisible(text)[0]
    if _is_tangled(seen):
        return _show_plainly(text, "too many signs to be shown as Markdown")
    clean = nh3.clean(
        cast("str", _make_parser().render(seen, {"left": _MAX_COLOURED})),
        tags=set(_TAGS),
        attributes=_ATTRIBUTES,
        allowed_classes=_CLASSES,
        attribute_filter=_keep_attribute,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)  # noqa: S704 - cleaned a line above


def _is_tangled(text: str) -> bool:
    """Whether a text would keep the parser busy for long: nobody writes like that for people to read."""
    if any(text.count(sign) > _MAX_SIGNS for sign in _SIGNS):
        return True
    columns = max((rule.count("|") for rule in _TABLE_RULE.findall(text)), default=0)
    return columns * text.count("\n") > _MAX_CELLS


def _show_plainly(text: str, note: str) -> Markup:
    return Markup('<p class="muted">{}</p><pre class="plain">{}</pre>').format(note, strip_invisible(text)[0])


def _keep_attribute(tag: str, name: str, value: str) -> str | None:
    if (tag, name) == ("a", "href") and not _LINK.match(value):
        return None
    return value


@lru_cache(maxsize=1)
def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.core.ruler.push("page", _fit_into_page)
    rules: dict[str, Callable[..., str]] = {
        "fence": _render_fence,
        "code_block": _render_fence,
        "image": _render_image,
        "table_open": _open_table,
        "table_close": _close_table,
    }
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    return parser


def _fit_into_page(state: Any) -> None:
    """Shift headings, have links open elsewhere, and say by classes how cells are aligned: styles are not allowed."""
    tokens: list[Token] = state.tokens
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1:]) + _HEADING_SHIFT)}"
        elif token.type in ("th_open", "td_open"):
            style = token.attrs.pop("style", None)
            if style in _ALIGNED:
                token.attrs["class"] = _ALIGNED[str(style)]
        for child in token.children or ():
            if child.type == "link_open":
                child.attrs["target"] = "_blank"


def _open_table(*_: object) -> str:
    return '<div class="table-wrap" tabindex="0"><table>'


def _close_table(*_: object) -> str:
    return "</table></div>"


def _render_fence(_renderer: object, tokens: Sequence[Token], index: int, _options: OptionsDict, env: Any) -> str:
    token = tokens[index]
    words = token.info.split()
    label = make_printable(words[0][:_MAX_LABEL]) if words else "text"
    language = find_language(label)
    if language:
        env["left"] -= len(token.content)
    return Markup(
        '<div class="code" data-copyable=""><div class="code-head"><span class="code-language">{}</span>'
        '<button type="button" class="copy" data-copy="">Copy</button></div><pre><code>{}</code></pre></div>\n'
    ).format(label, colour_code(token.content, language if env["left"] >= 0 else ""))


def _render_image(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Any) -> str:
    alternative = renderer.renderInlineAsText(tokens[index].children, options, env)
    return Markup('<span class="picture">{}</span>').format(f"[picture: {alternative or 'without a text'}]")
