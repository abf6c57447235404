"""YAML read within bounds, whatever the document.

The values are built here from the C parser's events, one at a time, so that depth, number, aliases and tags are seen
before anything exists. Nothing is resolved: `1.10`, `2026-01-01`, `on` and `null` come out as they were written.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol, cast

import yaml

from prowess.skill.plain_yaml import parse_plain_yaml
from prowess.skill.problems import Problem, make_problem
from prowess.skill.yaml_values import YamlMap, YamlValue

__all__ = ["MAX_ALIASES", "MAX_DEPTH", "MAX_NODES", "YamlDocument", "YamlPath", "locate_keys", "parse_yaml"]

MAX_DEPTH = 16
MAX_NODES = 2_000
MAX_ALIASES = 16

_PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map")
)
YamlPath = tuple[str | int, ...]
"""Keys and indexes from the root."""


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A map read from YAML, with the Problems that did not prevent it."""

    values: YamlMap
    problems: tuple[Problem, ...] = ()


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
        return _syntax_problem(error, first_line)
    if isinstance(value, dict):
        return YamlDocument(value, tuple(builder.problems))
    return make_problem("yaml-not-a-map", "the frontmatter is not a map of keys", line=first_line, column=1)


def locate_keys(text: str, *, first_line: int = 1) -> dict[YamlPath, tuple[int, int]]:
    """Return line and column of every key and item by its path, as far as the text can be read.

    Positions are wanted only when something is wrong, so they are found by reading once more.
    """
    builder = _Builder(first_line=first_line, strict=False, places={})
    with suppress(_Fault, yaml.YAMLError):
        builder.build(text)
    return builder.places or {}


class _Mark(Protocol):
    line: int
    column: int


def _mark(event: yaml.Event) -> _Mark:
    return cast("_Mark", event.start_mark)


class _Fault(Exception):
    """Leaves the builder with the Problem that ends the reading; never leaves this module."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(slots=True)
class _Open:
    """A list or map that is being filled."""

    value: list[YamlValue] | YamlMap
    anchor: str | None
    weight: int = 1
    key: str | None = None
    doubled: bool = False
    """The value of the present key is thrown away: the key was given before."""


@dataclass(slots=True)
class _Builder:
    first_line: int
    strict: bool
    places: dict[YamlPath, tuple[int, int]] | None = None
    """Filled on the way, if it is there."""
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
        self._check_tag(event)
        self._count(1, _mark(event))
        text = event.value
        if self._expects_key():
            self._key(text, _mark(event))
            return
        self._remember(event.anchor, text, 1)
        self._add(text, 1, _mark(event))

    def open(self, event: yaml.SequenceStartEvent | yaml.MappingStartEvent) -> None:
        self._check_tag(event)
        self._count(1, _mark(event))
        if self._expects_key():
            self._fail("yaml-complex-key", "a list or a map stands where a key is expected", _mark(event))
        if len(self.stack) >= MAX_DEPTH:
            self._fail("yaml-too-deep", f"the YAML nests deeper than {MAX_DEPTH} levels", _mark(event))
        value: list[YamlValue] | YamlMap = [] if isinstance(event, yaml.SequenceStartEvent) else {}
        self._add(value, 1, _mark(event))
        self.stack.append(_Open(value, event.anchor))

    def close(self, _: yaml.Event) -> None:
        closed = self.stack.pop()
        self._remember(closed.anchor, closed.value, closed.weight)
        if self.stack:
            self.stack[-1].weight += closed.weight - 1

    def alias(self, event: yaml.AliasEvent) -> None:
        self.aliases += 1
        if self.aliases > MAX_ALIASES:
            self._fail("yaml-too-many-aliases", f"more than {MAX_ALIASES} aliases", _mark(event))
        known = self.anchors.get(cast("str", event.anchor))
        if known is None:
            self._fail("yaml-bad-alias", f"the alias *{event.anchor} has no complete value", _mark(event))
        value, weight = known
        self._count(weight, _mark(event))
        if not self._expects_key():
            self._add(value, weight, _mark(event))
        elif isinstance(value, str):
            self._key(value, _mark(event))
        else:
            self._fail("yaml-complex-key", "a list or a map stands where a key is expected", _mark(event))

    def document(self, event: yaml.DocumentStartEvent) -> None:
        if self.root is not None:
            self._fail("yaml-several-documents", "a second YAML document begins here", _mark(event))

    def _expects_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None

    def _key(self, text: str, mark: _Mark) -> None:
        top = self.stack[-1]
        top.key = text
        top.doubled = text in top.value
        if self.places is not None:
            self.places.setdefault(self._path(), self._at(mark))
        if top.doubled:
            line, column = self._at(mark)
            message = f"the key '{text[:64]}' is given twice; the first one counts"
            self.problems.append(
                make_problem("yaml-duplicate-key", message, strict=self.strict, line=line, column=column)
            )

    def _add(self, value: YamlValue, weight: int, mark: _Mark) -> None:
        if not self.stack:
            self.root = value
            return
        top = self.stack[-1]
        top.weight += weight
        if isinstance(top.value, list):
            top.value.append(value)
            if self.places is not None:
                self.places.setdefault(self._path(), self._at(mark))
        elif top.key is not None:
            if not top.doubled:
                top.value[top.key] = value
            top.key = None

    def _path(self) -> YamlPath:
        """Where the builder stands."""
        steps: list[str | int] = []
        for level in self.stack:
            if isinstance(level.value, list):
                steps.append(len(level.value) - 1)
            else:
                steps.append(level.key if level.key is not None else next(reversed(level.value), ""))
        return tuple(steps)

    def _remember(self, anchor: object, value: YamlValue, weight: int) -> None:
        if isinstance(anchor, str):
            self.anchors[anchor] = (value, weight)

    def _count(self, weight: int, mark: _Mark) -> None:
        self.nodes += weight
        if self.nodes > MAX_NODES:
            self._fail("yaml-too-many-nodes", f"the YAML holds more than {MAX_NODES:,} values", mark)

    def _check_tag(self, event: yaml.NodeEvent) -> None:
        tag = cast("str | None", getattr(event, "tag", None))
        if tag is None or tag == "!" or tag in _PLAIN_TAGS:
            return
        self._fail("yaml-tag", f"the tag {tag[:64]} is not allowed", _mark(event))

    def _at(self, mark: _Mark) -> tuple[int, int]:
        return self.first_line + mark.line, mark.column + 1

    def _fail(self, code: str, message: str, mark: _Mark) -> NoReturn:
        line, column = self._at(mark)
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


def _syntax_problem(error: yaml.YAMLError, first_line: int) -> Problem:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.problem, error.context) if part)
        line, column = (first_line + mark.line, mark.column + 1) if mark else (first_line, 1)
        return make_problem("yaml-invalid", f"YAML parse error: {what}", line=line, column=column)
    return make_problem("yaml-invalid", f"YAML parse error: {error}".split("\n")[0], line=first_line, column=1)
