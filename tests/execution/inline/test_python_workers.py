"""Snippets in real workers, whatever they try."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prowess.errors import Refused
from prowess.execution.inline.notebooks import MAX_BYTES, MAX_NOTEBOOKS, Notebooks
from prowess.execution.inline.outcomes import PythonOutcome, SnippetLimits
from prowess.execution.inline.python_workers import PythonWorkers, require_interpreter
from prowess.execution.inline.snippets import CallFailed, Function
from prowess.execution.stopping import Stopped, stoppable

pytestmark = [pytest.mark.slow, pytest.mark.requirement("R70")]

_LIMITS = SnippetLimits(seconds=1.0, calls=20)
_OUT_OF_TIME = "Stopped at the time limit: the code ran for more than 1 s, not counting the functions that it called."
_AS_BEFORE = "Variables are as they were before this code."


def _repeat(given: dict[str, Any]) -> str:
    if given.get("name") == "bad":
        raise CallFailed("no skill 'bad'")
    return f"called with {given}"


_FUNCTIONS = {"skill": Function(("name", "arguments"), _repeat)}


@pytest.fixture
def books() -> Notebooks:
    return Notebooks()


@pytest.fixture
def workers(books: Notebooks) -> Iterator[PythonWorkers]:
    opened = PythonWorkers(_LIMITS, books=books)
    yield opened
    opened.close()


def _run(workers: PythonWorkers, code: str, *, session: str = "a") -> PythonOutcome:
    outcome = workers.run(code, session=session, functions=_FUNCTIONS)
    return replace(outcome, seconds=0.0)


def _last_line(outcome: PythonOutcome) -> str:
    return outcome.error.rpartition("\n")[2]


# What it prints, its value, its end


def test_code_prints_and_has_a_value(workers: PythonWorkers) -> None:
    assert _run(workers, "print('a', 1)\nimport sys\nprint('b', file=sys.stderr)\n{'x': (1, 2)}") == PythonOutcome(
        "a 1\nb\n", "{'x': (1, 2)}"
    )
    assert _run(workers, "x = 1") == PythonOutcome()
    assert _run(workers, "'a text\\n'") == PythonOutcome(value="a text\n")
    assert _run(workers, "") == PythonOutcome()


def test_variables_and_functions_live_on_in_the_session_and_in_no_other(workers: PythonWorkers) -> None:
    _run(workers, "import json\nnumbers = [1, 2]\ndef double(x): return json.dumps([x * 2 for x in numbers])")
    assert _run(workers, "numbers.append(3)\ndouble(0)") == PythonOutcome(value="[2, 4, 6]")
    assert _run(workers, "numbers") == PythonOutcome(value="[1, 2, 3]")
    assert _last_line(_run(workers, "numbers", session="b")) == "NameError: name 'numbers' is not defined"
    workers.forget("a")
    assert _last_line(_run(workers, "numbers")) == "NameError: name 'numbers' is not defined"


def test_exception_shows_where_in_the_code_it_was(workers: PythonWorkers) -> None:
    outcome = _run(workers, "x = 1\ndef f():\n    return 1 / 0\nprint('before')\nf()")
    assert outcome == PythonOutcome(
        "before\n",
        error="""\
Traceback (most recent call last):
  File "<python-input-0>", line 5, in <module>
    f()
    ~~~
  File "<python-input-0>", line 3, in f
    return 1 / 0
           ~~~~~
