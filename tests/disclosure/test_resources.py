"""The files of a skill as a model reads them."""

import base64
import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prowess.disclosure.agreed_files import SkillChanged
from prowess.disclosure.resources import (
    MAX_BINARY_BYTES,
    MAX_READ_BYTES,
    LineRange,
    Resource,
    list_resources,
    normalise_path,
    parse_lines,
    read_resource,
)
from prowess.errors import ToolInputError
from prowess.policy import BinaryResources, Limits, SourceKind
from prowess.skill.digest import FileKind, SkillFile
from prowess.skill.manifest import Manifest
from prowess.skill.skill import Skill
from prowess.sources.skill_files import list_skill_files, read_skill_files
from tests.skills_on_disk import write_skill
from tests.sources.building import make_socket
from tests.sources.swapping import swapping

_LIMIT = Limits().max_resource_bytes
_PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0"


@pytest.fixture
def skill(tmp_path: Path) -> Skill:
    folder = write_skill(
        tmp_path,
        "my-skill",
        files={
            "big.txt": "big\n",
            "sub/f": "f\n",
            "..notes.md": "notes\n",
            "references/REFERENCE.md": "# Reference\n",
            "assets/dot.png": _PNG,
            "scripts/run.py": "#!/usr/bin/env python3\n",
        },
    )
    (tmp_path / "outside.txt").write_text("canary")
    return _skill(folder)


def _skill(folder: Path) -> Skill:
    manifest = Manifest(folder.name, "Does it.")
    return Skill(f"user:{folder.name}", SourceKind.USER, str(folder.parent), folder.name, str(folder), manifest)


def _read(
    skill: Skill,
    path: str,
    *,
    limit_bytes: int = _LIMIT,
    lines: LineRange | None = None,
    binary: BinaryResources = BinaryResources.BASE64,
) -> Resource:
    return read_resource(skill, path, limit_bytes=limit_bytes, lines=lines, binary=binary)


def _refusal(skill: Skill, path: str, *, lines: LineRange | None = None, limit_bytes: int = _LIMIT) -> tuple[str, ...]:
    with pytest.raises(ToolInputError) as caught:
        _read(skill, path, lines=lines, limit_bytes=limit_bytes)
    error = caught.value
    texts = (error.code, error.message, error.hint)
    assert not any(skill.root in text for text in texts)
    return texts


def _write(skill: Skill, name: str, content: bytes) -> None:
    Path(skill.folder, name).write_bytes(content)


# Paths


@pytest.mark.parametrize(
    ("path", "normal", "content"),
    [
        ("big.txt", "big.txt", "big\n"),
        ("./big.txt", "big.txt", "big\n"),
        ("sub/../big.txt", "big.txt", "big\n"),
        ("sub//f", "sub/f", "f\n"),
        ("sub\\f", "sub/f", "f\n"),
        (" sub/f ", "sub/f", "f\n"),
        ("..notes.md", "..notes.md", "notes\n"),
        ("references/REFERENCE.md", "references/REFERENCE.md", "# Reference\n"),
    ],
)
def test_file_is_read_by_any_spelling_of_its_path(path: str, normal: str, content: str, skill: Skill) -> None:
    found = _read(skill, path)
    assert (found.path, found.content, found.truncated) == (normal, content, False)


@pytest.mark.requirement("R99")
@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        ("/etc/passwd", "absolute-path", "Absolute paths are not allowed"),
        ("C:\\x", "absolute-path", "Absolute paths are not allowed"),
        ("c:x", "absolute-path", "Absolute paths are not allowed"),
        ("\\\\host\\share", "absolute-path", "Absolute paths are not allowed"),
        ("../SKILL.md", "path-traversal", "Path traversal is not allowed"),
        ("references/../../../../etc/passwd", "path-traversal", "Path traversal is not allowed"),
        ("..\\out", "path-traversal", "Path traversal is not allowed"),
        ("", "missing-path", "Missing resource path."),
        ("  ", "missing-path", "Missing resource path."),
        (".", "invalid-path", "Invalid resource path."),
        (" ..", "invalid-path", "Invalid resource path."),
        ("sub/..", "invalid-path", "Invalid resource path."),
        ("x" * 5_000, "invalid-path", "Invalid resource path."),
        ("a\0b", "resource-unreadable", "Unable to read resource."),
    ],
)
def test_path_that_could_mean_something_else_is_refused(path: str, code: str, message: str, skill: Skill) -> None:
    """RC5, and the vectors beside it."""
    assert _refusal(skill, path)[:2] == (code, message)
    with pytest.raises(ToolInputError, match=message):
        normalise_path(path)


