"""Lines as they are typed, with the keys that matter, and as they come through a pipe."""

import io
import os
import stat
import sys
from pathlib import Path

import anyio
import pytest
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from prowess.errors import ToolInputError
from prowess.surfaces.cli.chat.completions import Candidate
from prowess.surfaces.cli.chat.history_file import prepare_history
from prowess.surfaces.cli.chat.line_input import MAX_MESSAGE_BYTES, PipedInput
from prowess.surfaces.cli.chat.prompt_input import PromptInput

_CTRL_C, _CTRL_D, _ENTER, _ALT_ENTER, _UP = "\x03", "\x04", "\r", "\x1b\r", "\x1b[A"


def _type(*keys: str, history: str | None = None) -> tuple[list[str | None], list[str]]:
    """Return the messages that come of these keys, up to the end, and what was said meanwhile."""
    said: list[str] = []

    async def read() -> list[str | None]:
        with create_pipe_input() as source:
            lines = PromptInput(lambda _: [], said.append, history=history, source=source, screen=DummyOutput())
            for key in keys:
                source.send_text(key)
            messages = [await lines.read()]
            while messages[-1] is not None:
                messages.append(await lines.read())
            return messages

    return anyio.run(read), said


@pytest.mark.parametrize(
    ("keys", "messages"),
    [
        (["hello", _ENTER], ["hello"]),
        (["one", _ALT_ENTER, "two", _ENTER], ["one\ntwo"]),
        (["one\\", _ENTER, "two", _ENTER], ["one\ntwo"]),
        (["    in", _ALT_ENTER, "two", _ENTER], ["    in\ntwo"]),
        (["thrown away", _CTRL_C, "kept", _ENTER], ["kept"]),
        (["\x1b[200~pasted\nlines\x1b[201~", _ENTER], ["pasted\nlines"]),
    ],
)
def test_keys_do_what_they_say(keys: list[str], messages: list[str]) -> None:
    assert _type(*keys, _CTRL_D) == ([*messages, None], [])


def test_interrupt_on_an_empty_line_says_how_to_leave() -> None:
    assert _type(_CTRL_C, "on", _ENTER, _CTRL_D) == (["on", None], ["(Ctrl-D or /quit leaves)"])


def test_chosen_completion_takes_the_place_of_what_was_typed() -> None:
    def complete(typed: str) -> list[Candidate]:
        return [Candidate("/scheduling", len(typed), "About it.")] if typed == "/sch" else []

    async def read() -> str | None:
        with create_pipe_input() as source:
            lines = PromptInput(complete, lambda _: None, history=None, source=source, screen=DummyOutput())
            async with anyio.create_task_group() as group:
                group.start_soon(choose, source, lines)
                with anyio.fail_after(60):
                    return await lines.read()

    async def choose(source: PipeInput, lines: PromptInput) -> None:
        def has_menu() -> bool:
            return lines.buffer.complete_state is not None

        source.send_text("/sch")
        while not has_menu():  # noqa: ASYNC110 - the library tells nobody that its menu is there
            await anyio.sleep(0.01)
        source.send_text(f"\t{_ENTER}")  # Enter takes what is chosen, and does not send yet.
        while has_menu():  # noqa: ASYNC110
            await anyio.sleep(0.01)
        source.send_text(f" now{_ENTER}")

    assert anyio.run(read) == "/scheduling now"


def test_history_is_kept_for_the_next_process_and_nobody_else(tmp_path: Path) -> None:
    file = prepare_history(str(tmp_path / "home" / "history"))
    assert file is not None
    _type("first", _ALT_ENTER, "line", _ENTER, _CTRL_D, history=file)
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "home").st_mode) == 0o700
    assert _type(_UP, _ENTER, _CTRL_D, history=file)[0] == ["first\nline", None]


def test_history_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    file = tmp_path / "history"
    file.write_text("\n# then\n+words\n")
    file.chmod(0o644)
    assert prepare_history(str(file)) == str(file)
    assert (stat.S_IMODE(file.stat().st_mode), file.read_text()) == (0o600, "\n# then\n+words\n")


def test_long_history_loses_its_beginning(tmp_path: Path) -> None:
    file = tmp_path / "history"
    entries = [f"\n# then\n+entry {number}\n" for number in range(60_000)]
    file.write_text("".join(entries))
    prepare_history(str(file))
    kept = file.read_text()
    assert kept.startswith("\n# then\n+entry ")
    assert kept.endswith(entries[-1])
    assert len(kept) <= 1 << 19


@pytest.mark.parametrize("place", ["folder", "link", "file/history"])
def test_history_that_cannot_be_kept_is_done_without(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert prepare_history(str(tmp_path / place)) is None


def _pipe(content: bytes, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    async def read() -> list[str]:
        lines, found = PipedInput(), list[str]()
        while (line := await lines.read()) is not None:
            found.append(line)
        return found

    return anyio.run(read)


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        (b"", []),
        (b"one\ntwo\r\nthree", ["one", "two", "three"]),
        (b"one\\\ntwo\n", ["one\ntwo"]),
        (b"one\\", ["one"]),
        (b"\n\n", ["", ""]),
        (b"caf\xe9\n", ["caf\ufffd"]),
    ],
)
def test_each_line_of_a_pipe_is_a_message(content: bytes, messages: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert _pipe(content, monkeypatch) == messages


def test_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolInputError, match="more than"):
        _pipe(b"x" * (MAX_MESSAGE_BYTES + 10), monkeypatch)