ZeroDivisionError: division by zero""",
    )
    assert _run(workers, "x") == PythonOutcome(value="1")


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("x y", "SyntaxError: Simple statements must be separated by newlines or semicolons"),
        pytest.param("(" * 10_000, "SyntaxError: Source is too deeply nested", id="parentheses"),
        pytest.param("1+" * 100_000 + "1", "SyntaxError: Source is too deeply nested", id="sum"),
        pytest.param("\x00", "SyntaxError: Got unexpected token \x00", id="zero byte"),
        pytest.param(
            "'\ud800'",
            "SyntaxError: source code is not valid UTF-8 (contains lone surrogates)",
            id="half a character",
        ),
        ("raise SystemExit", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise TimeoutError('mine')", "TimeoutError: mine"),
        ("undefined", "NameError: name 'undefined' is not defined"),
        ("undefined(1)", "NameError: name 'undefined' is not defined"),
    ],
)
def test_fault_of_the_code_is_told(workers: PythonWorkers, code: str, end: str) -> None:
    _run(workers, "x = 1")
    assert _last_line(_run(workers, code)) == end
    assert _run(workers, "x") == PythonOutcome(value="1")


# What it must not reach


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("import os\nos.environ", "RuntimeError: 'os.environ' is not supported in this environment"),
        ("import os\nos.getenv('HOME')", "RuntimeError: 'os.getenv' is not supported in this environment"),
        ("import os\nos.listdir('/')", "PermissionError: Permission denied: '/'"),
        ("import os\nos.system('id')", "AttributeError: module 'os' has no attribute 'system'"),
        ("import os\nos.fork()", "AttributeError: module 'os' has no attribute 'fork'"),
        ("import socket", "ModuleNotFoundError: No module named 'socket'"),
        ("import subprocess", "ModuleNotFoundError: No module named 'subprocess'"),
        ("import ctypes", "ModuleNotFoundError: No module named 'ctypes'"),
        ("import importlib", "ModuleNotFoundError: No module named 'importlib'"),
        ("import urllib.request", "ModuleNotFoundError: No module named 'urllib'"),
        ("# /// script\n# dependencies = ['six']\n# ///\nimport six", "ModuleNotFoundError: No module named 'six'"),
        ("open('/etc/passwd').read()", "PermissionError: Permission denied: '/etc/passwd'"),
        ("open('/tmp/x', 'w')", "PermissionError: Permission denied: '/tmp/x'"),
        (
            "from pathlib import Path\nPath('/proc/self/environ').read_bytes()",
            "PermissionError: Permission denied: '/proc/self/environ'",
        ),
        ("__import__('os')", "NameError: name '__import__' is not defined"),
        ("().__class__.__bases__", "AttributeError: 'tuple' object has no attribute '__class__'"),
        ("skill.__globals__", "AttributeError: 'function' object has no attribute '__globals__'"),
        ("skill.__code__", "AttributeError: 'function' object has no attribute '__code__'"),
        ("'{0.__class__}'.format(1)", "AttributeError: 'int' object has no attribute '__class__'"),
        ("globals()", "NameError: name 'globals' is not defined"),
        ("input()", "NameError: name 'input' is not defined"),
        ("import time\ntime.sleep(5)", "RuntimeError: 'time.sleep' is not supported in this environment"),
    ],
)
def test_there_is_no_world_outside(workers: PythonWorkers, code: str, end: str) -> None:
    assert _last_line(_run(workers, code)) == end


def test_worker_has_no_environment(workers: PythonWorkers) -> None:
    seen: list[str] = []

    def look(_: dict[str, Any]) -> str:
        for pid in _find_workers():
            with open(f"/proc/{pid}/environ", encoding="utf-8") as environment:
                seen.append(environment.read())
        return ""

    workers.run("look()", session="a", functions={"look": Function((), look)})
    assert seen
    assert set(seen) == {""}


# Bounds


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "while True:\n  try:\n    while True: pass\n  except BaseException: pass",
        "sum(range(10 ** 10))",
        "x = 10\nwhile True: x = x * x",
        "import math\nmath.factorial(10 ** 7)",
        "while True: print('x' * 1000)",
    ],
)
def test_endless_code_is_ended_and_leaves_no_trace(workers: PythonWorkers, code: str) -> None:
    _run(workers, "x = 1")
    outcome = _run(workers, f"x = 2\n{code}")
    assert (outcome.error, outcome.notices) == (_OUT_OF_TIME, (_AS_BEFORE,))
    assert _run(workers, "x") == PythonOutcome(value="1")


@pytest.mark.parametrize(
    "code",
    [
        "[0] * 10 ** 9",
        "'a' * 10 ** 10",
        "9 ** 9 ** 9",
        "1 << 10 ** 10",
        "f'{1:>1000000000}'",
        "'a'.ljust(10 ** 10)",
        "x = []\nwhile True: x.append('a' * 1000)",
        "x = 'a'\nwhile True: x += x",
        "list(range(10 ** 8))",
        "('a,' * 10 ** 7).split(',')",
        "x = []\nfor _ in range(10 ** 7): x = [x]",
    ],
)
def test_memory_is_bounded(workers: PythonWorkers, code: str) -> None:
    _run(workers, "kept = 1")
    outcome = _run(workers, code)
    assert _last_line(outcome).startswith("MemoryError: ")
    assert _run(workers, "kept") == PythonOutcome(value="1")


def test_recursion_is_bounded(workers: PythonWorkers) -> None:
    outcome = _run(workers, "def f(n): return f(n + 1)\nf(0)")
    assert _last_line(outcome) == "RecursionError: maximum recursion depth exceeded"
    assert len(outcome.error) < 1_000


def test_output_is_bounded_and_says_so(workers: PythonWorkers) -> None:
    limit = _LIMITS.output_bytes
    printed = _run(workers, "for _ in range(100_000): print('x' * 99)")
    assert printed.truncated
    assert printed.printed.endswith("\n[… 9,750,000 more bytes cut …]")
    assert len(printed.printed) < limit + 100
    value = _run(workers, "'x' * 10_000_000")
    assert value.truncated
    assert len(value.value or "") < limit + 100
    listed = _run(workers, "list(range(200_000))")
    assert listed.truncated
    assert (listed.value or "").endswith("\n[… the rest is cut …]")
    error = _run(workers, "raise ValueError('y' * 1_000_000 + 'z')")
    assert error.truncated
    assert error.error.endswith("yyz")
    assert len(error.error) < _LIMITS.error_characters + 100


def test_letters_of_many_bytes_are_not_cut_in_two(workers: PythonWorkers) -> None:
    outcome = _run(workers, "print('é' * 200_000)")
    assert outcome.printed.partition("\n")[0] == "é" * (_LIMITS.output_bytes // 2)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("2 ** 100_000", "<a whole number of about 30,103 digits>"),
        ("a = []\na.append(a)\na", "['[...]']"),
        ("class Thing: pass\nThing()", "<Thing object>"),
        ("class Thing: pass\n{Thing(): 1}", "<a value that cannot be shown>"),
        ("len", "<function len>"),
        ("print", "<function print>"),
        ("'\\ud800'", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_odd_values_are_shown_somehow(workers: PythonWorkers, code: str, value: str) -> None:
    assert _run(workers, code) == PythonOutcome(value=value)


def test_value_of_many_levels_does_no_harm(workers: PythonWorkers) -> None:
    outcome = _run(workers, "a = []\nfor _ in range(100_000): a = [a]\na")
    assert (outcome.value or "")[:33] == "[" * 33
    assert _run(workers, "len(a)") == PythonOutcome(value="1")


def test_variables_that_are_too_large_are_not_kept_and_that_is_told(workers: PythonWorkers) -> None:
    _run(workers, "x = 1")
    outcome = _run(workers, "x = 'a' * 10_000_000\nlen(x)")
    assert outcome == PythonOutcome(
        value="10000000",
        notices=("The variables take too much room to be kept: they are as they were before this code.",),
    )
    assert _run(workers, "x") == PythonOutcome(value="1")


def test_variables_that_had_to_be_let_go_are_told_of_once(books: Notebooks, workers: PythonWorkers) -> None:
    _run(workers, "x = 1")
    books.keep(books.open("another"), bytes(MAX_BYTES))
    outcome = _run(workers, "x")
    assert _last_line(outcome) == "NameError: name 'x' is not defined"
    assert outcome.notices == (
        "The variables of earlier code are gone: there was no room to keep them. Define again what is needed.",
    )
    assert _run(workers, "1") == PythonOutcome(value="1")


def test_session_that_was_let_go_for_others_is_told_so(books: Notebooks, workers: PythonWorkers) -> None:
    _run(workers, "x = 1")
    for number in range(MAX_NOTEBOOKS):
        books.open(f"other {number}")
    assert _run(workers, "1").notices == (
        "The variables of earlier code are gone: there was no room to keep them. Define again what is needed.",
    )
    assert _run(workers, "1") == PythonOutcome(value="1")


def test_variables_that_cannot_be_read_any_more_are_gone(books: Notebooks, workers: PythonWorkers) -> None:
    books.keep(books.open("a"), b"no such thing")
    assert _run(workers, "1").error.startswith("Not run: the variables of earlier code could not be brought back")
    assert _run(workers, "1") == PythonOutcome(value="1")


# Functions


def test_function_is_called_with_plain_arguments_by_name(workers: PythonWorkers) -> None:
    assert _run(workers, "skill('a', arguments=[1, (2, None)])").value == (
        "called with {'name': 'a', 'arguments': [1, [2, None]]}"
    )
    assert _run(workers, "skill(**{'a-b': 1, 'from': 2})").value == "called with {'a-b': 1, 'from': 2}"
    assert _run(workers, "f = skill\n[f(n) for n in 'ab']").value == (
        "[\"called with {'name': 'a'}\", \"called with {'name': 'b'}\"]"
    )
    assert _run(workers, "f('c')").value == "called with {'name': 'c'}"


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("skill(1, 2, 3)", "TypeError: skill(): takes 2 positional arguments but 3 were given"),
        ("skill('a', name='b')", "TypeError: skill(): got multiple values for argument 'name'"),
        (
            "skill({1})",
            "TypeError: skill(): argument 'name' must be of texts, numbers, True, False, None, lists and dicts",
        ),
        (
            "class Thing: pass\nskill({Thing(): 1})",
            "TypeError: skill(): unhashable type: 'pydantic_monty.MontyClassProxy'",
        ),
        ("skill('bad')", "RuntimeError: no skill 'bad'"),
        ("await skill('a')", "TypeError: 'str' object can't be awaited"),
        (
            "sorted([1], key=skill)",
            "NotImplementedError: external function 'skill' cannot suspend in this synchronous context",
        ),
    ],
)
def test_call_that_fails_raises_in_the_code(workers: PythonWorkers, code: str, end: str) -> None:
    assert _last_line(_run(workers, code)) == end


def test_code_can_catch_what_a_function_raises(workers: PythonWorkers) -> None:
    code = "try:\n  skill('bad')\nexcept RuntimeError as error:\n  print('caught:', error)"
    assert _run(workers, code) == PythonOutcome("caught: no skill 'bad'\n")


def test_name_that_was_used_otherwise_is_the_function_again(workers: PythonWorkers) -> None:
    assert _run(workers, "skill = 3\nskill") == PythonOutcome(value="3")
    assert _run(workers, "skill('a')").value == "called with {'name': 'a'}"


def test_function_that_is_no_longer_there_is_not_defined(workers: PythonWorkers) -> None:
    _run(workers, "f = skill")
    outcome = workers.run("f('a')", session="a", functions={})
    assert _last_line(outcome) == "NameError: name 'skill' is not defined"


def test_calls_are_counted(workers: PythonWorkers) -> None:
    outcome = _run(workers, "n = 0\nfor n in range(100): skill('a')")
    assert _last_line(outcome) == "RuntimeError: only 20 calls of functions in one run: do the rest in another"
    assert _run(workers, "n") == PythonOutcome(value="20")
    stubborn = _run(workers, "while True:\n  try:\n    skill('a')\n  except RuntimeError: pass")
    assert _last_line(stubborn) == "RuntimeError: suspension limit 400 exceeded"


@pytest.mark.parametrize(
    ("code", "end"),
    [
        (
            "a = [1]\nfor i in range(31): a = [a, a]\nskill(a)",
            "TypeError: skill(): the arguments hold more than 100,000 values: give less in one call",
        ),
        (
            "skill(['é' * 10 ** 6] * 1000)",
            "TypeError: skill(): the arguments hold more than 1,000,000 characters: give less in one call",
        ),
    ],
)
def test_arguments_are_bounded_however_small_they_are_in_the_interpreter(
    workers: PythonWorkers, code: str, end: str
) -> None:
    assert _last_line(_run(workers, code)) == end


def test_value_is_bounded_however_small_it_is_in_the_interpreter(workers: PythonWorkers) -> None:
    outcome = _run(workers, "a = [1]\nfor i in range(31): a = [a, a]\na")
    assert outcome.truncated
    assert len(outcome.value or "") < _LIMITS.output_bytes + 100


def test_results_of_functions_are_bounded_together(workers: PythonWorkers) -> None:
    calls: list[object] = []

    def tell(given: dict[str, Any]) -> str:
        calls.append(given)
        return "x" * 6_000_000

    code = """
