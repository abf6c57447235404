"""What a page is made of, and what in it no page of ours may have."""

import re
from html.parser import HTMLParser

__all__ = ["Outline"]


class Outline(HTMLParser):
    """Takes note of tags, and of what no page of ours may have."""

    _EMPTY = frozenset(("img", "br", "hr", "input", "path", "circle", "rect", "meta", "link"))
    _ADDRESSES = frozenset(("href", "src", "action", "formaction"))

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self._EMPTY:
            self.open.append(tag)
        if tag in ("script", "style", "iframe", "object", "embed", "base", "meta", "link"):
            self.faults.append(tag)
        for name, value in attrs:
            is_away = name in self._ADDRESSES and not re.match(r"(?:/(?!/)|https?://|mailto:)", value or "")
            if name.startswith("on") or name == "style" or is_away:
                self.faults.append(f"{tag} {name}={value}")
            if name == "id":
                self.ids.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._EMPTY and (not self.open or self.open.pop() != tag):
            self.faults.append(f"</{tag}>")
