"""YAML read within bounds, whatever the document.

The values are built here from the C parser's events, one at a time, so that depth, number, aliases and tags are seen
before anything exists. Nothing is resolved: `1.10`, `2026-01-01`, `on` and `null` come out as they were written.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, cast

import yaml

from prowess.skill.plain_yaml import parse_plain_yaml
from prowess.skill.problems import Problem, make_problem
from prowess.skill.yaml_values import YamlMap, YamlValue

__all__ = [
    "MAX_ALIASES",
    "MAX_DEPTH",
    "MAX_NODES",
    "YamlDocument",
    "YamlPath",
    "YamlPlaces",
    "locate_keys",
    "parse_yaml",
]

MAX_DEPTH = 16
MAX_NODES = 2_000
MAX_ALIASES = 16

_PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map")
)
_UNSEPARATED = re.compile(r"([A-Za-z_][\w-]*:)[^ \t]")
_AFTER_A_MISSING_BLANK = ("mapping values are not allowed in this context", "could not find expected ':'")
YamlPath = tuple[str | int, ...]
"""Keys and indexes from the root."""
YamlPlaces = dict[YamlPath, tuple[int, int]]
"""Line and column of every key and item by its path, the first one where a key is given twice."""


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A map read from YAML, with the Problems that did not prevent it."""

    values: YamlMap
    problems: tuple[Problem, ...] = ()
    places: YamlPlaces | None = field(default=None, compare=False)
    """Where the keys and items stand; None if the text was plain: `find_plain_key` tells."""


def parse_yaml(text: str, *, first_line: int = 1, strict: bool = False) -> YamlDocument | Problem:
    """Return the map that `text` holds, or the one Problem that makes it unreadable.

    An empty text is an empty map. Lines in Problems are counted from `first_line`.
    """
    plain = parse_plain_yaml(text)
    if plain is not None:
        return YamlDocument(plain)
    builder = _Builder(first_line=first_line, strict=strict)
    try:
        value = builder.build(text)
    except _Fault as fault:
        return fault.problem
    except yaml.YAMLError as error:
        return _find_missing_blank(text, error, first_line) or _syntax_problem(error, first_line)
    if isinstance(value, dict):
        return YamlDocument(value, tuple(builder.problems), builder.places)
    return make_problem("yaml-not-a-map", "the frontmatter is not a map of keys", line=first_line, column=1)


def locate_keys(text: str, *, first_line: int = 1) -> YamlPlaces:
    """Return where every key and item stands, as far as the text can be read."""
    builder = _Builder(first_line=first_line, strict=False)
    with suppress(_Fault, yaml.YAMLError):
        builder.build(text)
    return builder.places


class _Mark(Protocol):
    line: int
    column: int