for _ in range(4):
    try:
        print(len(f()))
    except RuntimeError as error:
        print(error)
"""
    outcome = workers.run(code, session="a", functions={"f": Function((), tell)})
    more = "functions have returned more than 16,000,000 characters in one run"
    assert outcome.printed.splitlines() == [
        "6000000",
        "6000000",
        f"f(): was called, but {more}",
        f"f(): not called: {more}",
    ]
    assert len(calls) == 3


def test_time_limit_does_not_count_functions(workers: PythonWorkers) -> None:
    def wait(_: dict[str, Any]) -> str:
        time.sleep(1.5)
        return "waited"

    outcome = workers.run("wait()", session="a", functions={"wait": Function((), wait)})
    assert replace(outcome, seconds=0.0) == PythonOutcome(value="waited")


def test_text_of_half_characters_gets_through_as_signs_of_it(workers: PythonWorkers) -> None:
    function = Function((), lambda _: "a\ud800b")
    assert workers.run("f()", session="a", functions={"f": function}).value == "a\ufffdb"


def test_other_exceptions_of_a_function_end_the_code_and_go_on(workers: PythonWorkers) -> None:
    def refuse(_: dict[str, Any]) -> str:
        raise Refused("no")

    with pytest.raises(Refused):
        workers.run("try:\n  f()\nexcept Exception: pass", session="a", functions={"f": Function((), refuse)})
    assert _run(workers, "1") == PythonOutcome(value="1")


def test_code_that_is_not_wanted_any_more_is_stopped_at_its_next_call(workers: PythonWorkers) -> None:
    calls: list[object] = []

    def note(given: dict[str, Any]) -> str:
        calls.append(given)
        return ""

    with pytest.raises(Stopped), stoppable(lambda: bool(calls)):
        workers.run("while True: f()", session="a", functions={"f": Function((), note)})
    assert calls == [{}]


@pytest.mark.parametrize("code", ["while True: pass", "while True: print('x')", "sum(range(10 ** 12))"])
def test_code_that_calls_nothing_is_stopped_too(code: str) -> None:
    workers = PythonWorkers(replace(_LIMITS, seconds=3_600))
    asked: list[None] = []

    def is_stopped() -> bool:
        asked.append(None)
        return len(asked) > 2

    with pytest.raises(Stopped), stoppable(is_stopped):
        workers.run(code, session="a", functions={})
    assert _run(workers, "1") == PythonOutcome(value="1")
    workers.close()


def test_code_within_code_of_the_same_session_is_not_run(workers: PythonWorkers) -> None:
    def again(_: dict[str, Any]) -> str:
        return _run(workers, "1").error

    outcome = workers.run("f()", session="a", functions={"f": Function((), again)})
    assert outcome.value == "Not run: code cannot be run from within code of the same session."


# Workers


def _find_workers(parent: int | None = None) -> list[int]:
    """Return the interpreters that this process, or another, has started."""
    found = subprocess.run(["ps", "-wweo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()]
    return [
        int(pid)
        for pid, ppid, command in rows
        if int(ppid) == (parent or os.getpid()) and command.endswith("monty subprocess")
    ]


def _wait_until_none_is_left(pids: list[int]) -> bool:
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_worker_that_dies_takes_nothing_with_it_but_its_code(workers: PythonWorkers) -> None:
    _run(workers, "x = 1")

    def kill(_: dict[str, Any]) -> str:
        for pid in _find_workers():
            os.kill(pid, signal.SIGKILL)
        return ""

    outcome = workers.run("x = 2\nf()\nx", session="a", functions={"f": Function((), kill)})
    assert replace(outcome, seconds=0.0) == PythonOutcome(
        error="The interpreter crashed, and the code with it.", notices=(_AS_BEFORE,)
    )
    assert _run(workers, "x") == PythonOutcome(value="1")


def test_there_are_workers_only_while_code_runs() -> None:
    workers = PythonWorkers(_LIMITS)
    before: list[int] = []

    def look(_: dict[str, Any]) -> str:
        before.extend(_find_workers())
        return ""

    workers.run("f()", session="a", functions={"f": Function((), look)})
    assert before
    assert _wait_until_none_is_left(before)
    assert _find_workers() == []
    workers.close()
    assert _run(workers, "1") == PythonOutcome(error="Not run: the runtime was closed.")
    workers.close()


def test_code_that_runs_calls_nothing_any_more_once_the_workers_are_closed() -> None:
    calls: list[None] = []
    outcomes: list[PythonOutcome] = []
    is_under_way = threading.Event()

    def note(_: dict[str, Any]) -> str:
        calls.append(None)
        is_under_way.set()
        return ""

    functions = {"f": Function((), note)}
    unbounded = PythonWorkers(replace(_LIMITS, seconds=3_600, calls=10**9))
    thread = threading.Thread(
        target=lambda: outcomes.append(unbounded.run("while True: f()", session="a", functions=functions))
    )
    thread.start()
    assert is_under_way.wait(60)
    unbounded.close()
    before = len(calls)
    thread.join(60)
    assert (len(calls), outcomes) == (before, [PythonOutcome(error="Stopped: the runtime was closed.")])


def test_code_may_call_what_closes_its_own_workers() -> None:
    workers = PythonWorkers(_LIMITS)

    def close(_: dict[str, Any]) -> str:
        workers.close()
        return ""

    outcome = workers.run("f()\nprint('on and on')", session="a", functions={"f": Function((), close)})
    assert outcome == PythonOutcome(error="Stopped: the runtime was closed.")


def test_sessions_share_no_worker(workers: PythonWorkers) -> None:
    seen: list[tuple[int, ...]] = []

    def look(_: dict[str, Any]) -> str:
        seen.append(tuple(_find_workers()))
        return ""

    for session in "ab":
        workers.run("f()", session=session, functions={"f": Function((), look)})
    first, second = map(set, seen)
    assert first - second


def test_many_threads_run_code_at_once(workers: PythonWorkers) -> None:
    outcomes: dict[str, PythonOutcome] = {}

    def work(session: str) -> None:
        for _ in range(10):
            _run(workers, "try:\n  n = n + 1\nexcept NameError:\n  n = 1", session=session)
        outcomes[session] = _run(workers, "n", session=session)

    threads = [threading.Thread(target=work, args=(str(number % 4),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.keys() == set("0123")
    assert {_run(workers, "n", session=session).value for session in "0123"} == {"20"}


def test_no_free_worker_is_told() -> None:
    workers = PythonWorkers(replace(_LIMITS, seconds=5.0), max_workers=1, wait_seconds=0.2)

    def inner(_: dict[str, Any]) -> str:
        return _run(workers, "1", session="b").error

    outcome = workers.run("f()", session="a", functions={"f": Function((), inner)})
    workers.close()
    assert outcome.value == "Not run: too much other code is running. Try again later."


@pytest.mark.parametrize("session", ["a", "b"], ids=["for the session", "for a worker"])
def test_waiting_ends_when_the_code_is_not_wanted_any_more(session: str) -> None:
    workers = PythonWorkers(_LIMITS, max_workers=1, wait_seconds=3_600)
    has_begun, may_end = threading.Event(), threading.Event()

    def wait(_: dict[str, Any]) -> str:
        has_begun.set()
        may_end.wait()
        return ""

    functions = {"f": Function((), wait)}
    other = threading.Thread(target=workers.run, args=("f()",), kwargs={"session": "a", "functions": functions})
    other.start()
    has_begun.wait()
    try:
        with pytest.raises(Stopped), stoppable(lambda: True):
            workers.run("1", session=session, functions={})
    finally:
        may_end.set()
        other.join()
    assert _run(workers, "1", session=session) == PythonOutcome(value="1")
    workers.close()


_TO_BE_KILLED = """
import sys, time
from prowess.execution.inline.outcomes import SnippetLimits
from prowess.execution.inline.python_workers import PythonWorkers
from prowess.execution.inline.snippets import Function

