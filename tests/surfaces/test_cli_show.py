"""`prowess show` for a person."""

from tests.skills_on_disk import Home, write_skill
from tests.surfaces.command import call

_FIELDS = """\
allowed-tools: Read
metadata:
  author: Ärzte
  tags: [a, "b  c"]
user-invocable: true
"""


def test_values_stand_in_line_and_are_no_python(home: Home) -> None:
    write_skill(home.project / "skills", "notes", extra=_FIELDS)
    lines = call("--skills", str(home.project / "skills"), "show", "notes").stdout.splitlines()
    fields = lines[: lines.index("files")]
    assert {line[14] for line in fields} == {" "}
    assert not {line[15] for line in fields} & {" "}
    shown = {line[:14].strip(): line[15:] for line in fields}
    assert shown["allowed-tools"] == "Read"
    assert shown["metadata"] == '{"author": "Ärzte", "tags": ["a", "b c"]}'


def test_long_names_of_fields_do_not_push_all_values_away(home: Home) -> None:
    write_skill(home.project / "skills", "notes", extra=f"{'x' * 60}: odd\n")
    lines = call("--skills", str(home.project / "skills"), "show", "notes").stdout.splitlines()
    assert lines[0] == f"{'name':<20} notes"
    assert f"{'x' * 60} odd" in lines
