"""The pages around the blocks."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import prowess.surfaces.web.scene
from prowess.surfaces.web.scene.rendering import BlockRenderer, make_environment
from prowess.surfaces.web.static_files import static_url
from tests.surfaces.web.scene.made_up import FIRST, happen, play
from tests.surfaces.web.scene.outline import Outline

_STATIC = Path(prowess.surfaces.web.scene.__file__).parents[1] / "static"
_ENVIRONMENT = make_environment()
_HOSTILE = '"><script>alert(1)</script>\u202e'


def _render(name: str, **values: Any) -> str:
    return _ENVIRONMENT.get_template(name).render({"page": "", "is_local": True, **values})


def _chat(text: str = "Forms", *, blocks: str = "", kept: bool = True) -> str:
    skill = {"name": text, "id": text, "key": text, "digest": text, "description": text, "asked_by": text}
    return _render(
        "chat.html",
        page="chat",
        conversation=text,
        conversations=[{"id": text, "title": text, "busy": True}, {"id": "b", "title": "", "busy": False}],
        kept=kept,
        logs_in=True,
        listed=30,
        more=True,
        revision=1,
        cursor="",
        blocks=blocks,
        state={"busy": False, "turn": "", "title": text, "model": text, "active": [skill]},
        models={"models": [{"name": text, "calls_tools": False, "note": text}], "default": text, "notes": [text]},
    )


class _Needs(HTMLParser):
    """What a page fetches."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [
            str(given[name]) for name in ("src", "href") if name in given and tag in ("script", "link", "img")
        ]


def test_page_fetches_only_files_of_ours_that_are_there() -> None:
    for html in (_chat(), _render("login.html", failed=False), _render("error.html", **_ERROR)):
        needed = _Needs(html).found
        assert static_url("prowess.css") in needed
        for address in needed:
            name = address.rpartition("/")[2]
            assert address == static_url(name)
            assert (_STATIC / name).is_file()


def test_first_page_is_small() -> None:
    files = [*_STATIC.glob("*.js"), _STATIC / "prowess.css", _STATIC / "prowess.svg"]
    assert len(_chat().encode()) + sum(file.stat().st_size for file in files) < 100_000


_ERROR: dict[str, Any] = {"status": 404, "code": _HOSTILE, "message": _HOSTILE, "hint": _HOSTILE}


@pytest.mark.parametrize(
    "html",
    [
        _chat(_HOSTILE),
        _chat(blocks=BlockRenderer(_ENVIRONMENT).page(play(happen(FIRST, turn="1")).patches(""))),
        _render("login.html", failed=True, next=_HOSTILE),
        _render("error.html", **_ERROR),
    ],
)
def test_page_has_nothing_that_the_policy_forbids(html: str) -> None:
    outline = Outline(html)
    ours = ("script", "meta", "link", "a href=#main")
    assert [fault for fault in outline.faults if fault not in ours] == []
    assert "alert(1)</script>" not in html
    assert len(outline.ids) == len(set(outline.ids))


def test_page_begins_at_one_heading_and_has_landmarks() -> None:
    tags = Outline(_chat()).tags
    assert tags.count("h1") == 1
    assert {"header", "nav", "main", "aside"} <= set(tags)


def test_page_says_that_conversations_are_not_kept() -> None:
    assert "not kept here" in _chat(kept=False)
    assert "not kept here" not in _chat()
