"""The trigger tests that a skill ships: what people say that should make a model use it, and what should not.

Two forms are read. Ours is a map, as YAML or JSON: `should` and `should_not`, each a list of texts. The other is the
list that skill-creator and its kin keep as JSON, of objects with `query` (or `prompt`) and `should_trigger`.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import cast

from prowess.skill.bounded_yaml import YamlDocument, YamlPath, locate_keys, parse_yaml
from prowess.skill.deception import make_encodable
from prowess.skill.problems import Problem, make_problem

__all__ = [
    "MAX_FILE_BYTES",
    "MAX_QUERIES",
    "MAX_QUERY_LENGTH",
    "TEST_FILES",
    "Expectation",
    "TriggerQuery",
    "TriggerTests",
    "merge_trigger_tests",
    "parse_trigger_tests",
]

_FOR_ANSWERS = "evals/evals.json"
"""Most of what stands there is about answers; only entries that say `should_trigger` are about triggers."""
TEST_FILES = (
    "evals/triggers.yaml",
    "evals/triggers.yml",
    "evals/triggers.json",
    "evals/trigger_evals.json",
    "evals/trigger-evals.json",
    "evals/trigger-queries.json",
    "evals/eval_queries.json",
    _FOR_ANSWERS,
)
"""Where trigger tests may stand, below the skill's folder; all that are there count."""
MAX_FILE_BYTES = 64 * 1024
"""As for a frontmatter: what reads it is known to take little time and memory up to there."""
MAX_QUERIES = 200
"""Of one skill, of both kinds together."""
MAX_QUERY_LENGTH = 4_000
"""In characters."""

_MAX_PROBLEMS = 20
"""Of one file."""
_LISTS = ("evals", "queries")
"""Keys under which others keep their list."""
_TEXTS = ("query", "prompt")
"""Keys under which an entry of such a list keeps its text."""
_SHOULD_TRIGGER = "should_trigger"
_SHOWN = 60


class Expectation(StrEnum):
    """What a query should do."""

    SHOULD = "should"
    SHOULD_NOT = "should_not"


_SAID = {"true": Expectation.SHOULD, "false": Expectation.SHOULD_NOT}


@dataclass(frozen=True, slots=True)
class TriggerQuery:
    """Something that a person might say, and whether the skill is meant by it."""

    text: str
    expected: Expectation


@dataclass(frozen=True, slots=True)
class TriggerTests:
    """The queries of a skill, each once, and what is wrong with the files that they stand in."""

    queries: tuple[TriggerQuery, ...] = ()
    problems: tuple[Problem, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.queries or self.problems)

    def texts(self, expected: Expectation) -> tuple[str, ...]:
        """Return the texts of one kind, in their order."""
        return tuple(query.text for query in self.queries if query.expected is expected)


def parse_trigger_tests(raw: bytes, *, path: str) -> TriggerTests:
    """Return what a file holds; `path` is one of `TEST_FILES`. Whatever the bytes are, there is an answer."""
    if len(raw) > MAX_FILE_BYTES:
        return _refuse(path, f"{path} is larger than {MAX_FILE_BYTES // 1024} KiB")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return _refuse(path, f"byte 0x{raw[error.start]:02x} in {path} is not UTF-8", line=line, column=1)
    value = _parse_json(text, path) if path.endswith(".json") else _parse_yaml(text, path)
    if isinstance(value, TriggerTests):
        return value
    reading = _Reading(path, text)
    queries = tuple(reading.take(value))
    return TriggerTests(queries, tuple(reading.problems))


def merge_trigger_tests(parts: Iterable[TriggerTests]) -> TriggerTests:
    """Return the queries of all files of a skill, bounded; of two that contradict each other the first counts."""
    found: dict[str, TriggerQuery] = {}
    problems: list[Problem] = []
    doubted: dict[str, TriggerQuery] = {}
    for part in parts:
        problems += part.problems
        for query in part.queries:
            text = " ".join(query.text.split())
            if found.setdefault(text, query).expected is not query.expected:
                doubted.setdefault(text, query)
    problems += [_contradiction(query) for query in list(doubted.values())[:_MAX_PROBLEMS]]
    queries = tuple(found.values())
    if len(queries) > MAX_QUERIES:
        message = f"there are {len(queries):,} queries for triggers; the first {MAX_QUERIES} count"
        problems.append(make_problem("evals-too-many", message, path="evals"))
    return TriggerTests(queries[:MAX_QUERIES], tuple(problems))


def _contradiction(query: TriggerQuery) -> Problem:
    message = f"'{_shorten(query.text)}' should trigger the skill and should not; what is said first counts"
    return make_problem("evals-contradiction", message, path="evals")


def _refuse(path: str, message: str, *, line: int | None = None, column: int | None = None) -> TriggerTests:
    return TriggerTests(problems=(make_problem("evals-unusable", message, line=line, column=column, path=path),))


def _parse_json(text: str, path: str) -> object:
    try:
        return cast("object", json.loads(text))
    except json.JSONDecodeError as error:
        return _refuse(path, f"{path} is not JSON: {error.msg}", line=error.lineno, column=error.colno)
    except RecursionError:
        return _refuse(path, f"{path} nests too deep")
    except ValueError:  # A number with more digits than Python reads.
        return _refuse(path, f"{path} holds a number that is too long")