@given(st.text(st.sampled_from("ab./\\ :~\0é"), max_size=12) | st.text(max_size=12))
def test_normal_path_is_plain_and_stays_as_it_is(text: str) -> None:
    try:
        path = normalise_path(text)
    except ToolInputError:
        return
    steps = path.split("/")
    assert not {"", ".", ".."} & set(steps)
    assert "\\" not in path
    assert normalise_path(path.strip()) in (path, path.strip())


@pytest.mark.requirement("R99")
def test_links_count_by_where_they_lead(skill: Skill) -> None:
    """RC6."""
    folder = Path(skill.folder)
    (folder / "inside").symlink_to("references/REFERENCE.md")
    (folder / "way").symlink_to("references")
    (folder / "outside").symlink_to("../outside.txt")
    (folder / "zero").symlink_to("/dev/zero")
    (folder / "self").symlink_to("self")
    assert _read(skill, "inside").content == _read(skill, "way/REFERENCE.md").content == "# Reference\n"
    for path in ("outside", "zero"):
        assert _refusal(skill, path)[:2] == ("access-denied", "Access denied")
    assert _refusal(skill, "self")[:2] == ("resource-unreadable", "Unable to read resource.")


@pytest.mark.requirement("J5", "R99")
def test_link_that_leads_nowhere_is_said_to_be_one(skill: Skill) -> None:
    Path(skill.folder, "dangling").symlink_to("nowhere")
    code, message, hint = _refusal(skill, "dangling")
    assert (code, message) == ("resource-not-found", "resource not found")
    assert hint.startswith("a link of the skill leads there, and nothing is there")


def test_what_is_no_file_is_refused_at_once(skill: Skill) -> None:
    folder = Path(skill.folder)
    os.mkfifo(folder / "pipe")
    make_socket(folder / "socket")
    for path in ("pipe", "socket", "sub", "sub/"):
        assert _refusal(skill, path)[:2] == ("not-a-file", "Not a file.")
    assert _refusal(skill, "sub") == ("not-a-file", "Not a file.", "did you mean sub/f?")


def test_file_that_is_gone_is_not_found(skill: Skill) -> None:
    """RC8: SKILL.md deleted after discovery."""
    assert _read(skill, "SKILL.md").content.startswith("---\nname: my-skill\n")
    Path(skill.folder, "SKILL.md").unlink()
    assert _refusal(skill, "SKILL.md")[:2] == ("resource-not-found", "resource not found")


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("references/reference.md", "did you mean references/REFERENCE.md?"),
        ("docs/REFERENCE.md", "did you mean references/REFERENCE.md?"),
        ("references/REFERENCES.md", "did you mean references/REFERENCE.md?"),
        ("scripts/rum.py", "did you mean scripts/run.py?"),
        (
            "zzz",
            "the skill has ..notes.md, assets/dot.png, big.txt, references/REFERENCE.md, scripts/run.py and 1 more",
        ),
        ("\ud800", None),
    ],
)
def test_missing_file_names_those_that_are_near(path: str, hint: str | None, skill: Skill) -> None:
    code, message, found = _refusal(skill, path)
    assert (code, message) == ("resource-not-found", "resource not found")
    assert hint is None or found == hint


def test_hint_stays_short_and_on_one_line_whatever_the_names(tmp_path: Path) -> None:
    files = {f"{'n' * 180}\n{number}": "x" for number in range(50)}
    hint = _refusal(_skill(write_skill(tmp_path, "s", files=files)), "nothing-like-it")[2]
    assert len(hint) < 1_500
    assert hint.isprintable()
    assert _refusal(_skill(write_skill(tmp_path, "bare")), "x")[2] == "the skill has no other files"


# Lists


def test_resources_are_listed_by_part(skill: Skill) -> None:
    files = list_skill_files(skill.folder).files
    assert list_resources(files, None) == (
        "..notes.md",
        "assets/dot.png",
        "big.txt",
        "references/REFERENCE.md",
        "scripts/run.py",
        "sub/f",
    )
    assert list_resources(files, "scripts") == ("scripts/run.py",)
    assert list_resources(files, "references") == ("references/REFERENCE.md",)
    assert list_resources(files, "assets") == ("assets/dot.png",)
    with pytest.raises(ToolInputError, match="there is no part 'sub'"):
        list_resources(files, "sub")


