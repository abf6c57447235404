"""How a failure of a provider is told: whose it is, what was said, what to look at; and never the key."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from prowess.agent.providers.usability import UsableModel
from prowess.skill.deception import make_printable

__all__ = ["Teller"]

_MAX_CHARACTERS = 300
_NO_REASON = "no reason is given"
_MAX_DEPTH = 32
"""So deep is looked for a message in an error's body."""
_MIN_SECRET = 6
"""Shorter values are no keys, and hiding them would only garble the text."""
_NAMES_SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD")
_LOOKS_SECRET = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|AIza)[-_A-Za-z0-9*]{12,}|(?<=[Bb]earer )[\w.~+/-]{20,}")


@dataclass(frozen=True, slots=True)
class Teller:
    """Says what happened with one model."""

    model: UsableModel

    def say(self, what: str, error: BaseException | None = None) -> str:
        """Return a sentence about its provider, with what the error says."""
        detail = f": {self._quote(error)}" if error else ""
        return f"model '{self.model.name}': {self.model.place} {what}{detail}"

    @property
    def address_hint(self) -> str:
        """What to look at when nobody is there, or somebody strange."""
        if self.model.address:
            return f"is {self.model.place} the right address, and its server running?"
        return "check the network, or try again later"

    @property
    def key_hint(self) -> str:
        """What to look at when the key is not taken."""
        if self.model.key:
            return f"check the key in {self.model.key}, and that it may use this model"
        keys = self.model.provider.keys if self.model.provider else ()
        return f"set {' or '.join(keys)}, if a key is wanted" if keys else "check the account's rights"

    def suggest_name(self, near: str | None) -> str:
        """Return what to look at when the model, or what was asked of it, is not taken."""
        address = f" and the address {self.model.place}" if self.model.address else ""
        meant = f"; did you mean '{near}'?" if near else ""
        return f"check the model's name '{self.model.name.partition(':')[2]}'{address}{meant}"

    def _quote(self, error: BaseException) -> str:
        """Return what an error says, in one line, cut where it is long."""
        status = getattr(error, "status_code", None)
        body = getattr(error, "body", None)
        said = _find_message(body) if status or body else str(getattr(error, "message", "") or error)
        line = make_printable(" ".join(self._hide_secrets(said or type(error).__name__).split()))
        cut = line if len(line) <= _MAX_CHARACTERS else line[:_MAX_CHARACTERS] + "…"
        return f"status {status}, {cut}" if status else cut

    def _hide_secrets(self, text: str) -> str:
        """Return text without what the environment keeps secret: some servers repeat the key that they refuse."""
        values = [value for name, value in os.environ.items() if _NAMES_SECRET.search(name)]
        for secret in " ".join((*values, urlsplit(self.model.address).password or "")).split():
            text = text.replace(secret, "…") if len(secret) >= _MIN_SECRET else text
        return _LOOKS_SECRET.sub("…", text)


def _find_message(body: object, *, depth: int = _MAX_DEPTH) -> str:
    """Return the sentence in an error's body, wherever a provider puts it, within bounds."""
    if not isinstance(body, Mapping) or depth == 0:
        return _render_body(cast("object", body)) if body else _NO_REASON
    fields = cast("Mapping[str, Any]", body)
    places = [name for name in ("message", "Message", "error", "Error", "detail") if name in fields]
    found = (_find_message(fields[name], depth=depth - 1) for name in places)
    return next((text for text in found if text != _NO_REASON), _NO_REASON if places else _render_body(fields))


def _render_body(body: object) -> str:
    try:
        return str(body)
    except RecursionError:  # It is nested deeper than Python can follow.
        return _NO_REASON
