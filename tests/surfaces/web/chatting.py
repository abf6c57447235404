"""What a person does in the chat, and sees there."""

import re

from playwright.sync_api import Locator, Page, expect

__all__ = ["answer", "begin_anew", "cards", "finished", "is_in_view", "send"]

_IS_END = re.compile(r"\bend\b")
_IS_IN_VIEW = """(element) => {
    const [box, pane] = [element.getBoundingClientRect(), document.getElementById("scroll").getBoundingClientRect()];
    return box.top >= pane.top - 1 && box.bottom <= pane.bottom + 1;
}"""


def begin_anew(page: Page) -> None:
    """Leave for a new conversation, and wait until it is there."""
    with page.expect_navigation():
        page.click("#new")


def send(page: Page, text: str) -> None:
    """Send a message."""
    page.fill("#message", text)
    page.keyboard.press("Enter")


def cards(page: Page, role: str, state: str = "done") -> Locator:
    """Return the cards of calls of a kind."""
    return page.locator(f"article.tool[data-role={role}][data-state={state}]")


def finished(page: Page) -> None:
    """Wait until the answer is whole: closed by its last line, without which the page is as before it begins."""
    expect(page.locator("#blocks > :last-child")).to_have_class(_IS_END)
    expect(page.locator("#send")).to_be_visible()
    expect(page.locator("#stop")).to_be_hidden()


def answer(page: Page, word: str) -> None:
    """Answer the question that waits."""
    page.locator(f"form.consent button[data-answer={word}]").click()


def is_in_view(part: Locator) -> bool:
    """Whether all of a part of the conversation is seen."""
    return bool(part.evaluate(_IS_IN_VIEW))