def test_listed_names_are_text_on_one_line() -> None:
    files = [SkillFile(path, FileKind.FILE, 0, "") for path in (b"SKILL.md", b"a\nb", b"caf\xe9", b"x/SKILL.md")]
    assert list_resources(files) == ("a\\nb", "caf\\xe9", "x/SKILL.md")


# Text


def test_text_is_returned_whole_with_its_lines(skill: Skill) -> None:
    _write(skill, "t.md", "\ufeffone\r\nzwei ä\n\n技".encode())
    assert _read(skill, "t.md") == Resource(
        "t.md",
        "one\r\nzwei ä\n\n技",
        "utf-8",
        "text/markdown",
        20,
        first_line=1,
        last_line=4,
        total_lines=4,
    )
    _write(skill, "empty.txt", b"")
    assert _read(skill, "empty.txt") == Resource(
        "empty.txt", "", "utf-8", "text/plain", 0, first_line=1, last_line=0, total_lines=0
    )


@pytest.mark.requirement("R106")
def test_text_over_the_limit_is_cut_and_says_so(skill: Skill) -> None:
    _write(skill, "t.txt", b"12345678\n" * 10)
    notice = "Cut: 20 of 90 bytes are shown, lines 1-3. Read on with lines '3-'."
    assert _read(skill, "t.txt", limit_bytes=20) == Resource(
        "t.txt",
        f"12345678\n12345678\n12\n\n[{notice}]",
        "utf-8",
        "text/plain",
        90,
        truncated=True,
        first_line=1,
        last_line=3,
        total_lines=10,
        notice=notice,
    )
    rest = _read(skill, "t.txt", lines=parse_lines("3-"))
    assert (rest.content, rest.first_line, rest.last_line, rest.truncated) == ("12345678\n" * 8, 3, 10, False)


@pytest.mark.slow
@given(st.text(st.sampled_from("aé技😀\n"), max_size=60), st.integers(0, 120))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_cut_is_at_a_character_and_never_beyond_the_limit(skill: Skill, text: str, limit: int) -> None:
    _write(skill, "t.txt", text.encode())
    found = _read(skill, "t.txt", limit_bytes=limit)
    assert found.truncated is (len(text.encode()) > limit)
    shown = found.content.removesuffix(f"\n\n[{found.notice}]") if found.truncated else found.content
    assert text.startswith(shown)
    assert len(shown.encode()) <= limit
    assert not found.truncated or len((shown + text[len(shown)]).encode()) > limit


