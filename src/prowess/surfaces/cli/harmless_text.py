"""Text that a model, a skill or a script wrote, made harmless for a terminal: shown, and never obeyed."""

import re

from prowess.skill.deception import make_printable

__all__ = ["HarmlessStream", "make_harmless"]

_KEPT = re.compile("([\n\t\u200c\u200d\ufe00-\ufe0f])")
"""Line breaks, tabs, and the joiners and selectors that some scripts and emoji are written with."""


def make_harmless(text: str) -> str:
    """Return a text of many lines with all else that a terminal might obey written as an escape."""
    return "".join(part if index % 2 else make_printable(part) for index, part in enumerate(_KEPT.split(text)))


class HarmlessStream:
    """Makes a text harmless that comes in pieces; an end of line may lie in two of them."""

    def __init__(self, *, carriage_return: str = "\\r") -> None:
        self._carriage_return = carriage_return
        """What one that is alone becomes."""
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what can be shown by now."""
        text = self._held + piece
        shown = text.removesuffix("\r")
        self._held = text[len(shown) :]
        return self._tame(shown)

    def finish(self) -> str:
        """Return what was held back, and begin anew."""
        held, self._held = self._held, ""
        return self._tame(held)

    def _tame(self, text: str) -> str:
        return make_harmless(text.replace("\r\n", "\n").replace("\r", self._carriage_return))