def tell(given):
    print("called", flush=True)
    time.sleep(0 if given else 3_600)
    return ""

functions = {"f": Function(("goes_on",), tell)}
PythonWorkers(SnippetLimits(seconds=float(sys.argv[1]))).run(sys.argv[2], session="a", functions=functions)
"""


@pytest.mark.parametrize(
    ("code", "seconds"),
    [("f()", 3_600), ("f(True)\nwhile True: pass", 2)],
    ids=["at once while it waits for a function", "at its time limit while it computes"],
)
def test_worker_of_a_process_that_is_killed_ends(code: str, seconds: float) -> None:
    command = [sys.executable, "-c", _TO_BE_KILLED, str(seconds), code]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"called\n"
        pids = _find_workers(process.pid)
        process.kill()
    assert pids
    assert _wait_until_none_is_left(pids)


# Without the library


def test_missing_library_is_an_error_of_the_settings() -> None:
    script = """
import sys
sys.modules["pydantic_monty"] = None
from prowess.errors import SettingsError
from prowess.execution.inline.python_workers import PythonWorkers, require_interpreter
for call in (require_interpreter, lambda: PythonWorkers().run("1", session="a", functions={})):
    try:
        call()
    except SettingsError as error:
        print(error.code, error.message, error.hint, sep=" | ")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    told = (
        "no-python | Python code cannot be run: the package pydantic-monty is not installed | "
        "install prowess[python], or choose another activation.tools"
    )
    assert done.stdout.splitlines() == [told, told]


def test_interpreter_that_does_not_start_is_told(
    workers: PythonWorkers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    require_interpreter()
    monkeypatch.setenv("MONTY_BIN", str(tmp_path / "monty"))
    outcome = _run(workers, "1")
    assert outcome.error.startswith("Not run: no interpreter could be started (")
