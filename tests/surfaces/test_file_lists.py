"""The files of a skill as they are shown before somebody agrees."""

from hypothesis import given
from hypothesis import strategies as st

from prowess.runtime.changed_texts import TextChange
from prowess.skill.digest import FileKind, SkillFile
from prowess.surfaces.file_lists import render_diff, render_tree


def _files(*paths: bytes) -> list[SkillFile]:
    return [SkillFile(path, FileKind.FILE, len(path), "0") for path in sorted(paths)]


def _tree(*paths: bytes) -> list[str]:
    return [line.text for line in render_tree(_files(*paths))]


def _diff(before: str, after: str, *, most_lines: int = 100) -> list[str]:
    return [line.text for line in render_diff(TextChange("a", before, after), most_lines=most_lines)]


def test_tree_has_folders_indented_and_sizes_in_a_column() -> None:
    assert _tree(b"SKILL.md", b"a/b/one.md", b"a/b/two.md", b"a/c/three.md", b"d/four.md") == [
        "            8  SKILL.md",
        "               a/",
        "                 b/",
        "           10      one.md",
        "           10      two.md",
        "                 c/",
        "           12      three.md",
        "               d/",
        "            9    four.md",
    ]


def test_kinds_are_named() -> None:
    files = [SkillFile(b"go", FileKind.EXECUTABLE, 1, "0"), SkillFile(b"to", FileKind.LINK, 2, "0")]
    assert [line.text for line in render_tree(files)] == [
        "            1  go  (executable)",
        "            2  to  (link)",
    ]


def test_names_that_are_no_text_are_shown_all_the_same() -> None:
    assert _tree(b"caf\xe9/\x1b[2J") == ["               caf\\xe9/", "            9    \\x1b[2J"]


def test_deep_folders_do_not_fill_the_screen() -> None:
    lines = _tree(*(b"/".join(b"%d" % number for _ in range(30)) for number in range(10)))
    assert len(lines) <= 61
    assert lines[-1] == "    … and 8 more"


@given(st.lists(st.binary(min_size=1, max_size=5).filter(lambda part: b"/" not in part and part != b".")))
def test_every_file_is_listed_or_counted(names: list[bytes]) -> None:
    files = _files(*{name.replace(b"\0", b"x") for name in names})
    lines = [line.text for line in render_tree(files)]
    shown = [line for line in lines if not line.startswith("    …")]
    counted = int(lines[-1].split()[2].replace(",", "")) if len(shown) < len(lines) else 0
    assert len(shown) + counted == len(files)


def test_difference_is_a_unified_diff() -> None:
    assert _diff("a\nb\nc\n", "a\nB\nc\n") == ["    @@ -1,3 +1,3 @@", "     a", "    -b", "    +B", "     c"]


def test_new_file_is_shown_whole() -> None:
    assert _diff("", "a\nb\n") == ["    @@ -0,0 +1,2 @@", "    +a", "    +b"]


def test_missing_line_break_at_the_end_shows() -> None:
    assert _diff("a\n", "a") == ["    @@ -1 +1,2 @@", "     a", "    +\\ no line break at the end"]


def test_other_line_ends_show() -> None:
    assert _diff("a\n", "a\r\n") == ["    @@ -1 +1 @@", "    -a", "    +a\r"]


def test_character_that_python_takes_for_a_line_break_is_none() -> None:
    assert _diff("a\x0b\u2028b\n", "c\n") == ["    @@ -1 +1 @@", "    -a\x0b\u2028b", "    +c"]


def test_long_difference_is_cut_and_says_so() -> None:
    lines = _diff("", "\n".join(map(str, range(100))) + "\n", most_lines=10)
    assert lines[-1] == "    … and 91 more lines of difference"
    assert len(lines) == 11


def test_long_line_is_cut_and_says_so() -> None:
    assert _diff("", "x" * 500 + "\n")[1] == "    +" + "x" * 399 + " … and 101 more characters"


def test_very_long_text_is_not_compared() -> None:
    assert _diff("a\n" * 3_000, "b\n") == ["    3,000 lines became 1: too many to compare"]
