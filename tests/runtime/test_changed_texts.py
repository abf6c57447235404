"""The texts behind a question about a skill that has changed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prowess.activation.consent import Answer, CallbackAsker, Question
from prowess.errors import Refused
from prowess.runtime import Runtime
from prowess.runtime.changed_texts import TextChange
from prowess.skill.activation_keys import make_activation_key
from tests.runtime.opening import ONLY_MINE
from tests.skills_on_disk import Home, write_skill

_MEMBERS = {"guide.md": "One.\n", "data.bin": b"\0\1", "long.txt": "x\n" * 100_000, "same.sh": "echo\n"}


@pytest.fixture
def folder(home: Home) -> Path:
    home.write_settings(ONLY_MINE)
    return write_skill(home.path / ".agents" / "skills", "notes", files=_MEMBERS)


@pytest.fixture
def runtime(folder: Path) -> Iterator[Runtime]:
    with Runtime.open() as opened:
        yield opened


def _agree(runtime: Runtime) -> None:
    asker = CallbackAsker(lambda _: Answer.ALLOW_ALWAYS)
    runtime.session("monday", asker=asker).activate("notes")


def _ask(runtime: Runtime) -> Question:
    """Return the question that comes up now."""
    questions: list[Question] = []
    asker = CallbackAsker(questions.append)
    with pytest.raises(Refused):
        runtime.session("monday", asker=asker).activate("notes")
    return questions[0]


@pytest.mark.requirement("K1")
def test_texts_of_changed_and_new_files_are_read(runtime: Runtime, folder: Path) -> None:
    _agree(runtime)
    (folder / "guide.md").write_text("Two.\n")
    (folder / "data.bin").write_bytes(b"\0\2")
    (folder / "long.txt").write_text("y\n" * 100_000)
    (folder / "new.md").write_text("New.\n")
    (folder / "link.md").symlink_to("guide.md")
    (folder / "SKILL.md").unlink()
    write_skill(folder.parent, "notes", body="Do another thing.\n")
    (folder / "same.sh").chmod(0o755)
    guide, new, same = (
        TextChange("guide.md", "One.\n", "Two.\n"),
        TextChange("new.md", "", "New.\n"),
        TextChange("same.sh", "echo\n", "echo\n"),
    )
    found = runtime.changed_texts(_ask(runtime))
    assert [one.path for one in found] == ["SKILL.md", "guide.md", "new.md", "same.sh"]
    assert found[1:] == (guide, new, same)


@pytest.mark.requirement("K1")
def test_texts_are_read_after_a_sync_too(runtime: Runtime, folder: Path) -> None:
    _agree(runtime)
    (folder / "guide.md").write_text("Two.\n")
    runtime.sync()
    assert runtime.changed_texts(_ask(runtime)) == (TextChange("guide.md", "One.\n", "Two.\n"),)


@pytest.mark.requirement("K1")
def test_what_was_agreed_to_is_kept_to_compare_though_nothing_uses_it_any_more(runtime: Runtime, folder: Path) -> None:
    _agree(runtime)
    runtime.end_session("monday")
    (folder / "guide.md").write_text("Two.\n")
    for _ in range(2):  # The second finds nothing to do but to tidy up.
        runtime.sync()
    assert runtime.changed_texts(_ask(runtime)) == (TextChange("guide.md", "One.\n", "Two.\n"),)


@pytest.mark.requirement("K1")
def test_text_that_was_changed_since_the_question_is_not_shown(runtime: Runtime, folder: Path) -> None:
    _agree(runtime)
    (folder / "guide.md").write_text("Two.\n")
    question = _ask(runtime)
    (folder / "guide.md").write_text("Three.\n")
    assert runtime.changed_texts(question) == ()


@pytest.mark.requirement("K1")
def test_damaged_version_is_not_compared_with(runtime: Runtime, folder: Path, home: Home) -> None:
    _agree(runtime)
    (folder / "guide.md").write_text("Two.\n")
    question = _ask(runtime)
    damaged = home.prowess / "versions" / question.former_digest / "guide.md"
    damaged.chmod(0o644)
    damaged.write_text("Harmless.\n")
    assert runtime.changed_texts(question) == ()


def test_version_that_is_gone_leaves_new_files_to_show(runtime: Runtime, folder: Path, home: Home) -> None:
    runtime.decide("notes", Answer.ALLOW_ALWAYS.decision)
    (folder / "guide.md").write_text("Two.\n")
    (folder / "new.md").write_text("New.\n")
    assert make_activation_key("agents:notes") not in "".join(map(str, home.prowess.rglob("*")))
    assert runtime.changed_texts(_ask(runtime)) == (TextChange("new.md", "", "New.\n"),)


def test_first_question_has_no_changes(runtime: Runtime) -> None:
    assert runtime.changed_texts(_ask(runtime)) == ()
