"""Which interpreter runs a script: by its first line or its ending, and what is there."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prowess.execution.interpreters import (
    HEAD_BYTES,
    INTERPRETERS,
    Chosen,
    Interpreter,
    choose_interpreter,
    find_program,
    is_script_name,
)

_ROWS = {row.name: row for row in INTERPRETERS}
_ALL = frozenset(
    {*(way[0] for row in INTERPRETERS for way in row.commands), "python3.12", "pypy3", "perl5.36.0", "node18"}
)
_DENO = ("deno", "run", "--allow-all", "--no-prompt")


def _choose(path: str, head: str) -> tuple[str, ...] | None:
    chosen = choose_interpreter(path, head.encode())
    return chosen.command(_ALL) if chosen else None


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("#!/usr/bin/python3", ("python3",)),
        ("#! /usr/bin/python3", ("python3",)),
        ("#!\t/usr/bin/python3 ", ("python3",)),
        ("#!/usr/bin/python", ("python3",)),
        ("#!/usr/bin/python3.12", ("python3.12",)),
        ("#!/usr/bin/python3.9", ("python3",)),
        ("#!/usr/bin/python3 -u", ("python3", "-u")),
        ("#!/usr/bin/python3 -u -E", ("python3", "-u -E")),  # One word, as the kernel makes it.
        ("#!/usr/bin/pypy3 -u", ("pypy3", "-u")),
        ("#!/usr/bin/pypy", ("python3",)),
        ("#!/usr/bin/env python3", ("python3",)),
        ("#!/usr/bin/env python3 -u", ("python3",)),
        ("#!/usr/bin/env -S python3 -u -E", ("python3", "-u", "-E")),
        ("#!/usr/bin/env -S python3 -X utf8 -W 'ignore'", ("python3", "-X", "utf8", "-W", "ignore")),
        ("#!/usr/bin/env -Spython3 -u", ("python3", "-u")),
        ("#!/usr/bin/env -vSpython3 -u", ("python3", "-u")),
        ("#!/usr/bin/env --split-string=python3 -u", ("python3", "-u")),
        ("#!/usr/bin/env --split-string python3 -u", ("python3", "-u")),
        ("#!/usr/bin/env -S -i PYTHONUTF8=1 python3 -u", ("python3", "-u")),
        ("#!/usr/bin/env -S -u HOME -C /tmp python3 -u", ("python3", "-u")),
        ("#!/usr/bin/env -S uv run --script", ("python3",)),
        ("#!/usr/bin/env -S uv run --quiet --script --with requests", ("python3",)),
        ("#!/usr/bin/uv run", ("python3",)),
        ("#!/bin/bash", ("bash",)),
        ("#!/bin/bash -eu", ("bash", "-eu")),
        ("#!/bin/sh", ("sh",)),
        ("#!/bin/sh -e", ("sh", "-e")),
        ("#!/bin/sh -", ("sh", "-")),
        ("#!/bin/dash -e", ("sh", "-e")),
        ("#!/usr/bin/env -S bash -x other", ("bash", "-x", "other")),
        ("#!/usr/bin/env -S bash other", ("bash",)),
        ("#!/usr/bin/env node", ("node",)),
        ("#!/usr/bin/nodejs --no-warnings", ("node", "--no-warnings")),
        ("#!/usr/bin/env -S node18 --no-warnings", ("node18", "--no-warnings")),
        ("#!/usr/bin/env -S deno run --allow-read", (*_DENO, "--allow-read")),
        ("#!/usr/bin/env -S bun run --bun", ("bun", "run", "--bun")),
        ("#!/usr/bin/env tsx", _DENO),
        ("#!/usr/bin/env -S tsx --watch", _DENO),
        ("#!/usr/bin/ruby -w", ("ruby", "-w")),
        ("#!/usr/bin/perl -w", ("perl", "-w")),
        ("#!/usr/bin/perl5.36.0", ("perl5.36.0",)),
        ("#!/usr/bin/Rscript --vanilla", ("Rscript", "--vanilla")),
        ("#!C:\\PYTHON3", None),
        ("#!/usr/bin/PYTHON3", ("python3",)),
        ("#!/usr/bin/awk -f", None),
        ("#!/usr/bin/env zsh", None),
        ("#!/usr/bin/env", None),
        ("#!/usr/bin/env -S", None),
        ("#!/usr/bin/env -S 'python3", None),
        ("#!/usr/bin/python3/", None),
        ("#!", None),
        ("# /usr/bin/python3", None),
        ("\ufeff#!/usr/bin/python3", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\nmore\n", ""])
def test_first_line_tells_the_command(line: str, command: tuple[str, ...] | None, end: str) -> None:
    assert _choose("scripts/tool", line + end) == command


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a.py", ("python3",)),
        ("a.PY", ("python3",)),
        ("a.pyw", ("python3",)),
        ("a.bash", ("bash",)),
        ("a.sh", ("sh",)),
        ("a.js", ("node",)),
        ("a.mjs", ("node",)),
        ("a.cjs", ("node",)),
        ("a.ts", _DENO),
        ("a.mts", _DENO),
        ("a.tsx", ("bun", "run")),
        ("a.jsx", ("bun", "run")),
        ("a.rb", ("ruby",)),
        ("a.pl", ("perl",)),
        ("a.r", ("Rscript",)),
        ("a.R", ("Rscript",)),
        ("a.py.txt", None),
        ("folder.py/tool", None),
        (".py", None),
        ("tool", None),
        ("a.exe", None),
    ],
)
def test_ending_tells_the_command_where_no_first_line_does(name: str, command: tuple[str, ...] | None) -> None:
    assert (_choose(f"scripts/{name}", "print(1)\n"), _choose(f"scripts/{name}", "#!/usr/bin/unheard-of\n")) == (
        command,
        command,
    )
    assert is_script_name(f"scripts/{name}") == (command is not None)


def test_first_line_comes_before_the_ending() -> None:
    assert _choose("a.sh", "#!/usr/bin/env python3\n") == ("python3",)


@pytest.mark.parametrize(
    "head", [b"\x7fELF\x02\x01\x01\0", b"MZ\x90\0", b"\0" * 600, b"PK\x03\x04", b"#!\xff\xfe\n", b"#!\0python3\n"]
)
def test_binary_is_run_by_nothing(head: bytes) -> None:
    assert choose_interpreter("scripts/tool", head) is None


def test_first_line_ends_at_a_zero_byte_as_it_does_for_the_kernel() -> None:
    assert choose_interpreter("tool", b"#!/bin/sh -e\0 -x\n") == Chosen(_ROWS["sh"], ("-e",))


@pytest.mark.parametrize(
    ("head", "program"),
    [
        ("#!/usr/bin/env nonesuch\n", "nonesuch"),
        ("#!/usr/bin/env -S nonesuch --fast\n", "nonesuch"),
        ("#!/opt/bin/fancy -x\n", "fancy"),
        ("#!/usr/bin/env python3\n", "python3"),
        ("#!/usr/bin/env\n", ""),
        ("#!\n", ""),
        ("print()\n", ""),
    ],
)
def test_program_of_a_first_line_is_told_even_if_nobody_knows_it(head: str, program: str) -> None:
    assert find_program(head.encode()) == program


def test_first_line_that_does_not_end_soon_is_none() -> None:
    line = b"#!/bin/sh -" + b"e" * (HEAD_BYTES - 12)
    assert choose_interpreter("tool", line + b"\n") == Chosen(_ROWS["sh"], ("-" + "e" * (HEAD_BYTES - 12),))
    assert choose_interpreter("tool", line + b"e\n") is None
    assert choose_interpreter("tool.py", line + b"e\n") == Chosen(_ROWS["python"])


@pytest.mark.parametrize(
    ("path", "head", "has", "command"),
    [
        ("a.py", "", {"python"}, ("python",)),
        ("a.py", "", {"bash", "python", "python3"}, ("python3",)),
        ("a.py", "#!/usr/bin/python3.12 -u\n", {"python3", "python3.12"}, ("python3.12", "-u")),
        ("a.py", "#!/usr/bin/python3.12 -u\n", {"python3"}, ("python3", "-u")),
        ("a.js", "#!/usr/bin/env -S node --test\n", {"nodejs"}, ("nodejs", "--test")),
        ("a.ts", "", {"bun"}, ("bun", "run")),
        ("a.ts", "#!/usr/bin/env -S deno run --allow-read\n", {"bun"}, ("bun", "run")),
        ("a.tsx", "#!/usr/bin/env -S bun run --bun\n", {"deno"}, _DENO),
        ("a.py", "", set[str](), None),
        ("a.rb", "", {"python3"}, None),
    ],
)
def test_command_is_of_a_program_that_is_there(
    path: str, head: str, has: set[str], command: tuple[str, ...] | None
) -> None:
    chosen = choose_interpreter(path, head.encode())
    assert chosen is not None
    assert chosen.command(has) == command


@given(st.text(), st.binary() | st.binary().map(b"#!".__add__) | st.binary().map(b"#!/usr/bin/env ".__add__))
def test_any_bytes_give_an_interpreter_of_the_table_or_none(path: str, head: bytes) -> None:
    chosen = choose_interpreter(path, head)
    assert chosen is None or chosen.interpreter in INTERPRETERS


@given(
    st.lists(
        st.sampled_from(
            ["-S", "-vS", "-i", "-u", "A=1", "--split-string=", "python3", "deno", "run", "-e", "'", "\\", "\0"]
        )
    ),
    st.sampled_from([" ", "", "\t"]),
)
def test_any_words_after_env_give_options_that_can_be_passed_on(words: list[str], between: str) -> None:
    head = f"#!/usr/bin/env {between.join(words)}\n".encode()
    chosen = choose_interpreter("tool", head)
    command = chosen.command(_ALL) if chosen else ()
    assert command is not None
    assert not any("\0" in word for word in command)


def test_table_names_each_ending_and_each_program_once() -> None:
    endings = [suffix for row in INTERPRETERS for suffix in row.suffixes]
    names = [name for row in INTERPRETERS for name in (row.name.lower(), *row.also)]
    assert (len(endings), len(names)) == (len(set(endings)), len(set(names)))
    assert [row for row in INTERPRETERS if not row.commands] == list[Interpreter]()


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
@pytest.mark.parametrize(
    ("name", "text"),
    [("a.sh", "echo $0 $1"), ("tool", "#!/bin/sh -e\r\necho $0 $1"), ("b", "#!/usr/bin/env -S sh -u\necho $0 $1")],
)
def test_chosen_command_runs_a_script_that_need_not_be_executable(
    tmp_path: Path, name: str, text: str, mode: int
) -> None:
    script = tmp_path / name
    script.write_bytes(text.encode())
    script.chmod(mode)
    chosen = choose_interpreter(name, script.read_bytes())
    assert chosen is not None
    command = chosen.command({"sh"})
    assert command is not None
    done = subprocess.run([*command, script, "x"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{os.fspath(script)} x\n"
