"""A real browser, Debian's Chromium, that visits a server as a person does."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.surfaces.web.server import RunningServer

__all__ = ["Visitor", "browser", "find_serious_faults", "keep_picture"]

CHROMIUM = "/usr/bin/chromium"
_ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
)
_PICTURES = Path(__file__).resolve().parents[3] / "docs" / "images"
_PATIENCE_MILLISECONDS = 30_000
_IGNORED = ("Failed to load resource: the server responded with a status of 4",)
"""What a browser says of every answer that is a no, expected or not."""
_LOST = ("Failed to load resource: net::ERR_",)

expect.set_options(timeout=_PATIENCE_MILLISECONDS)


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """A running browser, for one module: no other test of this process can have an event loop meanwhile."""
    assert Path(CHROMIUM).exists(), "the tests in a browser need Debian's package chromium"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS.split())
        try:
            yield running
        finally:
            running.close()


class Visitor:
    """A person at a browser, logged in; every complaint of a page, and every request to elsewhere, is noted."""

    def __init__(self, context: BrowserContext, server: RunningServer) -> None:
        self._context = context
        self._server = server
        self._origin = server.origin
        self._ignored = _IGNORED
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []

    @classmethod
    @contextmanager
    def at(cls, browser: Browser, server: RunningServer, **options: object) -> Generator["Visitor"]:
        """Return a visitor whose pages were all in order when they are left."""
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 860}, **options})  # pyright: ignore[reportArgumentType]
        context.set_default_timeout(_PATIENCE_MILLISECONDS)
        visitor = cls(context, server)
        try:
            yield visitor
            assert (visitor.complaints, visitor.elsewhere) == ([], [])
        finally:
            context.close()

    def open(self, path: str = "/") -> Page:
        """Open a page in a new tab."""
        page = self._watch(self._context.new_page())
        if not self._context.cookies():
            page.goto(self._server.url)
            page.wait_for_url(f"{self._origin}/")
        page.goto(self._origin + path)
        return page

    def open_at(self, origin: str, path: str) -> Page:
        """Open a page under another address of the same server, that logs in by itself."""
        self._origin = origin
        page = self._watch(self._context.new_page())
        page.goto(origin + path)
        page.wait_for_url(f"{origin}/")
        return page

    def expect_lost_connections(self) -> None:
        """Take no offence at what a browser says of a server that goes away."""
        self._ignored = (*_IGNORED, *_LOST)

    def _watch(self, page: Page) -> Page:
        page.on("console", lambda said: self._note(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("request", lambda request: self._check(request.url))
        return page

    def _note(self, text: str) -> None:
        if not text.startswith(self._ignored):
            self.complaints.append(text)

    def _check(self, url: str) -> None:
        if not url.startswith(self._origin):
            self.elsewhere.append(url)


def keep_picture(page: Page, name: str) -> None:
    """Keep a picture of a page for the docs, if KEEP_PICTURES is set; else only take it."""
    path = _PICTURES / f"{name}.png"
    if os.environ.get("KEEP_PICTURES"):
        path.parent.mkdir(exist_ok=True)
        page.screenshot(path=path)
    assert len(page.screenshot()) > 10_000


def find_serious_faults(page: Page) -> list[str]:
    """Return what axe finds that would keep a person with a screen reader from using a page."""
    from axe_playwright_python.sync_playwright import Axe

    violations = cast("list[dict[str, Any]]", Axe().run(page).response["violations"])  # pyright: ignore[reportUnknownMemberType]
    return [one["id"] for one in violations if one["impact"] in ("serious", "critical")]
