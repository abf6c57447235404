"""`prowess read`: a file of a skill, exactly, and nothing outside of it."""

import base64
import os
import subprocess
from pathlib import Path

import pytest

from prowess.errors import ToolInputError
from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import PROWESS, Outcome, call, run, run_on_terminal

pytestmark = pytest.mark.slow  # Nearly every test starts a process.

_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff"


@pytest.fixture
def root(home: Home) -> Path:
    folder = home.project / "skills"
    files = {"references/style.md": "one\ntwo\nthree\n", "assets/dot.png": _PNG, "bare.txt": "no end", "empty": ""}
    write_skill(folder, "notes", files=files)
    (folder / "outside.txt").write_text("secret")
    return folder


def _call(root: Path, *arguments: str) -> Outcome:
    return call("--skills", str(root), "read", "notes", *arguments)


def _refusal(root: Path, *arguments: str) -> tuple[str, str]:
    with pytest.raises(ToolInputError) as caught:
        _call(root, *arguments)
    assert str(root) not in caught.value.message + caught.value.hint
    return caught.value.code, caught.value.message


@pytest.mark.requirement("R57")
def test_json_has_the_file_and_what_it_is(root: Path) -> None:
    outcome = _call(root, "references/style.md", "--json")
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.json == {
        "name": "notes",
        "path": "references/style.md",
        "content": "one\ntwo\nthree\n",
        "encoding": "utf-8",
        "mime": "text/markdown",
        "size": 14,
        "truncated": False,
    }


@pytest.mark.requirement("R57")
@pytest.mark.parametrize("name", [b"\xff.md", b"\xff.png"])
def test_path_that_is_no_utf_8_is_text_that_every_reader_of_json_takes(root: Path, name: bytes) -> None:
    path = os.path.join(os.fsencode(root), b"notes", b"references", name)
    Path(os.fsdecode(path)).write_bytes(_PNG if name.endswith(b"g") else b"x")
    shown = _call(root, os.fsdecode(b"references/" + name), "--json").json["path"]
    assert shown.encode() == b"references/\\x" + name.hex()[:2].encode() + name[1:]


@pytest.mark.requirement("R57")
@pytest.mark.parametrize(
    "content", [b"one\ntwo\n", b"no end", b"", b"\ta\r\nb\r\n", "技能 🧭\n".encode(), b"\x1b[31mred\n"]
)
def test_text_arrives_byte_by_byte_where_a_program_reads(root: Path, content: bytes) -> None:
    (root / "notes" / "file.txt").write_bytes(content)
    done = subprocess.run(
        [PROWESS, "--skills", root, "read", "notes", "file.txt"], capture_output=True, check=True, env={**os.environ}
    )
    assert (done.stdout, done.stderr) == (content, b"")


def test_text_cannot_steer_a_terminal(root: Path) -> None:
    (root / "notes" / "file.txt").write_bytes(b"\ta\x1b[2Jb\r\nc")
    shown = run_on_terminal(["--skills", str(root), "read", "notes", "file.txt"]).stdout
    assert shown == "        a\\x1b[2Jb\r\nc\r\n"


@pytest.mark.parametrize(
    ("lines", "content"), [("2", "two\n"), ("2-", "two\nthree\n"), ("-2", "one\ntwo\n"), ("2-9", "two\nthree\n")]
)
def test_lines_are_cut_out(root: Path, lines: str, content: str) -> None:
    assert _call(root, "references/style.md", "--lines", lines).stdout == content
    found = _call(root, "references/style.md", "--lines", lines, "--json").json
    assert (found["content"], found["size"], found["truncated"]) == (content, 14, False)


@pytest.mark.parametrize("lines", ["", "0", "3-1", "a-b", "1-2-3", "-", "1.5"])
def test_lines_that_are_none_are_wrong_usage(root: Path, lines: str) -> None:
    outcome = run("--skills", str(root), "--json", "read", "notes", "bare.txt", "--lines", lines)
    assert (outcome.status, outcome.json["error"]["code"]) == (2, "usage")
    assert "lines count from 1: write '10-20', '10-', '-20' or '7'" in outcome.json["error"]["message"]


def test_line_beyond_the_end_is_refused_with_what_there_is(root: Path) -> None:
    code, message = _refusal(root, "references/style.md", "--lines", "4-")
    assert (code, message) == ("no-such-line", "there is no line 4; the resource has 3 lines")


# Binary


@pytest.mark.requirement("R103")
def test_binary_is_base64_in_json(root: Path) -> None:
    found = _call(root, "assets/dot.png", "--json").json
    content = found.pop("content")
    assert base64.b64decode(content) == _PNG
    assert found == {
        "name": "notes",
        "path": "assets/dot.png",
        "encoding": "base64",
        "mime": "image/png",
        "size": len(_PNG),
        "truncated": False,
    }


