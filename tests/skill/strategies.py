"""The texts that Hypothesis draws in this room.

Alphabets are listed or counted: Hypothesis' own tables of characters take seconds to build on a fresh machine.
"""

from hypothesis import strategies as st

__all__ = ["any_text", "clean_line", "yaml_line"]

_PLAIN = "abcxyz AZ09.,-_"
_BEYOND_ASCII = "éß—µΔα技能мΩ😀\u0301"
_YAML_SIGNS = ":#'\"\\[]{}&*!|>%@`?~<=/()$"
_HIDDEN = "\u200b\u202e\ufe0f\U000e0041\xad\ufeff\x07\x7f"

any_text = st.text(st.integers(0, 0x10FFFF).map(chr) | st.sampled_from(_PLAIN + _BEYOND_ASCII + _HIDDEN + "раΟ\n\r\t"))
"""Text of any characters, surrogates included."""

yaml_line = st.text(st.sampled_from(_PLAIN + _YAML_SIGNS + "  \t" + _BEYOND_ASCII + _HIDDEN), max_size=24)
"""Text on one line, rich in what YAML gives a meaning to."""

clean_line = (
    st.text(st.sampled_from(_PLAIN + _YAML_SIGNS + _BEYOND_ASCII), min_size=1, max_size=40)
    .map(lambda text: " ".join(text.split()))
    .filter(bool)
)
"""Text on one line that nothing would be taken from."""
