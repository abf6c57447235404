"""The standard's rule for names, in its two readings, and the rewriting of a name that breaks it."""

import re
import unicodedata

__all__ = ["MAX_NAME_LENGTH", "follows_unicode_rule", "is_standard_name", "normalise_name", "sanitise_name"]

MAX_NAME_LENGTH = 64

_STANDARD = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NOT_ALLOWED = re.compile(r"[^a-z0-9]+")


def is_standard_name(name: str) -> bool:
    """Whether `name` follows the rule in its ASCII reading, its length left aside."""
    return _STANDARD.fullmatch(name) is not None


def follows_unicode_rule(name: str) -> bool:
    """Whether `name` follows the rule with letters and digits of any script."""
    parts = name.split("-")
    return name == name.lower() and all(part.isalnum() for part in parts)


def normalise_name(name: str) -> str:
    """Return one spelling for all spellings of the same characters."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def sanitise_name(name: str) -> str:
    """Return `name` rewritten to the rule; empty if nothing of it fits."""
    plain = unicodedata.normalize("NFKD", name).lower()
    return (
        _NOT_ALLOWED.sub("-", "".join(c for c in plain if not unicodedata.combining(c)))
        .strip("-")[:MAX_NAME_LENGTH]
        .strip("-")
    )