@pytest.mark.requirement("R103")
def test_binary_arrives_as_it_is_in_a_file_and_not_on_a_terminal(root: Path) -> None:
    arguments = ["--skills", str(root), "read", "notes", "assets/dot.png"]
    done = subprocess.run([PROWESS, *arguments], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (_PNG, b"")
    shown = run_on_terminal(arguments)
    assert (shown.status, shown.stdout) == (0, "")
    assert f"assets/dot.png is image/png, {len(_PNG)} bytes. Send it to a file, or use --json." in shown.stderr


@pytest.mark.requirement("R102")
def test_binary_is_refused_where_the_profile_says_so(root: Path, home: Home) -> None:
    """RC11."""
    home.write_settings('profile = "remcochat"\nenabled = true\n')
    assert _refusal(root, "assets/dot.png") == ("binary-not-supported", "binary not supported")
    assert _call(root, "references/style.md").stdout == "one\ntwo\nthree\n"


def test_binary_has_no_lines(root: Path) -> None:
    assert _refusal(root, "assets/dot.png", "--lines", "1-2")[0] == "binary-has-no-lines"


# Limits


@pytest.mark.requirement("R104")
def test_large_text_is_cut_with_a_notice_and_a_way_on(root: Path, home: Home) -> None:
    home.write_settings("[limits]\nmax_resource_bytes = 10\n")
    (root / "notes" / "big.txt").write_text("12345678\n" * 5)
    notice = "Cut: 10 of 45 bytes are shown, lines 1-2. Read on with lines '2-'."
    outcome = run("--skills", str(root), "--json", "read", "notes", "big.txt")
    assert (outcome.json["truncated"], outcome.json["size"]) == (True, 45)
    assert outcome.json["content"] == f"12345678\n1\n\n[{notice}]"
    assert outcome.stderr == f"skill 'notes': big.txt: {notice}\n"
    assert run("--skills", str(root), "read", "notes", "big.txt", "--lines", "2").stdout == "12345678\n"


@pytest.mark.requirement("R104")
def test_large_binary_is_refused_whole(root: Path, home: Home) -> None:
    home.write_settings("[limits]\nmax_resource_bytes = 10\n")
    assert _refusal(root, "assets/dot.png") == (
        "resource-too-large",
        f"assets/dot.png is image/png and has {len(_PNG)} bytes; at most 10 bytes of a binary can be read",
    )


@pytest.mark.requirement("R106")
def test_no_setting_goes_beyond_the_hard_caps(root: Path, home: Home) -> None:
    home.write_settings("[limits]\nmax_resource_bytes = 1000000000\n")
    (root / "notes" / "big.txt").write_bytes(b"1234567\n" * (17 << 17))
    found = _call(root, "big.txt", "--json").json
    assert (found["truncated"], found["size"]) == (True, 17 << 20)
    assert len(found["content"]) < (16 << 20) + 200
    assert "A resource cannot be read further than this." in found["content"][-200:]
    (root / "notes" / "big.bin").write_bytes(bytes(9 << 20))
    assert _refusal(root, "big.bin")[0] == "resource-too-large"


# What must not be read


@pytest.mark.requirement("R100")
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../outside.txt", "path-traversal"),
        ("references/../../outside.txt", "path-traversal"),
        ("..\\outside.txt", "path-traversal"),
        ("/etc/passwd", "absolute-path"),
        ("C:/windows/win.ini", "absolute-path"),
        ("", "missing-path"),
        ("..", "invalid-path"),
        (".", "invalid-path"),
        ("references", "not-a-file"),
        ("nope.md", "resource-not-found"),
    ],
)
def test_path_that_is_no_file_of_the_skill_is_refused(root: Path, path: str, code: str) -> None:
    assert _refusal(root, path)[0] == code


@pytest.mark.requirement("R101")
def test_link_that_leads_out_is_refused(root: Path) -> None:
    (root / "notes" / "out.txt").symlink_to(root / "outside.txt")
    (root / "notes" / "up").symlink_to("..")
    assert _refusal(root, "out.txt") == ("access-denied", "Access denied")
    assert _refusal(root, "up/outside.txt") == ("access-denied", "Access denied")


def test_pipe_keeps_nobody_waiting(root: Path) -> None:
    os.mkfifo(root / "notes" / "pipe")
    assert _refusal(root, "pipe")[0] == "not-a-file"


def test_missing_file_is_refused_with_what_may_be_meant(root: Path) -> None:
    outcome = run("--skills", str(root), "read", "notes", "style.md")
    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr == "error: resource not found\nhint: did you mean references/style.md?\n"


@pytest.mark.requirement("R37")
@pytest.mark.parametrize("name", ["notes", "project:notes"])
def test_skill_for_people_only_can_be_read_by_one(root: Path, name: str) -> None:
    call("--skills", str(root), "disable", "notes", "--to", "user-only")
    assert call("--skills", str(root), "read", name, "bare.txt", "--json").json["name"] == "notes"
