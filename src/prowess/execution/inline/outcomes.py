"""What a snippet may use, and what came of it."""

from dataclasses import dataclass

__all__ = ["PythonOutcome", "SnippetLimits", "cut_middle"]

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SnippetLimits:
    """What one snippet may use. Reaching a bound ends it, or cuts its output, and is always told."""

    seconds: float = 10.0
    """Of the code itself; functions that it calls take their own time."""
    memory_bytes: int = 64 * _MIB
    recursion: int = 500
    """Calls within calls."""
    calls: int = 100
    """Of functions."""
    result_characters: int = 16_000_000
    """Of all that functions return."""
    output_bytes: int = 250_000
    """Of what it prints, and again of its last value."""
    error_characters: int = 10_000
    state_bytes: int = 8 * _MIB
    """Of the variables that are kept for the session's next snippet."""


@dataclass(frozen=True, slots=True)
class PythonOutcome:
    """What came of a snippet, whatever it did."""

    printed: str = ""
    value: str | None = None
    """Of the last expression: a text as it is, all else as Python writes it; None if there is none."""
    error: str = ""
    """Why it did not come to its end, for its author; empty if it did."""
    truncated: bool = False
    """Whether something of the above was cut, which shows in it."""
    notices: tuple[str, ...] = ()
    """What its author should know besides, a sentence each."""
    seconds: float = 0.0
    """With the functions that it called."""

    @property
    def succeeded(self) -> bool:
        """Whether it came to its end."""
        return not self.error


def cut_middle(text: str, *, limit: int) -> str:
    """Return the beginning and the end of a text that is too long, with a notice between them."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters cut …]\n{text[len(text) - half :]}"