class _Fault(Exception):
    """Leaves the builder with the Problem that ends the reading; never leaves this module."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(slots=True)
class _Open:
    """A list or map that is being filled."""

    value: list[YamlValue] | YamlMap
    path: YamlPath
    anchor: str | None
    weight: int = 1
    key: str | None = None
    doubled: bool = False
    """The value of the present key is thrown away: the key was given before."""


@dataclass(slots=True)
class _Builder:
    first_line: int
    strict: bool
    places: YamlPlaces = field(default_factory=YamlPlaces)
    problems: list[Problem] = field(default_factory=list[Problem])
    stack: list[_Open] = field(default_factory=list[_Open])
    anchors: dict[str, tuple[YamlValue, int]] = field(default_factory=dict[str, tuple[YamlValue, int]])
    nodes: int = 0
    aliases: int = 0
    root: YamlValue | None = None

    def build(self, text: str) -> YamlValue:
        parser = yaml.CBaseLoader(text)  # The C parser; its loader is left alone.
        try:
            while (event := parser.get_event()) is not None:
                handle = _HANDLERS.get(type(event))
                if handle is not None:
                    handle(self, event)
        finally:
            parser.dispose()
        return {} if self.root is None or self.root == "" else self.root

    def scalar(self, event: yaml.ScalarEvent) -> None:
        self._count(1, event)
        if event.tag is not None:
            self._check_tag(event)
        text = event.value
        if self._expects_key():
            self._key(text, event)
            return
        if event.anchor is not None:
            self._remember(event.anchor, text, 1)
        self._add(text, 1, event)

    def open(self, event: yaml.SequenceStartEvent | yaml.MappingStartEvent) -> None:
        self._count(1, event)
        self._check_tag(event)
        if self._expects_key():
            self._fail("yaml-complex-key", "a list or a map stands where a key is expected", event)
        if len(self.stack) >= MAX_DEPTH:
            self._fail("yaml-too-deep", f"the YAML nests deeper than {MAX_DEPTH} levels", event)
        value: list[YamlValue] | YamlMap = [] if isinstance(event, yaml.SequenceStartEvent) else {}
        self.stack.append(_Open(value, self._add(value, 1, event), event.anchor))

    def close(self, _: yaml.Event) -> None:
        closed = self.stack.pop()
        self._remember(closed.anchor, closed.value, closed.weight)
        if self.stack:
            self.stack[-1].weight += closed.weight - 1

    def alias(self, event: yaml.AliasEvent) -> None:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            self._fail("yaml-too-many-aliases", f"more than {MAX_ALIASES} aliases", event)
        known = self.anchors.get(cast("str", event.anchor))
        if known is None:
            self._fail("yaml-bad-alias", f"the alias *{event.anchor} has no complete value", event)
        value, weight = known
        self._count(weight, event)
        if not self._expects_key():
            self._add(value, weight, event)
        elif isinstance(value, str):
            self._key(value, event)
        else:
            self._fail("yaml-complex-key", "a list or a map stands where a key is expected", event)

    def document(self, event: yaml.DocumentStartEvent) -> None:
        if self.root is not None:
            self._fail("yaml-several-documents", "a second YAML document begins here", event)

    def _expects_key(self) -> bool:
        if not self.stack:
            return False
        top = self.stack[-1]
        return top.key is None and isinstance(top.value, dict)

    def _key(self, text: str, event: yaml.Event) -> None:
        top = self.stack[-1]
        top.key = text
        top.doubled = text in top.value
        line, column = at = self._at(event)
        self.places.setdefault((*top.path, text), at)
        if top.doubled:
            message = f"the key '{text[:64]}' is given twice; the first one counts"
            self.problems.append(
                make_problem("yaml-duplicate-key", message, strict=self.strict, line=line, column=column)
            )

    def _add(self, value: YamlValue, weight: int, event: yaml.Event) -> YamlPath:
        """Put a value into what is being filled; return its path."""
        if not self.stack:
            self.root = value
            return ()
        top = self.stack[-1]
        top.weight += weight
        if isinstance(top.value, list):
            path = (*top.path, len(top.value))
            top.value.append(value)
            self.places.setdefault(path, self._at(event))
            return path
        key = cast("str", top.key)  # A value in a map comes after its key.
        top.key = None
        if not top.doubled:
            top.value[key] = value
        return (*top.path, key)

    def _remember(self, anchor: object, value: YamlValue, weight: int) -> None:
        if isinstance(anchor, str):
            self.anchors[anchor] = (value, weight)

    def _count(self, weight: int, event: yaml.Event) -> None:
        self.nodes += weight
        if self.nodes > MAX_NODES:
            self._fail("yaml-too-many-nodes", f"the YAML holds more than {MAX_NODES:,} values", event)

    def _check_tag(self, event: yaml.NodeEvent) -> None:
        tag = cast("str | None", getattr(event, "tag", None))
        if tag is None or tag == "!" or tag in _PLAIN_TAGS:
            return
        self._fail("yaml-tag", f"the tag {tag[:64]} is not allowed", event)

    def _at(self, event: yaml.Event) -> tuple[int, int]:
        mark = cast("_Mark", event.start_mark)
        return self.first_line + mark.line, mark.column + 1

    def _fail(self, code: str, message: str, event: yaml.Event) -> NoReturn:
        line, column = self._at(event)
        raise _Fault(make_problem(code, message, strict=self.strict, line=line, column=column))


_HANDLERS: dict[type[yaml.Event], Callable[[_Builder, Any], None]] = {
    yaml.ScalarEvent: _Builder.scalar,
    yaml.SequenceStartEvent: _Builder.open,
    yaml.MappingStartEvent: _Builder.open,
    yaml.SequenceEndEvent: _Builder.close,
    yaml.MappingEndEvent: _Builder.close,
    yaml.AliasEvent: _Builder.alias,
    yaml.DocumentStartEvent: _Builder.document,
}


def _find_missing_blank(text: str, error: yaml.YAMLError, first_line: int) -> Problem | None:
    """Return the Problem with a key whose colon no blank follows: YAML complains of the line after it only."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem not in _AFTER_A_MISSING_BLANK:
        return None
    mark = cast("_Mark | None", error.context_mark or error.problem_mark)
    if mark is None:
        return None
    lines = text.split("\n")[: mark.line + (error.context_mark is not None)]
    found: tuple[int, str] | None = None
    while lines and (not lines[-1].strip() or _UNSEPARATED.match(lines[-1])):
        if key := _UNSEPARATED.match(lines.pop()):
            found = len(lines), key[1]
    if found is None:
        return None
    message = f"YAML parse error: no blank follows '{found[1][:64]}'"
    return make_problem("yaml-invalid", message, line=first_line + found[0], column=len(found[1]) + 1)


def _syntax_problem(error: yaml.YAMLError, first_line: int) -> Problem:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.problem, error.context) if part)
        line, column = (first_line + mark.line, mark.column + 1) if mark else (first_line, 1)
        return make_problem("yaml-invalid", f"YAML parse error: {what}", line=line, column=column)
    return make_problem("yaml-invalid", f"YAML parse error: {error}".split("\n")[0], line=first_line, column=1)
