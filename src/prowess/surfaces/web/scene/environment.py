"""The environment of all templates: everything is escaped, and a missing value is an error."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from prowess.settings import Settings
from prowess.skill.deception import make_printable, strip_invisible
from prowess.surfaces.web.redaction import redact_paths, shorten_paths
from prowess.surfaces.web.scene.card_views import show_card, show_size
from prowess.surfaces.web.scene.code_colours import colour_code
from prowess.surfaces.web.scene.consent_views import show_consent
from prowess.surfaces.web.scene.markdown import render_markdown
from prowess.surfaces.web.static_files import static_url
from prowess.surfaces.wording import describe_answer, show_seconds, show_use

__all__ = ["make_environment"]

_SHORT_DIGEST = 12
_HERE = {"allow-for-session": "allowed for this conversation"}
"""What the page calls otherwise than the terminal."""
_BACKTICKS = re.compile(r"`([^`\n]+)`")
_TEMPLATES = Path(__file__).parents[1] / "templates"


def make_environment(*, redacted: Settings | None = None) -> Environment:
    """Return the environment for pages and blocks.

    With settings, texts are shown without the folders of this machine. Addresses and ids stay as they are.
    """
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters: dict[str, Callable[..., Any]] = {
        **_make_text_filters(redacted),
        "marked": _show_marked,
        "bytes": show_size,
        "seconds": show_seconds,
        "digest": _show_digest,
        "use": show_use,
        "answer": _show_answer,
        "card": show_card,
        "consent": show_consent,
    }
    cast("dict[str, Any]", environment.filters).update(filters)
    cast("dict[str, Any]", environment.globals)["static"] = static_url
    return environment


def _make_text_filters(redacted: Settings | None) -> dict[str, Callable[..., Any]]:
    """Return what shows texts. `told` is for what Prowess says of errors: there, any path is one of the host."""
    filters: dict[str, Callable[..., Any]] = {
        "printable": _show_printable,
        "told": _show_printable,
        "seen": _show_seen,
        "markdown": render_markdown,
        "code": _show_code,
    }
    if redacted is None:
        return filters
    return {
        name: _redact_first(show, partial(redact_paths if name == "told" else shorten_paths, settings=redacted))
        for name, show in filters.items()
    }


def _redact_first(show: Callable[..., Any], redact: Callable[[str], str]) -> Callable[..., Any]:
    def show_redacted(text: object, *more: object) -> Any:
        return show(redact(str(text)), *more)

    return show_redacted


def _show_answer(answer: str) -> str:
    return _HERE.get(answer) or describe_answer(answer)


def _show_printable(text: object) -> str:
    return make_printable(str(text))


def _show_marked(text: object) -> Markup:
    """Return a text in which what stands between backticks, as a command to type, is marked up as code."""
    return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped right here


def _show_digest(digest: str) -> str:
    return digest[:_SHORT_DIGEST]


def _show_code(text: str, language: str) -> Markup:
    return colour_code(strip_invisible(text)[0], language)


def _show_seen(text: str) -> Markup:
    """Return a text of many lines without what nobody would see."""
    return escape(strip_invisible(text)[0])
