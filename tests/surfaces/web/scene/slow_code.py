"""Code that is made to be slow to colour: `python -m tests.surfaces.web.scene.slow_code` colours all of it."""

from collections.abc import Iterator

from prowess.surfaces.web.scene.code_colours import LANGUAGES, MAX_CODE, colour_code

__all__: list[str] = []

_BEGINNINGS = ("", "x ")
_SPECIAL = {"php": "<?php "}
"""Where a language begins only after a mark."""
_UNITS = (
    *("\n", " ", "\t", " \n", "\r\n", "\\\n", "a\n", "_\n", "_", "a", "A", "0", "1.", "a ", "a.", "a=", "a::", "a["),
    *("'", '"', "`", "\\", '\\"', '"""', "(", "[", "{", "<", ")", "]", "}", ">", "/", "//", "/*", "<!--", "--", "#"),
    *("$", "${", "$(", "%", "&", "&a", "@", "|", "~", "^", "=", ":", ";", ",", "-", "+", "!", "?", "<?", "[[", "--[["),
    *("<<A", "f'{", "<a ", "<script>", "def ", "class ", "a<b<", ".-", "a(", "k: "),
)


def _make_codes(language: str) -> Iterator[str]:
    for beginning in (_SPECIAL[language],) if language in _SPECIAL else _BEGINNINGS:
        for unit in _UNITS:
            yield beginning + unit * ((MAX_CODE - len(beginning)) // len(unit))


if __name__ == "__main__":
    for language in LANGUAGES:
        for code in _make_codes(language):
            colour_code(code, language)