@given(st.lists(st.sampled_from(["", "a", "bb", "é"]), max_size=12), st.integers(1, 14), st.integers(0, 6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_line_range_gives_just_these_lines(skill: Skill, rows: list[str], first: int, more: int) -> None:
    text = "".join(f"{row}\n" for row in rows)
    _write(skill, "t.txt", text.encode())
    wanted = LineRange(first, first + more)
    if first > len(rows):
        assert _refusal(skill, "t.txt", lines=wanted)[0] == "no-such-line"
        return
    found = _read(skill, "t.txt", lines=wanted)
    assert found.content == "".join(f"{row}\n" for row in rows[first - 1 : first + more])
    assert (found.first_line, found.last_line) == (first, min(first + more, len(rows)))
    assert (found.total_lines, found.truncated) == (len(rows), False)


def test_type_of_a_text_does_not_depend_on_the_lines_that_are_read(skill: Skill) -> None:
    _write(skill, "a.svg", b"<svg>\n<g/>\n</svg>\n")
    found = _read(skill, "a.svg", lines=LineRange(2, 2))
    assert (found.content, found.mime) == ("<g/>\n", "image/svg+xml")


# Binaries


@pytest.mark.parametrize(
    ("name", "content", "mime"),
    [
        ("a.png", _PNG, "image/png"),
        ("a.bin", _PNG, "image/png"),
        ("a.jpg", b"\xff\xd8\xff\xe0\0\0", "image/jpeg"),
        ("a.gif", b"GIF89a\0\0", "image/gif"),
        ("a.webp", b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ("a.pdf", b"%PDF-1.7\n\xff\xff", "application/pdf"),
        ("fake.png", b"\0\xff", "application/octet-stream"),
        ("a.zip", b"PK\x03\x04\0\xff", "application/zip"),
        ("a.txt", b"\xff\xfea\0", "application/octet-stream"),
        ("a.md", b"text\0", "application/octet-stream"),
        ("noname", b"\xff", "application/octet-stream"),
    ],
)
def test_binary_comes_back_typed_and_whole(name: str, content: bytes, mime: str, skill: Skill) -> None:
    _write(skill, name, content)
    assert _read(skill, name) == Resource(name, base64.b64encode(content).decode(), "base64", mime, len(content))


def test_binary_is_refused_where_the_policy_says_so(skill: Skill) -> None:
    with pytest.raises(ToolInputError) as caught:
        _read(skill, "assets/dot.png", binary=BinaryResources.REFUSE)
    assert (caught.value.code, caught.value.message) == ("binary-not-supported", "binary not supported")
    assert "image/png" in caught.value.hint
    assert _read(skill, "big.txt", binary=BinaryResources.REFUSE).content == "big\n"


def test_binary_has_no_lines(skill: Skill) -> None:
    assert _refusal(skill, "assets/dot.png", lines=LineRange(1, 2))[0] == "binary-has-no-lines"


@pytest.mark.requirement("R106")
def test_binary_over_a_cap_is_refused_and_never_cut(skill: Skill) -> None:
    code, message, _ = _refusal(skill, "assets/dot.png", limit_bytes=10)
    assert code == "resource-too-large"
    assert message == "assets/dot.png is image/png and has 17 bytes; at most 10 bytes of a binary can be read"
    _write(skill, "large.bin", b"\0" * (MAX_BINARY_BYTES + 1))
    code, message, _ = _refusal(skill, "large.bin", limit_bytes=1 << 40)
    assert code == "resource-too-large"
    assert f"has {MAX_BINARY_BYTES + 1:,} bytes; at most {MAX_BINARY_BYTES:,}" in message
    Path(skill.folder, "large.bin").write_bytes(b"\0" * MAX_BINARY_BYTES)
    assert _read(skill, "large.bin", limit_bytes=1 << 40).size == MAX_BINARY_BYTES


# Bounds that hold whatever the settings say


@pytest.mark.requirement("R106")
def test_sparse_file_of_a_tebibyte_is_refused_at_once(skill: Skill) -> None:
    with Path(skill.folder, "hole").open("wb") as file:
        file.truncate(1 << 40)
    code, message, _ = _refusal(skill, "hole", limit_bytes=1 << 50)
    assert (code, f"{1 << 40:,} bytes" in message) == ("resource-too-large", True)


@pytest.mark.requirement("R106")
def test_text_is_read_up_to_the_hard_cap_only(skill: Skill) -> None:
    line = b"0123456789abcde\n"
    lines_in_cap = MAX_READ_BYTES // len(line)
    with Path(skill.folder, "log.txt").open("wb") as file:
        file.write(line * (lines_in_cap + 10))
    found = _read(skill, "log.txt", limit_bytes=1 << 50)
    assert (found.truncated, found.size, found.total_lines) == (True, MAX_READ_BYTES + 160, None)
    assert found.last_line == lines_in_cap
    assert found.notice == (
        f"Cut: {MAX_READ_BYTES:,} of {MAX_READ_BYTES + 160:,} bytes are shown, lines 1-{lines_in_cap}. "
        "A resource cannot be read further than this."
    )
    near = _read(skill, "log.txt", lines=LineRange(lines_in_cap - 1, lines_in_cap - 1))
    assert (near.content, near.truncated) == (line.decode(), False)
    last = _read(skill, "log.txt", lines=LineRange(lines_in_cap))
    assert (last.content.split("\n")[0] + "\n", last.truncated) == (line.decode(), True)
    assert _refusal(skill, "log.txt", lines=LineRange(lines_in_cap + 1))[0] == "no-such-line"


def test_file_beyond_the_hard_cap_is_held_to_what_was_agreed_to_its_end(skill: Skill) -> None:
    path = Path(skill.folder, "log.txt")
    path.write_bytes(b"line\n" * (MAX_READ_BYTES // 4))
    Path(skill.folder, "link.txt").symlink_to("log.txt")
    files = read_skill_files(skill.folder).files

    def read(name: str) -> Resource:
        return read_resource(skill, name, limit_bytes=_LIMIT, binary=BinaryResources.BASE64, files=files)

    assert (read("log.txt").size, read("link.txt").size) == (path.stat().st_size, path.stat().st_size)
    with path.open("rb+") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"!")
    for name in ("log.txt", "link.txt"):
        with pytest.raises(SkillChanged):
            read(name)


def test_file_that_became_a_tebibyte_is_found_changed_at_once(skill: Skill) -> None:
    path = Path(skill.folder, "log.txt")
    path.write_bytes(b"line\n" * (MAX_READ_BYTES // 4))
    files = read_skill_files(skill.folder).files
    os.truncate(path, 1 << 40)
    with pytest.raises(SkillChanged):
        read_resource(skill, "log.txt", limit_bytes=_LIMIT, binary=BinaryResources.BASE64, files=files)


@pytest.mark.requirement("R106")
def test_character_across_the_hard_cap_does_not_make_a_binary(skill: Skill) -> None:
    _write(skill, "t.txt", b"a" * (MAX_READ_BYTES - 1) + "é".encode() * 4)
    found = _read(skill, "t.txt", limit_bytes=10)
    assert (found.encoding, found.content[:10], found.truncated) == ("utf-8", "a" * 10, True)


@pytest.mark.slow
@pytest.mark.requirement("R106")
def test_file_that_grows_while_it_is_read_is_read_once(skill: Skill) -> None:
    path = Path(skill.folder, "growing.txt")
    path.write_bytes(b"a" * (MAX_READ_BYTES - (4 << 20)))

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            while file.tell() < MAX_READ_BYTES + (8 << 20):
                file.write(b"a" * 65_536)
                time.sleep(0.001)

    def read() -> tuple[int, int, bool]:
        found = _read(skill, "growing.txt", limit_bytes=1 << 50)
        return len(found.content.removesuffix(f"\n\n[{found.notice}]")), found.size, found.truncated

    grower = threading.Thread(target=grow)
    grower.start()
    seen: list[tuple[int, int, bool]] = []
    while grower.is_alive():
        seen.append(read())
    seen.append(read())
    for shown, size, is_cut in seen:
        assert (shown, is_cut) == ((MAX_READ_BYTES, True) if size > MAX_READ_BYTES else (size, False))
    assert len({size for _, size, _ in seen}) > 3
    assert {is_cut for _, _, is_cut in seen} == {False, True}


# A race


def _read_often(skill: Skill, *paths: str) -> dict[str, int]:
    """Return how often each answer came in 50,000 reads; an error that names a file from outside is one too."""
    seen: dict[str, int] = {}
    for number in range(50_000):
        try:
            answer = _read(skill, paths[number % len(paths)]).content
        except ToolInputError as error:
            answer = error.hint if "canary" in error.hint else error.code
        seen[answer] = seen.get(answer, 0) + 1
    return seen


@pytest.mark.slow
@pytest.mark.requirement("R99", "J5")
def test_folder_and_link_that_are_swapped_while_they_are_read_never_leak(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "my-skill", files={"references/guide.md": "honest", "guide.md": "honest"})
    (folder / "way").symlink_to("references/guide.md")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "guide.md").write_text("canary")
    with swapping({folder / "references": outside, folder / "guide.md": outside / "guide.md"}) as swaps:
        seen = _read_often(_skill(folder), "references/guide.md", "guide.md", "way")
    assert set(seen) <= {"honest", "access-denied", "resource-unreadable", "resource-not-found"}
    assert seen["honest"] > 1_000
    assert seen["access-denied"] > 1_000
    assert swaps[0] > 10_000


@pytest.mark.slow
@pytest.mark.requirement("R99", "J5")
@pytest.mark.parametrize("swapped", ["group/my-skill", "group"])
def test_skill_whose_own_folder_is_swapped_while_it_is_read_never_leaks(swapped: str, tmp_path: Path) -> None:
    """Or the folder around it, which is on the way from the root to the skill."""
    write_skill(tmp_path, "group/my-skill", files={"guide.md": "honest", "references/guide.md": "honest"})
    names = ("guide.md", "references/guide.md", "canary.md")
    outside = write_skill(tmp_path / "outside", "my-skill", files=dict.fromkeys(names, "canary"))
    skill = _skill(tmp_path / "group" / "my-skill")
    target = outside if swapped == "group/my-skill" else outside.parent
    with swapping({tmp_path / swapped: target}) as swaps:
        seen = _read_often(skill, "guide.md", "references/guide.md", "missing.md")
    assert set(seen) <= {"honest", "access-denied", "resource-unreadable", "resource-not-found"}
    assert seen["honest"] > 1_000
    assert seen["access-denied"] > 1_000
    assert swaps[0] > 10_000