def _parse_yaml(text: str, path: str) -> object:
    found = parse_yaml(text, strict=True)
    if isinstance(found, YamlDocument):
        return found.values if not found.problems else _blame(found.problems[0], path)
    return _blame(found, path)


def _blame(problem: Problem, path: str) -> TriggerTests:
    what = "it is not a map" if problem.code == "yaml-not-a-map" else problem.message
    return _refuse(path, f"{path} cannot be read: {what}", line=problem.line, column=problem.column)


@dataclass(slots=True)
class _Reading:
    """Takes queries out of the value of a file, complaining of what is none, at its place."""

    path: str
    text: str
    problems: list[Problem] = field(default_factory=list[Problem])
    _places: dict[YamlPath, tuple[int, int]] | None = None

    def take(self, value: object) -> Iterator[TriggerQuery]:
        if isinstance(value, list):
            yield from self._take_entries(cast("list[object]", value), ())
        elif not isinstance(value, dict):
            self._complain("evals-unusable", f"{self.path} holds neither a map nor a list", ())
        else:
            yield from self._take_map(cast("dict[str, object]", value))

    def _take_map(self, value: dict[str, object]) -> Iterator[TriggerQuery]:
        key = next((key for key in _LISTS if isinstance(value.get(key), list)), None)
        if key is not None and not any(kind in value for kind in Expectation):
            yield from self._take_entries(cast("list[object]", value[key]), (key,))
            return
        if self.path == _FOR_ANSWERS:
            return
        for key, texts in value.items():
            if key not in set(Expectation):
                self._complain("evals-unusable", f"'{_shorten(key)}' is neither should nor should_not", (key,))
            elif not isinstance(texts, list):
                self._complain("evals-unusable", f"{key} is not a list of texts", (key,))
            else:
                yield from self._take_texts(cast("list[object]", texts), Expectation(key))

    def _take_texts(self, texts: Sequence[object], expected: Expectation) -> Iterator[TriggerQuery]:
        for number, text in enumerate(texts):
            yield from self._take_text(text, expected, (expected.value, number))

    def _take_entries(self, entries: Sequence[object], path: YamlPath) -> Iterator[TriggerQuery]:
        for number, entry in enumerate(entries):
            row = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
            if _SHOULD_TRIGGER not in row and self.path == _FOR_ANSWERS:
                continue
            said = row.get(_SHOULD_TRIGGER)
            expected = _SAID.get(str(said).lower()) if isinstance(said, bool | str) else None
            if expected is None:
                what = "is no object with query, and with should_trigger that is true or false"
                self._complain_of(cast("object", entry), what, (*path, number))
                continue
            text = next((row[key] for key in _TEXTS if key in row), None)
            yield from self._take_text(text, expected, (*path, number))

    def _take_text(self, text: object, expected: Expectation, path: YamlPath) -> Iterator[TriggerQuery]:
        if not isinstance(text, str):
            remedy = "write it as a text; one that holds ': ' goes between quotes"
            self._complain_of(text, "is not a text", path, remedy=remedy)
        elif not text.strip():
            self._complain_of(text, "is empty", path)
        elif len(text) > MAX_QUERY_LENGTH:
            self._complain_of(text, f"has more than {MAX_QUERY_LENGTH:,} characters", path)
        else:
            yield TriggerQuery(make_encodable(text.strip()), expected)

    def _complain_of(self, value: object, what: str, path: YamlPath, *, remedy: str = "") -> None:
        number = path[-1]
        which = f"entry {number + 1}" if isinstance(number, int) else number
        message = f"{which} of {self.path}, {_name(value)}, {what}"
        self._complain("evals-query-invalid", message, path, remedy=remedy)

    def _complain(self, code: str, message: str, path: YamlPath, *, remedy: str = "") -> None:
        if len(self.problems) > _MAX_PROBLEMS:
            return
        line, column = self._locate(path)
        problem = make_problem(code, message, line=line, column=column, remedy=remedy, path=self.path)
        if len(self.problems) == _MAX_PROBLEMS:
            problem = replace(problem, message=f"{self.path} has more faults like these; they are not listed")
        self.problems.append(problem)

    def _locate(self, path: YamlPath) -> tuple[int, int]:
        """Return where a value stands, or what it is part of; JSON is near enough to YAML for that."""
        if self._places is None:
            self._places = locate_keys(self.text)
        known = (self._places[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self._places)
        return next(known, (1, 1))


def _name(value: object) -> str:
    """Return a value in a few words."""
    if isinstance(value, str):
        return f"'{_shorten(value)}'"
    if isinstance(value, dict):
        first = next(iter(cast("dict[str, object]", value)), "")
        return f"a map with '{_shorten(first)}'"
    return "a list" if isinstance(value, list) else _shorten(json.dumps(value))


def _shorten(text: str) -> str:
    line = " ".join(make_encodable(text[: _SHOWN * 2]).split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
