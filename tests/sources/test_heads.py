"""Nothing but plain files is opened, and no more of them is read than is needed."""

import os
import stat
from pathlib import Path

import pytest

from prowess.skill.frontmatter import HEAD_BYTES, MAX_FRONTMATTER_BYTES, Frontmatter, split_frontmatter
from prowess.skill.problems import Problem
from prowess.sources.heads import read_head, read_plain_file, read_sidecar, read_start, sidecar_status
from tests.sources.building import ask_child, make_socket, without_rights


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "skill"
    made.mkdir()
    return made


def _head(folder: Path) -> bytes | Problem:
    return read_head(str(folder), os.lstat(folder / "SKILL.md"))


def _code(found: bytes | Problem) -> str:
    return found.code if isinstance(found, Problem) else "bytes"


# Strange files


@pytest.mark.requirement("R15", "J5")
@pytest.mark.parametrize("what", ["fifo", "socket", "folder", "device"])
def test_what_is_no_file_is_never_opened(what: str, folder: Path) -> None:
    """To open a FIFO would wait for a writer, forever."""
    path = folder / "SKILL.md"
    match what:
        case "fifo":
            os.mkfifo(path)
        case "socket":
            make_socket(path)
        case "folder":
            path.mkdir()
        case _:
            try:
                os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero, which never ends.
            except PermissionError:
                os.mkfifo(path)  # Without rights no device can be made.
    assert (_code(_head(folder)), _code(read_start(str(folder), limit=100))) == ("not-a-file", "not-a-file")


@pytest.mark.requirement("J5")
@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("text.md", "bytes"),
        ("docs/text.md", "bytes"),
        ("./docs/../text.md", "bytes"),
        ("../skill/text.md", "bytes"),
        ("../outside.md", "link-escape"),
        ("/etc/hostname", "link-escape"),
        ("/dev/zero", "link-escape"),
        ("missing.md", "link-escape"),
        ("SKILL.md", "link-escape"),
        ("docs", "link-escape"),
        ("pipe", "link-escape"),
        (".", "link-escape"),
        ("way-out/outside.md", "link-escape"),
        ("../skill-two/text.md", "link-escape"),
    ],
)
def test_linked_file_is_read_only_from_inside_the_skill(target: str, expected: str, folder: Path) -> None:
    (folder / "docs").mkdir()
    (folder.parent / "skill-two").mkdir()
    for path in ("text.md", "docs/text.md", "../outside.md", "../skill-two/text.md"):
        (folder / path).write_text("content")
    os.mkfifo(folder / "pipe")
    (folder / "way-out").symlink_to("..")
    (folder / "SKILL.md").symlink_to(target)
    for found in (_head(folder), read_start(str(folder), limit=100)):
        assert _code(found) == expected
        assert isinstance(found, Problem) or found == b"content"


@pytest.mark.requirement("J5")
def test_linked_file_in_a_linked_folder_is_inside_the_skill(folder: Path) -> None:
    (folder / "text.md").write_text("content")
    (folder / "SKILL.md").symlink_to("text.md")
    (folder.parent / "way").symlink_to("skill")
    assert _head(folder.parent / "way") == b"content"


@pytest.mark.requirement("R15")
def test_file_that_vanished_is_a_problem(folder: Path) -> None:
    (folder / "SKILL.md").write_text("x")
    status = os.lstat(folder / "SKILL.md")
    (folder / "SKILL.md").unlink()
    assert _code(read_head(str(folder), status)) == "skill-md-unreadable"
    assert _code(read_start(str(folder), limit=10)) == "skill-md-unreadable"


@pytest.mark.requirement("R15", "J5")
@pytest.mark.parametrize("what", ["fifo", "link"])
def test_file_that_was_swapped_since_it_was_seen_does_no_harm(what: str, folder: Path) -> None:
    path, outside = folder / "SKILL.md", folder.parent / "secret"
    path.write_text("x")
    outside.write_text("secret")
    status = os.lstat(path)
    path.unlink()
    os.mkfifo(path) if what == "fifo" else path.symlink_to(outside)
    found = read_head(str(folder), status)
    if what == "fifo":
        assert found == b""  # It was opened, and nobody waited for.
    else:
        assert _code(found) == "skill-md-unreadable"


_AS_NOBODY = without_rights("""
import json, os, sys
from prowess.sources.heads import read_head, read_start

become_nobody()
found = [read_head(sys.argv[1], os.lstat(sys.argv[1] + "/SKILL.md")), read_start(sys.argv[1], limit=10)]
print(json.dumps([[problem.code, problem.message] for problem in found]))
""")


@pytest.mark.requirement("R15")
def test_file_without_rights_is_a_problem(public_folder: Path) -> None:
    (public_folder / "SKILL.md").write_text("x")
    (public_folder / "SKILL.md").chmod(0)
    refused = ["skill-md-unreadable", "SKILL.md cannot be read: Permission denied"]
    assert ask_child(_AS_NOBODY, public_folder) == [refused, refused]


# How much is read


