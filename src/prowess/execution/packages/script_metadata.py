"""What a Python script says of itself in its comments, by PEP 723: the packages and the Python that it needs.

Only names, versions and markers are taken. An address, a path or an option would be followed on the host, where
packages are fetched, and so would an index in a `[tool.uv]` table.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from prowess.catalog.eligibility import satisfies
from prowess.skill.deception import make_printable
from prowess.skill.problems import Problem, make_problem

__all__ = ["MAX_DEPENDENCIES", "READ_BYTES", "ScriptMetadata", "parse_script_metadata", "satisfies_python"]

READ_BYTES = 256 * 1024
"""How much of a script is looked at."""
MAX_DEPENDENCIES = 200
_MAX_DEPENDENCY_CHARACTERS = 500
_MAX_REQUIRES_CHARACTERS = 200
_MAX_BLOCK_BYTES = 128 * 1024
_MAX_DOTS_IN_LINE = 500
"""The time for a TOML key grows with the square of its parts."""
_MAX_IGNORED = 20

_START = re.compile(rb"# /// ([A-Za-z0-9-]+)")
_END = b"# ///"
_LINE_OF_ERROR = re.compile(r" ?\(at line (\d+), column \d+\)")

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_CLAUSE = r"(?:===|==|~=|!=|<=|>=|<|>)[ \t]*[A-Za-z0-9_.*+!-]+"
_CLAUSES = rf"{_CLAUSE}(?:[ \t]*,[ \t]*{_CLAUSE})*(?:[ \t]*,)?"
_REQUIREMENT = re.compile(
    rf"{_NAME}[ \t]*(?:\[[ \t]*(?:{_NAME}(?:[ \t]*,[ \t]*{_NAME})*)?[ \t]*\][ \t]*)?"
    rf"(?:{_CLAUSES}|\([ \t]*{_CLAUSES}[ \t]*\))?[ \t]*(?:;(?P<marker>.*))?"
)
_VARIABLES = (
    "python_version|python_full_version|os_name|sys_platform|platform_release|platform_system|platform_version|"
    "platform_machine|platform_python_implementation|implementation_name|implementation_version|extra"
)
_QUOTED = "[A-Za-z0-9 ._*+!~:,()-]*"
_OPERAND = rf"(?:(?:{_VARIABLES})\b|\"{_QUOTED}\"|'{_QUOTED}')"
_COMPARISON = rf"{_OPERAND}[ \t]*(?:===|==|~=|!=|<=|>=|<|>|\bin\b|\bnot[ \t]+in\b)[ \t]*{_OPERAND}"
_MARKER_PART = re.compile(rf"[ \t]*(?:(?P<comparison>{_COMPARISON})|(?P<sign>[()])|(?P<joint>(?:and|or)\b))[ \t]*")


@dataclass(frozen=True, slots=True)
class ScriptMetadata:
    """What a script declares."""

    dependencies: tuple[str, ...] = ()
    """As written, in order, each once."""
    requires_python: str = ""
    """As in `>=3.11`; empty for any Python."""
    ignored: tuple[str, ...] = ()
    """Other keys, which Prowess does not obey, such as `tool.uv`."""


@dataclass(frozen=True, slots=True)
class _Block:
    first_line: int
    """Of its content, counted from 1."""
    content: bytes


class _Unusable(Exception):
    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def parse_script_metadata(source: bytes) -> tuple[ScriptMetadata | None, tuple[Problem, ...]]:
    """Return what a script declares, or None and why it cannot be used; None alone if it declares nothing."""
    try:
        block = _find_block(source)
        if block is None:
            return None, ()
        table = _read_toml(block)
        written = _read_dependencies(table)
        requires = _read_requires(table)
    except _Unusable as fault:
        return None, (make_problem("script-metadata-bad", fault.message, line=fault.line),)
    refused = tuple(
        make_problem("dependency-refused", f"'{_shorten(text)}': {why}", line=_find_line(block, text))
        for text in written
        if (why := _find_fault(text))
    )
    if refused:
        return None, refused
    return ScriptMetadata(written, requires, _name_ignored(table)), ()


def satisfies_python(requires_python: str, version: tuple[int, ...]) -> bool:
    """Whether a Python is one that the script can use. A condition that cannot be read is met by none."""
    return not requires_python or satisfies(version, requires_python)


def _find_block(source: bytes) -> _Block | None:
    lines = source[:READ_BYTES].removeprefix(b"\xef\xbb\xbf").splitlines()
    is_cut = len(source) > READ_BYTES
    found: _Block | None = None
    number = 0
    while number < len(lines):
        start = _START.fullmatch(lines[number])
        number += 1
        if start is None:
            continue
        after = _find_end_of_comments(lines, number)
        if start[1] == b"script" and is_cut and after == len(lines):
            raise _Unusable(f"the block does not end within the first {READ_BYTES:,} bytes", number)
        end = next((at for at in range(after - 1, number - 1, -1) if lines[at] == _END), None)
        if end is None:
            continue  # A block that is not closed is none.
        if start[1] == b"script":
            if found is not None:
                raise _Unusable("there are two blocks '# /// script'; only one can be meant", number)
            found = _Block(number + 1, b"\n".join(line[2:] for line in lines[number:end]))
        number = end + 1
    return found


def _find_end_of_comments(lines: Sequence[bytes], number: int) -> int:
    """Return where the lines end that can belong to a block: `#` alone, or with a blank after it."""
    while number < len(lines) and (lines[number] == b"#" or lines[number].startswith(b"# ")):
        number += 1
    return number


def _read_toml(block: _Block) -> Mapping[str, object]:
    import tomllib

    if len(block.content) > _MAX_BLOCK_BYTES:
        raise _Unusable(f"the block is larger than {_MAX_BLOCK_BYTES:,} bytes", block.first_line)
    for at, line in enumerate(block.content.split(b"\n")):
        if line.count(b".") > _MAX_DOTS_IN_LINE:
            raise _Unusable(f"a line has more than {_MAX_DOTS_IN_LINE} full stops", block.first_line + at)
    try:
        return tomllib.loads(block.content.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = block.first_line + block.content.count(b"\n", 0, error.start)
        raise _Unusable("the block is not UTF-8", line) from error
    except RecursionError as error:
        raise _Unusable("the block nests too deeply", block.first_line) from error
    except ValueError as error:  # TOML that is wrong, or a number with thousands of digits.
        place = _LINE_OF_ERROR.search(str(error))
        line = int(place[1]) - 1 if place else block.content.count(b"\n")
        reason = _LINE_OF_ERROR.sub("", str(error))[:200]
        raise _Unusable(f"the block is not TOML: {reason}", block.first_line + line) from error


def _read_dependencies(table: Mapping[str, object]) -> tuple[str, ...]:
    given = table.get("dependencies", [])
    if not isinstance(given, list):
        raise _Unusable("dependencies is not a list")
    items = cast("list[object]", given)
    if len(items) > MAX_DEPENDENCIES:
        raise _Unusable(f"there are {len(items):,} dependencies, more than {MAX_DEPENDENCIES}")
    texts = [item.strip(" \t") for item in items if isinstance(item, str)]
    if len(texts) < len(items):
        raise _Unusable("dependencies holds something that is not a text")
    return tuple(dict.fromkeys(texts))


def _read_requires(table: Mapping[str, object]) -> str:
    given = table.get("requires-python", "")
    if not isinstance(given, str):
        raise _Unusable("requires-python is not a text")
    if len(given) > _MAX_REQUIRES_CHARACTERS or not given.isprintable():
        raise _Unusable("requires-python is too long, or holds line breaks or control characters")
    return given.strip()


def _find_fault(text: str) -> str:
    """Return why a dependency is refused; nothing if it is a name with extras, versions and a marker at most."""
    if len(text) > _MAX_DEPENDENCY_CHARACTERS:
        return f"it is longer than {_MAX_DEPENDENCY_CHARACTERS} characters"
    if any((ord(character) < 32 and character != "\t") or ord(character) == 127 for character in text):
        return "it holds line breaks or control characters"
    if text.startswith("-"):
        return "it is an option, not a package"
    found = _REQUIREMENT.fullmatch(text)
    if found is None:
        requirement = text.partition(";")[0]
        if "@" in requirement or "/" in requirement or "\\" in requirement or ":" in requirement:
            return "it is an address or a path, not a package by its name"
        return "it is not a package's name with versions"
    if found["marker"] is not None and not _is_marker(found["marker"]):
        return "what stands after ';' is not a marker"
    return ""


def _is_marker(text: str) -> bool:
    """Whether comparisons, `and`, `or` and parentheses stand in an order that means something."""
    position, depth, is_wanted = 0, 0, True
    while position < len(text):
        part = _MARKER_PART.match(text, position)
        if part is None or is_wanted != (part["comparison"] is not None or part["sign"] == "("):
            return False
        position = part.end()
        if part["sign"]:
            depth += 1 if part["sign"] == "(" else -1
            if depth < 0:
                return False
        else:
            is_wanted = not is_wanted
    return depth == 0 and not is_wanted


def _name_ignored(table: Mapping[str, object]) -> tuple[str, ...]:
    names: list[str] = []
    for key, value in table.items():
        if key in {"dependencies", "requires-python"}:
            continue
        if key == "tool" and isinstance(value, dict) and value:
            names += [f"tool.{name}" for name in cast("dict[str, object]", value)]
        else:
            names.append(key)
    cut = [f"and {len(names) - _MAX_IGNORED} more"] if len(names) > _MAX_IGNORED else []
    return tuple(_printable(names[:_MAX_IGNORED])) + tuple(cut)


def _printable(names: Iterable[str]) -> list[str]:
    return [_shorten(make_printable(name)) for name in names]


def _find_line(block: _Block, text: str) -> int:
    """Return the line where a dependency is written, as far as it can be found; else where the block begins."""
    at = block.content.find(text.encode("utf-8"))
    return block.first_line + (block.content.count(b"\n", 0, at) if at >= 0 else 0)


def _shorten(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