@pytest.mark.requirement("R12", "J4")
@pytest.mark.parametrize("size", [0, 1, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 1, 100_000])
def test_plain_head_is_all_that_is_read_of_a_closed_frontmatter(size: int, folder: Path) -> None:
    text = b"---\nname: x\ndescription: d\n---\n" + b"x" * size
    (folder / "SKILL.md").write_bytes(text)
    assert _head(folder) == text[:HEAD_BYTES]


@pytest.mark.requirement("R12", "J4")
@pytest.mark.parametrize("size", [1_900, HEAD_BYTES - 20, HEAD_BYTES, HEAD_BYTES + 20, 5_000, 30_000, 65_000])
@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"\xef\xbb\xbf",
        b"\n",
        b"\n\n\n",
        b"\n\n\n\n",
        b"\n" * 9,
        b"\xef\xbb\xbf\n",
        b"\xef\xbb\xbf\n\n\n",
        b"\r\n\r\n",
    ],
    ids=["nothing", "mark", "1 line", "3 lines", "4 lines", "9 lines", "mark and line", "mark and lines", "CRLF"],
)
@pytest.mark.parametrize("line_break", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_head_grows_until_the_frontmatter_is_whole(line_break: bytes, before: bytes, size: int, folder: Path) -> None:
    description = b"d" * (size - 40)
    lines = [b"---", b"name: x", b"description: " + description, b"---", b"Body"]
    (folder / "SKILL.md").write_bytes(before + line_break.join(lines) + line_break + b"x" * 100_000)
    found = _head(folder)
    assert isinstance(found, bytes)
    frontmatter = split_frontmatter(found)
    assert isinstance(frontmatter, Frontmatter), frontmatter
    assert frontmatter.text.encode() == b"name: x\ndescription: " + description + b"\n"


@pytest.mark.requirement("R12", "R106")
def test_endless_frontmatter_is_read_up_to_one_byte_more_than_allowed(folder: Path) -> None:
    (folder / "SKILL.md").write_bytes(b"---\n" + b"a: b\n" * 50_000)
    found = _head(folder)
    assert isinstance(found, bytes)
    assert len(found) == MAX_FRONTMATTER_BYTES + 1
    verdict = split_frontmatter(found)
    assert isinstance(verdict, Problem)
    assert verdict.code == "frontmatter-too-large"


@pytest.mark.requirement("R12")
def test_file_without_frontmatter_is_not_read_on(folder: Path) -> None:
    (folder / "SKILL.md").write_bytes(b"# Title\n" * 50_000)
    found = _head(folder)
    assert isinstance(found, bytes)
    assert len(found) == HEAD_BYTES


@pytest.mark.parametrize("limit", [0, 1, 10, 5_000])
def test_start_is_cut_at_its_limit(limit: int, folder: Path) -> None:
    (folder / "SKILL.md").write_bytes(b"x" * 4_000)
    assert read_start(str(folder), limit=limit) == b"x" * min(limit, 4_000)


# Sidecars and other plain files


@pytest.mark.requirement("K10")
def test_sidecar_is_a_plain_file_in_a_plain_folder(folder: Path) -> None:
    assert (sidecar_status(str(folder)), read_sidecar(str(folder))) == (None, None)
    (folder / "agents").mkdir()
    assert sidecar_status(str(folder)) is None
    (folder / "agents" / "openai.yaml").write_text("a: b")
    assert sidecar_status(str(folder)) == os.lstat(folder / "agents" / "openai.yaml")
    assert read_sidecar(str(folder)) == b"a: b"


@pytest.mark.requirement("K10", "J5")
@pytest.mark.parametrize(
    "what", ["fifo", "socket", "link", "folder", "folder above is a link", "folder above is a file"]
)
def test_sidecar_that_is_anything_else_is_no_plain_file(what: str, folder: Path) -> None:
    (folder.parent / "other").mkdir()
    (folder.parent / "other" / "openai.yaml").write_text("a: b")
    path = folder / "agents" / "openai.yaml"
    if what == "folder above is a link":
        path.parent.symlink_to("../other")
    elif what == "folder above is a file":
        path.parent.write_text("x")
    else:
        path.parent.mkdir()
        match what:
            case "fifo":
                os.mkfifo(path)
            case "socket":
                make_socket(path)
            case "link":
                path.symlink_to("../../other/openai.yaml")
            case _:
                path.mkdir()
    status = sidecar_status(str(folder))
    assert status is None or not stat.S_ISREG(status.st_mode)


@pytest.mark.requirement("K10", "R106")
def test_sidecar_is_read_up_to_one_byte_more_than_allowed(folder: Path) -> None:
    (folder / "agents").mkdir()
    (folder / "agents" / "openai.yaml").write_bytes(b"x" * 200_000)
    assert read_sidecar(str(folder)) == b"x" * (MAX_FRONTMATTER_BYTES + 1)


@pytest.mark.requirement("J5")
@pytest.mark.parametrize("what", ["file", "missing", "fifo", "folder", "link", "socket"])
def test_plain_file_is_read_and_nothing_else(what: str, tmp_path: Path) -> None:
    path = tmp_path / "path"
    (tmp_path / "target").write_text("content")
    match what:
        case "file":
            path.write_text("content")
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to("target")
        case "socket":
            make_socket(path)
        case _:
            pass
    assert read_plain_file(str(path), limit=4) == (b"cont" if what == "file" else None)
